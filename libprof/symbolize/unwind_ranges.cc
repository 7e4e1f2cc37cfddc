#include "symbolize/unwind_ranges.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

// An FDE begins with the address and the size of its code, encoded as its CIE's augmentation says
// ('R'). libdw walks the entries and checks their bounds; it does not decode these two.
//
// signal_safe/unwind_table.cc decodes the same two fields but shares no code with this. It reads
// tables of loaded code, which the linker wrote and the program relies on: 64 bits, two encodings,
// no bounds checks, no allocation, in a signal handler. A file here may be damaged, cut short or
// malicious, of 32 bits and in any encoding. Shared code would be either slow there or unsafe here.

namespace fbleprof::symbolize {
namespace {

class Bytes {
 public:
  Bytes(const std::uint8_t* begin, const std::uint8_t* end) : at_(begin), end_(end) {}
  const std::uint8_t* at() const { return at_; }

  template <typename T>
  bool read(T* value) {
    if (static_cast<std::size_t>(end_ - at_) < sizeof(T)) return false;
    std::memcpy(value, at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }

  template <typename T>
  bool read_as(std::uint64_t* value) {
    T raw{};
    if (!read(&raw)) return false;
    *value = static_cast<std::uint64_t>(static_cast<std::int64_t>(raw));
    return true;
  }

  bool read_leb128(bool is_signed, std::uint64_t* value) {
    *value = 0;
    for (unsigned shift = 0;; shift += 7) {
      std::uint8_t byte = 0;
      if (shift >= 64 || !read(&byte)) return false;
      *value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) != 0) continue;
      if (is_signed && (byte & 0x40) != 0 && shift + 7 < 64) *value |= ~0ULL << (shift + 7);
      return true;
    }
  }

  // The encoded value itself, without the base that it is relative to.
  bool read_encoded(std::uint8_t encoding, bool is_64_bit, std::uint64_t* value) {
    switch (encoding & 0x0f) {
      case DW_EH_PE_absptr:
        return is_64_bit ? read_as<std::uint64_t>(value) : read_as<std::uint32_t>(value);
      case DW_EH_PE_uleb128:
        return read_leb128(false, value);
      case DW_EH_PE_sleb128:
        return read_leb128(true, value);
      case DW_EH_PE_udata2:
        return read_as<std::uint16_t>(value);
      case DW_EH_PE_sdata2:
        return read_as<std::int16_t>(value);
      case DW_EH_PE_udata4:
        return read_as<std::uint32_t>(value);
      case DW_EH_PE_sdata4:
        return read_as<std::int32_t>(value);
      case DW_EH_PE_udata8:
      case DW_EH_PE_sdata8:
        return read_as<std::uint64_t>(value);
      default:
        return false;
    }
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

constexpr std::uint8_t kUnknownEncoding = DW_EH_PE_omit;

// How the FDEs of this CIE encode addresses.
std::uint8_t address_encoding(const Dwarf_CIE& cie, bool is_64_bit) {
  const char* letter = cie.augmentation;
  if (letter == nullptr || *letter != 'z') return DW_EH_PE_absptr;
  if (cie.augmentation_data == nullptr) return kUnknownEncoding;
  Bytes data(cie.augmentation_data, cie.augmentation_data + cie.augmentation_data_size);
  for (++letter; *letter != '\0'; ++letter) {
    std::uint8_t encoding = 0;
    std::uint64_t ignored = 0;
    switch (*letter) {
      case 'R':
        return data.read(&encoding) ? encoding : kUnknownEncoding;
      case 'L':
        if (!data.read(&encoding)) return kUnknownEncoding;
        break;
      case 'P':
        if (!data.read(&encoding) || !data.read_encoded(encoding, is_64_bit, &ignored)) {
          return kUnknownEncoding;
        }
        break;
      case 'S':
      case 'B':
        break;
      default:
        return kUnknownEncoding;
    }
  }
  return DW_EH_PE_absptr;
}

}  // namespace

std::vector<AddressRange> unwind_ranges(const ElfObject& object) {
  std::vector<AddressRange> ranges;
  const Section* section = object.section(".eh_frame");
  if (section == nullptr || section->header.sh_type == SHT_NOBITS) return ranges;
  Elf_Data* data = elf_rawdata(section->scn, nullptr);
  const auto* ident = reinterpret_cast<const unsigned char*>(elf_getident(object.elf(), nullptr));
  if (data == nullptr || data->d_buf == nullptr || ident == nullptr) return ranges;
  const bool is_64_bit = ident[EI_CLASS] == ELFCLASS64;
  const auto* base = static_cast<const std::uint8_t*>(data->d_buf);

  std::unordered_map<Dwarf_Off, std::uint8_t> encodings;  // by CIE
  Dwarf_Off offset = 0;
  while (offset < data->d_size) {
    Dwarf_Off next = 0;
    Dwarf_CFI_Entry entry;
    const int outcome = dwarf_next_cfi(ident, data, true, offset, &next, &entry);
    if (outcome == 1 || next <= offset) break;
    if (outcome == 0 && dwarf_cfi_cie_p(&entry)) {
      encodings[offset] = address_encoding(entry.cie, is_64_bit);
    } else if (outcome == 0) {
      const auto known = encodings.find(entry.fde.CIE_pointer);
      const std::uint8_t encoding = known != encodings.end() ? known->second : kUnknownEncoding;
      Bytes fde(entry.fde.start, entry.fde.end);
      std::uint64_t begin = 0;
      std::uint64_t size = 0;
      // The size has the address's format, but is absolute and unsigned.
      if (encoding != kUnknownEncoding && (encoding & DW_EH_PE_indirect) == 0 &&
          fde.read_encoded(encoding, is_64_bit, &begin) &&
          fde.read_encoded(encoding & 0x07, is_64_bit, &size)) {
        if ((encoding & 0x70) == DW_EH_PE_pcrel) {
          begin += section->header.sh_addr + static_cast<std::uint64_t>(entry.fde.start - base);
        }
        if (!is_64_bit) begin &= 0xffffffffU;
        if (size != 0 && begin != 0 && begin + size > begin)
          ranges.push_back({begin, begin + size});
      }
    }
    offset = next;
  }
  std::sort(ranges.begin(), ranges.end(), [](const AddressRange& a, const AddressRange& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  ranges.erase(
      std::unique(ranges.begin(), ranges.end(),
                  [](const AddressRange& a, const AddressRange& b) { return a.begin == b.begin; }),
      ranges.end());
  return ranges;
}

}  // namespace fbleprof::symbolize
