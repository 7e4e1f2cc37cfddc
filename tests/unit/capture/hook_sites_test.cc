// Sites are found in what files and memory say of them, and nothing else is taken for one.
#include "capture/hook_sites.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "arch/hook_site.h"

namespace fbleprof::capture {
namespace {

using Bytes = std::vector<std::uint8_t>;

const Bytes kFive(5, 0x90), kMark = {0xf3, 0x0f, 0x1e, 0xfa}, kReturn = {0xc3};

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A module in memory, three pages: headers, code, and data with the section of entries. And the
// file of it, whose table of sections a test may spoil.
class Module {
 public:
  static constexpr std::uint64_t kPage = 4096, kCode = kPage, kData = 2 * kPage;

  Module() {
    base_ = static_cast<std::uint8_t*>(
        mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(base_ + kCode, 0xcc, kPage);
    headers_[0] = segment(0, kPage, PF_R);
    headers_[1] = segment(kCode, kPage, PF_R | PF_X);
    headers_[2] = segment(kData, kPage, PF_R | PF_W);
    section.sh_name = 1;
    section.sh_type = SHT_PROGBITS;
    section.sh_flags = SHF_ALLOC | SHF_WRITE;
    section.sh_addr = kData;
  }
  ~Module() { munmap(base_, 3 * kPage); }

  // The run-time address of an offset.
  std::uint64_t address(std::uint64_t offset) const {
    return reinterpret_cast<std::uint64_t>(base_) + offset;
  }
  void put_code(std::uint64_t offset, const Bytes& bytes) {
    std::memcpy(base_ + kCode + offset, bytes.data(), bytes.size());
  }
  void add_entry(std::uint64_t value) {
    std::memcpy(base_ + kData + section.sh_size, &value, sizeof value);
    section.sh_size += sizeof value;
  }
  void put_data(const void* bytes, std::size_t size) {
    std::memcpy(base_ + kData + section.sh_size, bytes, size);
    section.sh_size += size;
  }
  ModuleImage image() const { return {address(0), headers_, segments_}; }

  // Parts of the module that only its memory has, in the second half of the page of data.
  static constexpr std::uint64_t kDynamic = kData + 0x400, kRelocations = kData + 0x600,
                                 kSymbols = kData + 0x900, kStrings = kData + 0xa00,
                                 kUnwind = kData + 0xb00;
  template <typename Item>
  void put(std::uint64_t offset, const Item& item) {
    std::memcpy(base_ + offset, &item, sizeof item);
  }
  void add_part(std::uint32_t type, std::uint64_t at, std::uint64_t bytes) {
    headers_[segments_] = segment(at, bytes, PF_R);
    headers_[segments_++].p_type = type;
    ++header_count;
  }
  void put_dynamic(const std::vector<Elf64_Dyn>& entries, std::uint64_t at = kDynamic) {
    for (std::size_t i = 0; i < entries.size(); ++i) put(at + i * sizeof(Elf64_Dyn), entries[i]);
    add_part(PT_DYNAMIC, at, entries.size() * sizeof(Elf64_Dyn));
  }
  void put_relocations(const std::vector<Elf64_Rela>& relocations) {
    for (std::size_t i = 0; i < relocations.size(); ++i) {
      put(kRelocations + i * sizeof(Elf64_Rela), relocations[i]);
    }
  }
  // An unwind table of functions at these offsets in the code, of these sizes.
  void put_unwind_table(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& functions) {
    constexpr std::uint64_t kCie = kUnwind + 0x100;
    const std::uint8_t cie[] = {20, 0, 0,    0,  0, 0,    0,    0, 1, 'z',  'R', 0,
                                1,  1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,   0};
    put(kCie, cie);
    put(kUnwind, Bytes4{1, 0x1b, 0x03, 0x3b});
    put(kUnwind + 8, static_cast<std::uint32_t>(functions.size()));
    std::uint64_t fde = kCie + sizeof cie, row = kUnwind + 12;
    for (const auto& [offset, bytes] : functions) {
      put(fde, std::uint32_t{16});
      put(fde + 4, static_cast<std::uint32_t>(fde + 4 - kCie));
      put(fde + 8, static_cast<std::uint32_t>(kCode + offset - (fde + 8)));
      put(fde + 12, bytes);
      put(row, static_cast<std::uint32_t>(kCode + offset - kUnwind));
      put(row + 4, static_cast<std::uint32_t>(fde - kUnwind));
      fde += 20, row += 8;
    }
    add_part(PT_GNU_EH_FRAME, kUnwind, 0x400);
  }

  // Writes the file and reads its table of sections.
  PatchableSections sections() const {
    char name[] = "/tmp/hook_sites_test.XXXXXX";
    const int fd = mkstemp(name);
    Elf64_Ehdr elf{};
    std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_phentsize = header_bytes;
    elf.e_phnum = header_count;
    elf.e_phoff = sizeof elf;
    elf.e_shentsize = entry_bytes;
    elf.e_shoff = section_table;
    elf.e_shnum = section_count;
    elf.e_shstrndx = names_index;
    Elf64_Shdr names{};
    names.sh_offset = 0x800;
    names.sh_size = section.sh_name + section_name.size() + 1;
    const std::string text =
        std::string(section.sh_name < 4096 ? section.sh_name : 1, '\0') + section_name;
    Elf64_Phdr headers[5];
    std::memcpy(headers, headers_, sizeof headers);
    headers[1].p_memsz += other_size;
    const auto write_at = [&](const void* bytes, std::size_t size, std::uint64_t at) {
      EXPECT_EQ(pwrite(fd, bytes, size, static_cast<off_t>(at)), static_cast<ssize_t>(size));
    };
    write_at(&elf, sizeof elf, 0);
    write_at(headers, sizeof headers, elf.e_phoff);
    write_at(&section, sizeof section, 0x400 + sizeof section);
    write_at(&names, sizeof names, 0x400 + 2 * sizeof section);
    write_at(text.c_str(), text.size() + 1, names.sh_offset);
    if (file_bytes >= 0) {
      EXPECT_EQ(ftruncate(fd, file_bytes), 0);
    }
    close(fd);
    const File file(name, O_RDONLY);
    const PatchableSections found = find_patchable_sections(file, image());
    unlink(name);
    return found;
  }

  // The offsets in the code of the places that are found.
  std::vector<std::uint64_t> found() const {
    const PatchableSections sections = this->sections();
    std::vector<std::uint32_t> offsets(sections.most_sites() + 1);
    SiteList list(address(0), offsets.data(), sections.most_sites());
    too_small = find_patchable(image(), sections, list);
    std::vector<std::uint64_t> result;
    for (std::uint32_t i = 0; i < list.count(); ++i) result.push_back(offsets[i] - kCode);
    return result;
  }

  Elf64_Shdr section{};
  std::string section_name = "__patchable_function_entries";
  std::uint64_t section_table = 0x400;
  std::uint16_t section_count = 3, names_index = 2, entry_bytes = sizeof(Elf64_Shdr),
                header_count = 3, header_bytes = sizeof(Elf64_Phdr);
  std::uint64_t other_size = 0;  // of the code in the file
  std::int64_t file_bytes = -1;
  mutable std::uint32_t too_small = 0;

 private:
  static Elf64_Phdr segment(std::uint64_t at, std::uint64_t bytes, std::uint32_t flags) {
    Elf64_Phdr header{};
    header.p_type = PT_LOAD;
    header.p_vaddr = at;
    header.p_filesz = header.p_memsz = bytes;
    header.p_flags = flags;
    return header;
  }

  using Bytes4 = std::array<std::uint8_t, 4>;

  std::uint8_t* base_;
  Elf64_Phdr headers_[5] = {};
  std::uint32_t segments_ = 3;
};

using Places = std::vector<std::uint64_t>;

TEST(HookSites, NopsOfEachCompilerAreFound) {
  Module module;
  module.put_code(0, kFive + kReturn);
  module.put_code(16, kMark + kFive + kReturn);                        // the mark comes first
  module.put_code(32, Bytes{0x0f, 0x1f, 0x44, 0x00, 0x08} + kReturn);  // clang's
  module.put_code(48, Bytes{0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0} + kReturn);
  for (const std::uint64_t at : {0, 16, 32, 48}) {
    module.add_entry(module.address(Module::kCode + at));
  }
  EXPECT_EQ(module.found(), (Places{0, 20, 32, 48}));
  EXPECT_EQ(module.too_small, 0u);
}

TEST(HookSites, AddressesThatAreNotRelocatedYetAreFound) {
  Module module;
  module.put_code(64, kFive + kReturn);
  module.add_entry(Module::kCode + 64);
  EXPECT_EQ(module.found(), (Places{64}));
}

TEST(HookSites, WrongAddressesAreNoPlaces) {
  Module module;
  module.put_code(0, kFive + kReturn);
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, ~std::uint64_t{0} << 63,
        module.address(0), module.address(Module::kData), module.address(3 * Module::kPage),
        std::uint64_t{0xdeadbeef00000000}}) {
    module.add_entry(value);
  }
  EXPECT_EQ(module.found(), Places{});
}

TEST(HookSites, WhatIsNotEnoughNopsIsTooSmall) {
  Module module;
  module.put_code(0, Bytes{0x90, 0x90, 0x90, 0x90, 0xc3});
  module.put_code(16, Bytes{0x55, 0xc3});
  module.put_code(32, Bytes{0x0f, 0x1f, 0x44, 0x00});      // cut by the next instruction
  module.put_code(Module::kPage - 4, Bytes(4, 0x90));      // cut by the end of the code
  module.put_code(Module::kPage - 16, Bytes{0x66, 0x66});  // prefixes of nothing
  for (const std::uint64_t at : {0ul, 16ul, Module::kPage - 4, Module::kPage - 16}) {
    module.add_entry(module.address(Module::kCode + at));
  }
  EXPECT_EQ(module.found(), Places{});
  EXPECT_EQ(module.too_small, 4u);
}

TEST(HookSites, OddSizesOfTheSectionAreCut) {
  Module module;
  module.put_code(0, kFive + kReturn);
  module.add_entry(module.address(Module::kCode));
  module.section.sh_size = 15;
  EXPECT_EQ(module.found(), (Places{0}));
  module.section.sh_size = 7;
  EXPECT_EQ(module.found(), Places{});
}

TEST(HookSites, ASectionOutsideTheModuleIsNotRead) {
  for (const std::uint64_t wrong : {std::uint64_t{3 * Module::kPage}, ~std::uint64_t{0} - 7,
                                    std::uint64_t{1} << 63, std::uint64_t{Module::kData + 8}}) {
    Module module;
    module.add_entry(module.address(Module::kCode));
    module.section.sh_addr = wrong;
    module.section.sh_size = Module::kPage;
    EXPECT_EQ(module.found(), Places{}) << wrong;
  }
  Module module;
  module.section.sh_size = ~std::uint64_t{0};
  EXPECT_EQ(module.found(), Places{});
}

TEST(HookSites, ADamagedFileHasNoSections) {
  const auto spoilt = [](void (*spoil)(Module&)) {
    Module module;
    module.put_code(0, kFive + kReturn);
    module.add_entry(module.address(Module::kCode));
    spoil(module);
    return module.found();
  };
  EXPECT_EQ(spoilt([](Module&) {}), (Places{0}));
  EXPECT_EQ(spoilt([](Module& module) { module.file_bytes = 0; }), Places{});
  EXPECT_EQ(spoilt([](Module& module) { module.file_bytes = 0x410; }), Places{});
  EXPECT_EQ(spoilt([](Module& module) { module.section_table = ~std::uint64_t{0}; }), Places{});
  EXPECT_EQ(spoilt([](Module& module) { module.entry_bytes = 40; }), Places{});
  EXPECT_EQ(spoilt([](Module& module) { module.names_index = 3; }), Places{});
  EXPECT_EQ(spoilt([](Module& module) { module.names_index = 0xffff; }), Places{});
  EXPECT_EQ(spoilt([](Module& module) { module.section_name = "__patchable"; }), Places{});
  EXPECT_EQ(spoilt([](Module& module) { module.section.sh_name = ~0u; }), Places{});
  EXPECT_EQ(spoilt([](Module& module) { module.section.sh_type = SHT_NOBITS; }), Places{});
  // Another file under the same name.
  EXPECT_EQ(spoilt([](Module& module) { module.header_count = 2; }), Places{});
  EXPECT_EQ(spoilt([](Module& module) { module.header_bytes = 32; }), Places{});
  EXPECT_EQ(spoilt([](Module& module) { module.other_size = 4096; }), Places{});
  // Names far behind the first ones are read one by one.
  EXPECT_EQ(spoilt([](Module& module) { module.section.sh_name = 2000; }), (Places{0}));
  EXPECT_EQ(spoilt([](Module& module) {
              module.section.sh_name = 2000;
              module.file_bytes = 0x800 + 2010;
            }),
            Places{})
      << "a name that is cut";
}

TEST(HookSites, OfAFileThatCannotBeReadAreNotKnown) {
  const Module module;
  EXPECT_TRUE(find_patchable_sections(File(), module.image()).is_unknown);
  EXPECT_FALSE(module.sections().is_unknown);
}

// The linker left the addresses to the loader, which has not filled them in.
TEST(HookSites, PlacesThatOnlyRelocationsNameAreFound) {
  Module module;
  for (const std::uint64_t at : {0, 64, 128}) module.put_code(at, kFive + kReturn);
  module.add_entry(0);
  module.add_entry(0);
  module.add_entry(module.address(Module::kCode + 128));  // this one is relocated
  const auto relative = ELF64_R_INFO(0, R_X86_64_RELATIVE);
  const std::vector<Elf64_Rela> relocations = {
      {Module::kData - 8, relative, Module::kCode},                        // below the section
      {Module::kData, ELF64_R_INFO(0, R_X86_64_GLOB_DAT), Module::kCode},  // of another kind
      {Module::kData, relative, 3 * Module::kPage},                        // to no code
      {Module::kData + 8, relative, Module::kCode + 64},
      {Module::kData + 16, relative, Module::kCode},  // there is an address already
      {Module::kData + 24, relative, Module::kCode},  // above the section
  };
  module.put_relocations(relocations);
  module.put_dynamic({{DT_RELA, {Module::kRelocations}},
                      {DT_RELASZ, {relocations.size() * sizeof(Elf64_Rela)}},
                      {DT_NULL, {}}});
  EXPECT_EQ(module.found(), (Places{128, 64}));
}

TEST(HookSites, ADamagedDynamicSectionNamesNothing) {
  Module module;
  module.put_code(0, kFive + kReturn);
  module.add_entry(0);
  const Elf64_Rela relocation{Module::kData, ELF64_R_INFO(0, R_X86_64_RELATIVE), Module::kCode};
  module.put_relocations({relocation});
  // It ends with the module, without DT_NULL; tables lie outside.
  const std::vector<Elf64_Dyn> entries = {{DT_STRTAB, {5 * Module::kPage}},
                                          {DT_STRSZ, {100}},
                                          {DT_RELA, {Module::kRelocations}},
                                          {DT_RELASZ, {sizeof relocation}}};
  module.put_dynamic(entries, 3 * Module::kPage - entries.size() * sizeof(Elf64_Dyn));
  EXPECT_EQ(module.found(), (Places{0})) << "what is in the module is read";
  EXPECT_EQ(find_hook_slots(module.image()).count, 0);
}

TEST(HookSites, NopsBeforeAFunctionLeadToThoseInIt) {
  Module module;
  // -fpatchable-function-entry=N,M names the M bytes before the function.
  module.put_code(0, kReturn + Bytes(3, 0x90) + kFive + kReturn);
  module.put_code(64, kReturn + Bytes{0x90, 0xc3, 0x90} + kFive + kReturn);
  module.put_code(Module::kPage - 4, kMark);
  module.put_unwind_table({{0, 1}, {4, 6}, {64, 1}, {68, 6}, {600, 8}});
  for (const std::uint64_t at : {1, 65, 80}) module.add_entry(module.address(Module::kCode + at));
  module.add_entry(module.address(2 * Module::kPage - 2));  // the end of the code
  EXPECT_EQ(module.found(), (Places{4}));
  EXPECT_EQ(module.too_small, 3u) << "other code between; a function far away; none at all";
}

// The module's slots for hooks, their stubs, and functions that call them.
TEST(HookSites, CallsOfHooksAreFoundByTheirSlotsAndStubs) {
  Module module;
  const std::string names("\0__fentry__\0mcount\0puts\0mcount", 31);
  for (std::size_t i = 0; i < names.size(); ++i) module.put(Module::kStrings + i, names[i]);
  const auto symbol = [](Elf64_Word name) {
    Elf64_Sym symbol{};
    symbol.st_name = name;
    return symbol;
  };
  const std::vector<Elf64_Word> named = {0, 1, 12, 19, 24, 4000};
  for (std::size_t i = 0; i < named.size(); ++i) {
    module.put(Module::kSymbols + i * sizeof(Elf64_Sym), symbol(named[i]));
  }
  constexpr std::uint64_t kSlots = Module::kData + 0x300;
  std::vector<Elf64_Rela> relocations;
  const auto add = [&](std::uint64_t slot, std::uint64_t number,
                       std::uint64_t type = R_X86_64_JUMP_SLOT) {
    relocations.push_back({kSlots + 8 * slot, ELF64_R_INFO(number, type), 0});
  };
  add(0, 1, R_X86_64_GLOB_DAT), add(1, 2), add(1, 2);
  add(2, 3), add(3, 0);
  add(4, 4);        // so near the end of the names that it may be cut
  add(5, 5);        // a name outside
  add(6, 0x10000);  // a symbol outside
  add(7, 1, R_X86_64_64);
  module.put_relocations(relocations);
  module.put_dynamic({{DT_JMPREL, {Module::kRelocations}},
                      {DT_PLTRELSZ, {relocations.size() * sizeof(Elf64_Rela)}},
                      {DT_SYMTAB, {Module::kSymbols}},
                      {DT_STRTAB, {Module::kStrings}},
                      {DT_STRSZ, {names.size()}},
                      {DT_NULL, {}}});
  HookNames hooks = find_hook_slots(module.image());
  ASSERT_EQ(hooks.count, 2) << "__fentry__ and mcount, once";
  EXPECT_TRUE(hooks.has(module.address(kSlots)));
  EXPECT_TRUE(hooks.has(module.address(kSlots + 8)));

  const auto distance = [](std::uint64_t from, std::uint64_t to) {
    const auto value = static_cast<std::uint32_t>(to - from);
    Bytes bytes(4);
    std::memcpy(bytes.data(), &value, 4);
    return bytes;
  };
  const auto call = [&](std::uint64_t at, std::uint64_t to) {
    module.put_code(at, Bytes{0xe8} + distance(Module::kCode + at + 5, to) + kReturn);
  };
  const auto stub = [&](std::uint64_t at, std::uint64_t slot) {
    module.put_code(at, Bytes{0xff, 0x25} + distance(Module::kCode + at + 6, kSlots + 8 * slot));
  };
  stub(512, 1), stub(544, 2);
  call(0, Module::kCode + 512);
  call(64, Module::kCode + 512);   // the stub is known now
  call(128, Module::kCode + 544);  // another function's
  call(192, Module::kData);        // no code
  module.put_code(256, Bytes{0xff, 0x15} + distance(Module::kCode + 262, kSlots) + kReturn);
  module.put_unwind_table({{0, 64}, {64, 64}, {128, 64}, {192, 64}, {256, 64}, {4090, 6}});
  std::uint32_t offsets[8];
  SiteList sites(module.address(0), offsets, 8);
  find_called_hooks(module.image(), hooks, sites);
  ASSERT_EQ(sites.count(), 3u);
  EXPECT_EQ(offsets[0], Module::kCode);
  EXPECT_EQ(offsets[1], Module::kCode + 64);
  EXPECT_EQ(offsets[2], Module::kCode + 256);
  // A module with more stubs than are kept: the calls of the others are not found.
  for (std::uint64_t i = 0; hooks.count < HookNames::kMost; ++i) hooks.add(i);
  stub(576, 1);
  call(0, Module::kCode + 576), call(64, Module::kCode + 512);
  SiteList fewer(module.address(0), offsets, 8);
  find_called_hooks(module.image(), hooks, fewer);
  ASSERT_EQ(fewer.count(), 2u);
  EXPECT_EQ(offsets[0], Module::kCode + 64);
}

TEST(HookSites, BeyondTheListOrFarFromTheModuleAreLeftOut) {
  std::uint32_t offsets[1];
  SiteList list(4096, offsets, 1);
  list.add(4096 + (std::uint64_t{1} << 32));
  EXPECT_EQ(list.count(), 0u) << "its offset has no room";
  list.add(4100), list.add(4104);
  EXPECT_EQ(list.count(), 1u);
  EXPECT_EQ(offsets[0], 4u);
}

TEST(HookSites, SledsOfXrayAreFound) {
  const Bytes sled = {0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0};
  Module module;
  module.section_name = "xray_instr_map";
  module.put_code(0, sled + kReturn);
  module.put_code(32, Bytes{0xeb, 0x09, 0xc3});  // already somebody else's
  struct Entry {
    std::int64_t address, function;
    std::uint8_t kind, always, version, padding[13];
  };
  const auto add = [&](std::uint64_t at, std::uint8_t kind) {
    const std::uint64_t here = module.address(Module::kData + module.section.sh_size);
    const Entry entry{
        static_cast<std::int64_t>(module.address(Module::kCode + at) - here), 0, kind, 0, 2, {}};
    module.put_data(&entry, sizeof entry);
  };
  add(0, 0);
  add(0, 1);  // an exit
  add(32, 0);
  add(Module::kPage * 7, 0);
  EXPECT_EQ(module.found(), (Places{0}));
  EXPECT_EQ(module.too_small, 1u);
}

TEST(HookSites, RecordedNopsAreFoundAndCallsAreNotTooSmall) {
  Module module;
  module.section_name = "__mcount_loc";
  module.put_code(0, Bytes{0x0f, 0x1f, 0x44, 0, 0} + kReturn);
  module.put_code(32, Bytes{0xe8, 0, 1, 0, 0} + kReturn);  // -mrecord-mcount alone
  module.put_code(64, Bytes{0x90} + kReturn);
  for (const std::uint64_t at : {0, 32, 64}) {
    module.add_entry(module.address(Module::kCode + at));
  }
  // A call that the end of the code cuts is none.
  module.put_code(Module::kPage - 4, Bytes{0xe8, 0, 1, 0});
  module.add_entry(module.address(2 * Module::kPage - 4));
  EXPECT_EQ(module.found(), (Places{0}));
  EXPECT_EQ(module.too_small, 2u);
}

TEST(HookSite, IsSwitchedByOneByte) {
  Module module;
  module.put_code(0, Bytes(9, 0x90) + kReturn);
  auto* at = reinterpret_cast<std::uint8_t*>(module.address(Module::kCode));
  const std::uint64_t hook = module.address(0);
  ASSERT_TRUE(arch::make_site(at, 9, hook, false));
  EXPECT_EQ(at[0], 0xa9);  // test
  EXPECT_EQ(arch::named_by_site(at), hook);
  EXPECT_EQ(arch::nop_bytes(at + 5, at + 9), 4u);
  const Bytes before(at, at + 9);
  EXPECT_TRUE(arch::switch_site(at, true));
  EXPECT_FALSE(arch::switch_site(at, true));
  EXPECT_EQ(at[0], 0xe8);
  EXPECT_EQ(Bytes(at + 1, at + 9), Bytes(before.begin() + 1, before.end()));
  EXPECT_EQ(arch::named_by_site(at), hook);
  EXPECT_FALSE(arch::make_site(at, 5, hook + (std::uint64_t{1} << 40), true));
}

}  // namespace
}  // namespace fbleprof::capture
