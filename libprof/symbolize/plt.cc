#include "symbolize/plt.h"

namespace fbleprof::symbolize {
namespace {

std::uint32_t word_at(std::string_view code, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(code[at + i])) << (8 * i);
  }
  return word;
}

// One stub of x86-64, at `address`. Either it jumps through its slot (jmp *disp(%rip), after an
// endbr64, a bnd or a mov, depending on the linker), or, where a .plt.sec does that, it pushes its
// number for the lazy linker. The first stub of a .plt pushes the link map instead, for all the
// others.
std::string_view decode_x86_64(std::string_view stub, std::uint64_t address,
                               const Relocations& relocations) {
  constexpr std::string_view kJumpThrough("\xff\x25", 2);
  constexpr std::string_view kPushThrough("\xff\x35", 2);
  constexpr std::string_view kEndbr64("\xf3\x0f\x1e\xfa", 4);
  if (stub.starts_with(kPushThrough)) return kWholePlt;
  for (std::size_t at = stub.find(kJumpThrough);
       at != std::string_view::npos && stub.size() - at >= 6;
       at = stub.find(kJumpThrough, at + 1)) {
    const auto displacement = static_cast<std::int32_t>(word_at(stub, at + 2));
    const std::string_view name = relocations.name_of_slot(
        address + at + 6 + static_cast<std::uint64_t>(static_cast<std::int64_t>(displacement)));
    if (!name.empty()) return name;
  }
  if (stub.starts_with(kEndbr64)) stub.remove_prefix(kEndbr64.size());
  if (stub.size() >= 5 && stub[0] == '\x68') {
    return relocations.name_of_plt_entry(word_at(stub, 1));
  }
  return {};
}

void decode_x86_64_section(const Section& section, std::string_view code,
                           const Relocations& relocations, std::vector<RawSymbol>* stubs) {
  const std::uint64_t begin = section.header.sh_addr;
  const std::size_t stub_bytes = section.header.sh_entsize == 8 ? 8 : 16;
  for (std::size_t at = 0; at + stub_bytes <= code.size(); at += stub_bytes) {
    const std::string_view name =
        decode_x86_64(code.substr(at, stub_bytes), begin + at, relocations);
    if (name.empty()) continue;
    stubs->push_back(
        {begin + at, stub_bytes, begin + code.size(), name, NameOrigin::kPlt, true, true, false});
  }
}

// adrp x16, page of the slot; ldr x17, [x16, offset in the page]; ...; br x17. A `bti c` may come
// first. A stub ends where the next one begins.
void decode_aarch64_section(const Section& section, std::string_view code,
                            const Relocations& relocations, std::vector<RawSymbol>* stubs) {
  constexpr std::uint32_t kBtiC = 0xd503245f;
  const std::uint64_t begin = section.header.sh_addr;
  for (std::size_t at = 0; at + 8 <= code.size(); at += 4) {
    const std::uint32_t adrp = word_at(code, at);
    const std::uint32_t ldr = word_at(code, at + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211) continue;
    const std::uint32_t immediate = ((adrp >> 29) & 3) | (((adrp >> 5) & 0x7ffff) << 2);
    const std::int64_t pages = static_cast<std::int32_t>(immediate << 11) >> 11;
    const std::uint64_t page =
        ((begin + at) & ~0xfffULL) + static_cast<std::uint64_t>(pages) * 4096;
    const std::string_view name = relocations.name_of_slot(page + ((ldr >> 10) & 0xfff) * 8);
    if (name.empty()) continue;
    const std::size_t start = at >= 4 && word_at(code, at - 4) == kBtiC ? at - 4 : at;
    stubs->push_back(
        {begin + start, 0, begin + code.size(), name, NameOrigin::kPlt, true, true, false});
  }
}

}  // namespace

std::vector<RawSymbol> read_plt(const ElfObject& object, const Relocations& relocations) {
  std::vector<RawSymbol> stubs;
  for (const Section& section : object.sections()) {
    if (!section.name.starts_with(".plt") && section.name != ".iplt") continue;
    if (!section.is_code()) continue;
    const std::string_view code = section.bytes();
    if (object.machine() == EM_X86_64) {
      decode_x86_64_section(section, code, relocations, &stubs);
    } else if (object.machine() == EM_AARCH64) {
      decode_aarch64_section(section, code, relocations, &stubs);
    }
  }
  return stubs;
}

}  // namespace fbleprof::symbolize
