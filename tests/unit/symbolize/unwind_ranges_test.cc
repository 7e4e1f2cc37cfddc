// The unwind tables of files that no compiler wrote, or that are damaged.
#include "symbolize/unwind_ranges.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include "elf_bytes.h"

namespace fbleprof::symbolize {

void PrintTo(const AddressRange& range, std::ostream* out) {
  *out << std::hex << range.begin << "-" << range.end;
}

namespace {

using Ranges = std::vector<AddressRange>;

constexpr std::uint64_t kTable = 0x8000;  // the address of .eh_frame

// One entry, padded by NOPs. `content` follows its length.
std::string entry(std::string content) {
  while (content.size() % 4 != 0) content += '\0';
  return raw(static_cast<std::uint32_t>(content.size())) + content;
}

std::string cie(std::string_view augmentation, std::string_view data) {
  std::string content = raw(std::uint32_t{0}) + '\1';
  content += std::string(augmentation) + '\0';
  content += bytes_of({1, 0x78, 16});  // the units of code and data, the return address
  if (augmentation.starts_with('z')) content += static_cast<char>(data.size());
  return entry(content + std::string(data));
}

// Of the entry that begins `back` bytes before this one; 4 bytes more than to the length.
std::string fde(std::size_t back, std::string_view place) {
  return entry(raw(static_cast<std::uint32_t>(back + 4)) + std::string(place) + '\0');
}

template <class Types = Types64>
Ranges ranges_of(const std::string& table, std::uint32_t type = SHT_PROGBITS) {
  const auto object = ElfObject::from_bytes(elf_bytes<Types>(
      EM_X86_64, {{.name = ".eh_frame", .type = type, .address = kTable, .bytes = table}}));
  EXPECT_TRUE(object.has_value());
  return object ? unwind_ranges(*object) : Ranges();
}

template <class Types = Types64>
Ranges one(std::string_view augmentation, std::string_view data, std::string_view place) {
  const std::string begin = cie(augmentation, data);
  return ranges_of<Types>(begin + fde(begin.size(), place));
}

template <class Types = Types64>
Ranges encoded(int encoding, std::string_view place) {
  return one<Types>("zR", bytes_of({encoding}), place);
}

const Ranges kFound = {{0x1000, 0x1010}};

TEST(UnwindRanges, EveryEncodingOfAnAddressIsRead) {
  EXPECT_EQ(encoded(DW_EH_PE_absptr, raw(0x1000UL, 0x10UL)), kFound);
  EXPECT_EQ(encoded(DW_EH_PE_uleb128, bytes_of({0x80, 0x20, 0x10})), kFound);
  EXPECT_EQ(encoded(DW_EH_PE_sleb128, bytes_of({0x80, 0x20, 0x10})), kFound);
  EXPECT_EQ(encoded(DW_EH_PE_udata2, bytes_of({0, 0x10, 0x10, 0})), kFound);
  EXPECT_EQ(encoded(DW_EH_PE_sdata2, bytes_of({0, 0x10, 0x10, 0})), kFound);
  EXPECT_EQ(encoded(DW_EH_PE_udata4, raw(0x1000, 0x10)), kFound);
  EXPECT_EQ(encoded(DW_EH_PE_sdata4, raw(0x1000, 0x10)), kFound);
  EXPECT_EQ(encoded(DW_EH_PE_udata8, raw(0x1000UL, 0x10UL)), kFound);
  EXPECT_EQ(encoded(DW_EH_PE_sdata8, raw(0x1000UL, 0x10UL)), kFound);
  EXPECT_EQ(encoded<Types32>(DW_EH_PE_absptr, raw(0x1000, 0x10)), kFound);
  // An address of 32 bits wraps round.
  const std::string begin = cie("zR", bytes_of({DW_EH_PE_pcrel | DW_EH_PE_sdata4}));
  const int here = static_cast<int>(kTable + begin.size() + 8);
  EXPECT_EQ(encoded<Types32>(DW_EH_PE_pcrel | DW_EH_PE_sdata4, raw(0x1000 - here, 0x10)), kFound);
  EXPECT_EQ(encoded(DW_EH_PE_pcrel | DW_EH_PE_sdata4, raw(0x1000 - here, 0x10)), kFound);
  // 0x40 in the last byte: a negative number.
  const int step = 0x1000 - here;
  const std::string negative =
      bytes_of({0x80 | (step & 0x7f), 0x80 | ((step >> 7) & 0x7f), (step >> 14) & 0x7f, 0x10});
  EXPECT_EQ(encoded(DW_EH_PE_pcrel | DW_EH_PE_sleb128, negative), kFound);
}

TEST(UnwindRanges, EncodingsThatNobodyKnowsAndCutAddressesAreSkipped) {
  const std::string long_number = std::string(11, '\x80');
  EXPECT_EQ(encoded(0x05, raw(0x1000UL, 0x10UL)), Ranges());
  EXPECT_EQ(encoded(DW_EH_PE_omit, raw(0x1000UL, 0x10UL)), Ranges());
  EXPECT_EQ(encoded(DW_EH_PE_indirect | DW_EH_PE_udata8, raw(0x1000UL, 0x10UL)), Ranges());
  EXPECT_EQ(encoded(DW_EH_PE_uleb128, long_number), Ranges());
  EXPECT_EQ(encoded(DW_EH_PE_uleb128, std::string(7, '\x80') + '\x80'), Ranges());
  EXPECT_EQ(encoded(DW_EH_PE_udata8, raw(0x1000)), Ranges());
  EXPECT_EQ(encoded(DW_EH_PE_udata8, raw(0x1000UL)), Ranges());
  EXPECT_EQ(encoded(DW_EH_PE_udata8, raw(0x1000UL, 0UL)), Ranges());
  EXPECT_EQ(encoded(DW_EH_PE_udata8, raw(0UL, 0x10UL)), Ranges());
  EXPECT_EQ(encoded(DW_EH_PE_udata8, raw(~0UL - 4, 0x10UL)), Ranges());
}

TEST(UnwindRanges, TheLettersOfAnAugmentationAreRead) {
  const std::string plain = raw(0x1000UL, 0x10UL), small = raw(0x1000, 0x10);
  EXPECT_EQ(one("", "", plain), kFound);
  EXPECT_EQ(one("z", "", plain), kFound);
  EXPECT_EQ(one("zS", "", plain), kFound);
  EXPECT_EQ(one("zBR", bytes_of({DW_EH_PE_udata4}), small), kFound);
  EXPECT_EQ(one("zLR", bytes_of({0x1b, DW_EH_PE_udata4}), small), kFound);
  EXPECT_EQ(one("zPLR", bytes_of({DW_EH_PE_udata2, 1, 2, 0x1b, DW_EH_PE_udata4}), small), kFound);
  // Without a letter that is known, nothing behind it is.
  EXPECT_EQ(one("zQR", bytes_of({DW_EH_PE_udata4, DW_EH_PE_udata4}), small), Ranges());
  for (const char* letters : {"zR", "zL", "zP"}) EXPECT_EQ(one(letters, "", plain), Ranges());
  EXPECT_EQ(one("zP", bytes_of({DW_EH_PE_udata4, 1}), plain), Ranges());
}

TEST(UnwindRanges, RangesAreSortedAndTheLongestOfOneBeginIsKept) {
  const std::string begin = cie("zR", bytes_of({DW_EH_PE_udata4}));
  std::string table = begin;
  for (const auto& [at, size] : {std::pair(0x3000, 8), {0x1000, 8}, {0x1000, 16}, {0x1000, 4}}) {
    table += fde(table.size(), raw(at, size));
  }
  EXPECT_EQ(ranges_of(table), (Ranges{{0x1000, 0x1010}, {0x3000, 0x3008}}));
}

TEST(UnwindRanges, DamagedEntriesAreSkippedAndTheEndEndsTheTable) {
  const std::string place = raw(0x1000, 0x10);
  const std::string begin = cie("zR", bytes_of({DW_EH_PE_udata4}));
  const std::string found = begin + fde(begin.size(), place);
  // Its CIE is no CIE.
  EXPECT_EQ(ranges_of(begin + fde(begin.size() - 4, place)), Ranges());
  // A CIE whose augmentation is longer than it.
  const std::string bad = entry(raw(0) + "\1zR" + bytes_of({0, 1, 0x78, 16, 100, 0}));
  EXPECT_EQ(ranges_of(bad + found), kFound);
  EXPECT_EQ(ranges_of(found + raw(0) + found), kFound);
  EXPECT_EQ(ranges_of(found + raw(1000)), kFound);
  EXPECT_EQ(ranges_of(found + raw(0xfffffff0)), kFound);
  EXPECT_EQ(ranges_of(""), Ranges());
  EXPECT_EQ(ranges_of(found, SHT_NOBITS), Ranges());
  const auto without = ElfObject::from_bytes(elf_bytes(EM_X86_64, {}));
  EXPECT_EQ(unwind_ranges(*without), Ranges());
}

}  // namespace
}  // namespace fbleprof::symbolize
