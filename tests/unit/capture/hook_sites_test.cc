// Sites are found in what files and memory say of them, and nothing else is taken for one.
#include "capture/hook_sites.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
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
  ModuleImage image() const { return {address(0), headers_, 3}; }

  // Writes the file and reads its table of sections.
  PatchableSections sections() const {
    char name[] = "/tmp/hook_sites_test.XXXXXX";
    const int fd = mkstemp(name);
    Elf64_Ehdr elf{};
    std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_phentsize = sizeof(Elf64_Phdr);
    elf.e_phnum = header_count;
    elf.e_phoff = sizeof elf;
    elf.e_shentsize = entry_bytes;
    elf.e_shoff = section_table;
    elf.e_shnum = section_count;
    elf.e_shstrndx = names_index;
    Elf64_Shdr names{};
    names.sh_offset = 0x800;
    names.sh_size = section_name.size() + 2;
    const std::string text = std::string(1, '\0') + section_name;
    const auto write_at = [&](const void* bytes, std::size_t size, std::uint64_t at) {
      EXPECT_EQ(pwrite(fd, bytes, size, static_cast<off_t>(at)), static_cast<ssize_t>(size));
    };
    write_at(&elf, sizeof elf, 0);
    write_at(headers_, sizeof headers_, elf.e_phoff);
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
                header_count = 3;
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

  std::uint8_t* base_;
  Elf64_Phdr headers_[3];
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
  EXPECT_EQ(module.found(), (Places{0}));
  EXPECT_EQ(module.too_small, 1u);
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
