// The tables of files for other processors, and of damaged ones.
#include <gtest/gtest.h>

#include "elf_bytes.h"
#include "symbolize/loaded_data.h"
#include "symbolize/patchable.h"
#include "symbolize/plt.h"
#include "symbolize/symbol_reader.h"

namespace fbleprof::symbolize {
namespace {

constexpr std::uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR, kData = SHF_ALLOC | SHF_WRITE;

ElfObject made(std::uint16_t machine, std::vector<MadeSection> sections) {
  return std::move(*ElfObject::from_bytes(elf_bytes(machine, std::move(sections))));
}

std::string symbol(std::uint32_t name, std::uint64_t value, std::uint16_t section,
                   unsigned char type = STT_FUNC, unsigned char binding = STB_GLOBAL) {
  return raw(Elf64_Sym{.st_name = name,
                       .st_info = static_cast<unsigned char>(ELF64_ST_INFO(binding, type)),
                       .st_other = 0,
                       .st_shndx = section,
                       .st_value = value,
                       .st_size = 0});
}

std::string relocation(std::uint64_t at, std::uint64_t index, std::uint64_t type,
                       std::int64_t addend = 0) {
  return raw(Elf64_Rela{at, ELF64_R_INFO(index, type), addend});
}

// adrp x16, a number of pages on; ldr x17, [x16, offset]; br x17.
std::string stub(std::uint32_t pages, std::uint32_t offset) {
  const std::uint32_t low = (pages & 3) << 29, high = ((pages >> 2) & 0x7ffff) << 5;
  return raw(0x90000010U | low | high, 0xf9400211U | (offset / 8) << 10, 0xd61f0220U);
}

std::string stubs_of(const ElfObject& object, const std::vector<RawSymbol>& named = {}) {
  std::string text;
  for (const RawSymbol& found : read_plt(object, Relocations::read(object, named))) {
    text += std::string(found.name) + "=" + std::to_string(found.begin) + " ";
  }
  return text;
}

std::vector<MadeSection> with_stubs(const std::string& relocations, const std::string& code) {
  return {{.name = ".dynsym",
           .type = SHT_DYNSYM,
           .flags = SHF_ALLOC,
           .bytes = symbol(0, 0, 0) + symbol(1, 0, 0) + symbol(6, 0, 0) + symbol(10000, 0, 0),
           .link = 2,
           .entry_bytes = sizeof(Elf64_Sym)},
          {.name = ".dynstr", .type = SHT_STRTAB, .bytes = std::string("\0puts\0exit", 11)},
          {.name = ".rela.plt",
           .type = SHT_RELA,
           .flags = SHF_ALLOC,
           .bytes = relocations,
           .link = 1,
           .entry_bytes = sizeof(Elf64_Rela)},
          {.name = ".plt", .flags = kCode, .address = 4096, .bytes = code},
          {.name = ".plt.data", .flags = SHF_ALLOC, .address = 8192, .bytes = code}};
}

TEST(Plt, StubsOf64BitArmHaveTheNameOfTheirTarget) {
  const std::string slots =
      relocation(0x3008, 1, R_AARCH64_JUMP_SLOT) + relocation(0x3010, 2, R_AARCH64_GLOB_DAT) +
      relocation(0x20, 0, R_AARCH64_IRELATIVE, 0x7000) +
      relocation(0x3020, 0, R_AARCH64_IRELATIVE, 0x7100) +
      relocation(0x3028, 1, R_AARCH64_RELATIVE) + relocation(0x3030, 3, R_AARCH64_JUMP_SLOT) +
      relocation(0x3038, 99, R_AARCH64_JUMP_SLOT);
  const std::uint32_t bti_c = 0xd503245f, nop = 0xd503201f;
  // 4096: a mark, then 4100: the stub; one page back; slots that nobody fills.
  const std::string code = raw(bti_c) + stub(2, 8) + stub(2, 0x10) + raw(nop) +
                           stub(0x1fffff, 0x20) + stub(2, 0x20) + stub(2, 0x28) + stub(2, 0x30) +
                           stub(2, 0x38) + raw(0x90000010U, nop);
  std::vector<RawSymbol> named = {
      {0x7000, 0, 0x8000, "__strlen", NameOrigin::kSymtab, true, false, false},
      {0x7000, 0, 0x8000, "strlen", NameOrigin::kSymtab, true, false, false},
      {0x7000, 0, 0x8000, "label", NameOrigin::kSymtab, false, false, false}};
  EXPECT_EQ(stubs_of(made(EM_AARCH64, with_stubs(slots, code)), named),
            "puts=4096 exit=4112 strlen=4128 ");
  EXPECT_EQ(stubs_of(made(EM_AARCH64, with_stubs(slots, stub(2, 8))), named), "puts=4096 ");
}

TEST(Plt, StubsOf64BitX86ThatPushANumberHaveTheNameOfItsEntry) {
  const std::string slots =
      relocation(0x3008, 1, R_X86_64_JUMP_SLOT) + relocation(0x3010, 2, R_X86_64_JUMP_SLOT);
  const auto push = [](int number, bool marked) {
    std::string code = marked ? bytes_of({0xf3, 0x0f, 0x1e, 0xfa}) : std::string();
    code += '\x68' + raw(number);
    code.resize(16, '\x90');
    return code;
  };
  std::string cut = std::string(13, '\x90') + bytes_of({0xff, 0x25, 0});
  EXPECT_EQ(stubs_of(made(EM_X86_64,
                          with_stubs(slots, push(1, true) + push(0, false) + push(9, true) + cut))),
            "exit=4096 puts=4112 ");
}

TEST(Plt, OtherProcessorsAndDamagedTablesHaveNoStubs) {
  const std::string slots = relocation(0x3008, 1, R_AARCH64_JUMP_SLOT);
  EXPECT_EQ(stubs_of(made(EM_RISCV, with_stubs(slots, stub(2, 8)))), "");
  auto sections = with_stubs(slots, stub(2, 8));
  sections[2].link = 77;
  EXPECT_EQ(stubs_of(made(EM_AARCH64, sections)), "");
  sections[2].link = 1;
  sections[2].entry_bytes = 0;
  EXPECT_EQ(stubs_of(made(EM_AARCH64, sections)), "");
  sections[2].entry_bytes = 1;  // more entries than there are
  EXPECT_EQ(stubs_of(made(EM_AARCH64, sections)), "puts=4096 ");
  sections[2].flags = 0;
  EXPECT_EQ(stubs_of(made(EM_AARCH64, sections)), "");
  sections[3].name = ".iplt";
  sections[2].flags = SHF_ALLOC;
  EXPECT_EQ(stubs_of(made(EM_AARCH64, sections)), "puts=4096 ");
}

TEST(SymbolReader, MarksLabelsAndSymbolsOutsideCodeAreLeftOut) {
  std::string names(1, '\0'), symbols = symbol(0, 0, 0);
  const auto add = [&](std::string_view name, std::uint64_t value, std::uint16_t section = 1,
                       unsigned char type = STT_NOTYPE) {
    symbols += symbol(static_cast<std::uint32_t>(names.size()), value, section, type);
    names += std::string(name) + '\0';
  };
  for (const char* mark : {"$x", "$d.3", ".L7", ""}) add(mark, 0x1004);
  add("undefined", 0x1004, SHN_UNDEF);
  add("absolute", 0x1004, SHN_ABS);
  add("common", 0x1004, SHN_COMMON);
  add("object", 0x1004, 1, STT_OBJECT);
  add("elsewhere", 0x9000);
  symbols += symbol(50000, 0x1004, 1);  // no such name
  for (const char* name : {"$", "$xyz", "f", "ifunc"}) add(name, 0x1004, 1, STT_FUNC);
  add("other", 0x2008, 1, STT_GNU_IFUNC);
  std::vector<MadeSection> sections = {
      {.name = ".text", .flags = kCode, .address = 0x1000, .bytes = std::string(16, '\0')},
      {.name = ".symtab",
       .type = SHT_SYMTAB,
       .bytes = symbols,
       .link = 3,
       .entry_bytes = sizeof(Elf64_Sym)},
      {.name = ".strtab", .type = SHT_STRTAB, .bytes = names},
      {.name = ".more", .flags = kCode, .address = 0x2000, .bytes = std::string(16, '\0')},
      // One that ends behind the last address.
      {.name = ".last", .flags = kCode, .address = ~0UL - 3, .bytes = std::string(16, '\0')}};
  std::string found;
  const ElfObject object = made(EM_AARCH64, sections);  // the names point into it
  for (const RawSymbol& each : read_symbols(object)) {
    found += std::string(each.name) + " ";
  }
  EXPECT_EQ(found, "$ $xyz f ifunc other ");
  sections[1].entry_bytes = 0;
  EXPECT_TRUE(read_symbols(made(EM_AARCH64, sections)).empty());
  sections[1].entry_bytes = 1;  // more symbols than there are
  EXPECT_EQ(read_symbols(made(EM_AARCH64, sections)).size(), 5U);
}

TEST(LoadedData, WordsAreWhatTheLinkerPutsThere) {
  const std::uint64_t code = 0x1000, text = 0x2000, data = 0x3000;
  std::vector<MadeSection> sections = {
      {.name = ".dynsym",
       .type = SHT_DYNSYM,
       .flags = SHF_ALLOC,
       .bytes = symbol(0, 0, 0) + symbol(0, 0, SHN_UNDEF) + symbol(0, code, 3),
       .link = 2,
       .entry_bytes = sizeof(Elf64_Sym)},
      {.name = ".dynstr", .type = SHT_STRTAB, .bytes = std::string(1, '\0')},
      {.name = ".text", .flags = kCode, .address = code, .bytes = std::string(16, '\x90')},
      {.name = ".plt", .flags = kCode, .address = 0x1800, .bytes = std::string(16, '\x90')},
      {.name = ".rodata",
       .flags = SHF_ALLOC,
       .address = text,
       .bytes = "hello" + std::string(1, 0) + "cut"},
      {.name = ".data", .flags = kData, .address = data, .bytes = std::string(36, '\0')},
      {.name = ".odd", .flags = kData, .address = 0x4001, .bytes = std::string(16, '\0')},
      {.name = ".tdata", .flags = kData | SHF_TLS, .address = 0x5000, .bytes = std::string(16, 1)},
      {.name = ".bss",
       .type = SHT_NOBITS,
       .flags = kData,
       .address = 0x6000,
       .bytes = std::string(16, '\0')},
      {.name = ".comment", .address = 0x7000, .bytes = "comment"},
      {.name = ".nowhere", .flags = kData, .bytes = std::string(16, '\0')},
      {.name = ".rela.dyn",
       .type = SHT_RELA,
       .flags = SHF_ALLOC,
       .bytes = relocation(data, 0, R_X86_64_RELATIVE, static_cast<std::int64_t>(text)) +
                relocation(data + 8, 1, R_X86_64_64) + relocation(data + 16, 2, R_X86_64_64, 4) +
                relocation(data + 4, 0, R_X86_64_RELATIVE, 1) +
                relocation(0x9000, 0, R_X86_64_RELATIVE, 1) +
                relocation(data + 24, 99, R_X86_64_64, 5),
       .link = 1,
       .entry_bytes = sizeof(Elf64_Rela)},
      {.name = ".rela.debug",
       .type = SHT_RELA,
       .bytes = relocation(data, 0, R_X86_64_RELATIVE, 1),
       .entry_bytes = sizeof(Elf64_Rela)}};
  const ElfObject object = made(EM_X86_64, sections);
  const LoadedData loaded(object);
  EXPECT_EQ(loaded.word(data), text);
  EXPECT_EQ(loaded.word(data + 8), LoadedData::kElsewhere);
  EXPECT_EQ(loaded.word(data + 16), code + 4);
  EXPECT_EQ(loaded.word(data + 24), 5U);
  EXPECT_EQ(loaded.word(data + 4), 0U);
  EXPECT_EQ(loaded.word(0x9000), 0U);
  EXPECT_EQ(loaded.text(text), "hello");
  EXPECT_EQ(loaded.text(text + 6), "");
  EXPECT_EQ(loaded.text(0x9000), "");
  EXPECT_EQ(loaded.end_of_code(code + 1), code + 16);
  EXPECT_EQ(loaded.end_of_code(0x1800), 0U);
  for (const std::uint64_t at : {0x4001, 0x5000, 0x6000, 0x7000, 0x9000}) {
    EXPECT_FALSE(loaded.is_data(at)) << at;
  }
  sections[11].entry_bytes = 0;
  const ElfObject damaged = made(EM_X86_64, sections);
  EXPECT_EQ(LoadedData(damaged).word(data), 0U);
  sections[11].entry_bytes = 1;  // more entries than there are
  sections[11].link = 55;        // no symbols
  const ElfObject without = made(EM_X86_64, sections);
  EXPECT_EQ(LoadedData(without).word(data), text);
  EXPECT_EQ(LoadedData(without).word(data + 16), 4U);
}

#ifdef __x86_64__
TEST(Patchable, OnlyFunctionsWithRoomAreFound) {
  const std::uint64_t code = 0x1000, list = 0x2000;
  // 0x1000: endbr64 and room; 0x1010: no room; 0x1020: two NOPs in front of one with room.
  std::string text = bytes_of({0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0});
  text.resize(0x10, '\xc3');
  text.resize(0x20, '\xc3');
  text += "\x90\x90" + bytes_of({0x0f, 0x1f, 0x44, 0, 0, 0xc3});
  const auto sections = [&](const std::string& listed, const std::string& relocations) {
    return std::vector<MadeSection>{
        {.name = ".text", .flags = kCode, .address = code, .bytes = text},
        {.name = "__patchable_function_entries", .flags = kData, .address = list, .bytes = listed},
        {.name = ".rela.dyn",
         .type = SHT_RELA,
         .flags = SHF_ALLOC,
         .bytes = relocations,
         .entry_bytes = sizeof(Elf64_Rela)},
        {.name = ".rela.debug", .type = SHT_RELA, .bytes = relocation(list, 0, R_X86_64_RELATIVE)}};
  };
  const std::vector<RawSymbol> symbols = {
      {code, 9, 0x1030, "f", NameOrigin::kSymtab, true, false, false},
      {code + 0x10, 4, 0x1030, "g", NameOrigin::kSymtab, true, false, false},
      {code + 0x21, 0, 0x1030, "label", NameOrigin::kSymtab, false, false, false},
      {code + 0x22, 6, 0x1030, "h", NameOrigin::kSymtab, true, false, false}};
  using Addresses = std::vector<std::uint64_t>;
  const Addresses both = {code, code + 0x22};
  const std::string listed = raw(code, code + 0x10, code + 0x20, 0UL, 0x9000UL, 0x10UL);
  EXPECT_EQ(patchable_functions(made(EM_X86_64, sections(listed, "")), symbols), both);
  const std::string zeros(24, '\0');
  const std::string relocations = relocation(list, 0, R_X86_64_RELATIVE, code) +
                                  relocation(list + 8, 0, R_X86_64_64, code + 4) +
                                  relocation(list - 8, 0, R_X86_64_RELATIVE, code) +
                                  relocation(list + 24, 0, R_X86_64_RELATIVE, code) +
                                  relocation(list + 16, 0, R_X86_64_RELATIVE, code + 0x20);
  EXPECT_EQ(patchable_functions(made(EM_X86_64, sections(zeros, relocations)), symbols), both);
  // Without symbols, the place itself counts.
  EXPECT_EQ(patchable_functions(made(EM_X86_64, sections(raw(code + 0x22), "")), {}),
            Addresses{code + 0x22});
  EXPECT_EQ(patchable_functions(made(EM_X86_64, {}), symbols), Addresses());
}
#endif

}  // namespace
}  // namespace fbleprof::symbolize
