#include "attach/loaded_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace fbleprof::attach {
namespace {

// A file with one dynamic symbol, "wanted", at 0x40.
struct Library {
  Elf64_Ehdr header{};
  Elf64_Phdr segment{};
  Elf64_Shdr sections[3]{};  // none, symbols, names
  Elf64_Sym symbols[3]{};    // none, one that is only used, one that is defined
  char names[32] = "\0wanted\0other";

  Library() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_phoff = offsetof(Library, segment);
    header.e_phnum = 1;
    header.e_shoff = offsetof(Library, sections);
    header.e_shnum = 3;
    segment.p_type = PT_LOAD;
    segment.p_vaddr = 0x10000;
    sections[1].sh_type = SHT_DYNSYM;
    sections[1].sh_link = 2;
    sections[1].sh_offset = offsetof(Library, symbols);
    sections[1].sh_size = sizeof symbols;
    sections[2].sh_offset = offsetof(Library, names);
    sections[2].sh_size = sizeof names;
    symbols[1].st_name = symbols[2].st_name = 1;
    symbols[2].st_shndx = 1;
    symbols[2].st_value = 0x10040;
  }
};

Mapping mapping_of(const std::string& path, std::uint64_t begin, bool is_code,
                   std::uint64_t offset = 0) {
  Mapping mapping;
  mapping.begin = begin;
  mapping.end = begin + 0x1000;
  mapping.offset = offset;
  mapping.is_code = is_code;
  mapping.path = path;
  return mapping;
}

class LoadedFileTest : public testing::Test {
 protected:
  ~LoadedFileTest() override { std::filesystem::remove_all(directory_); }

  // A new file each time: files are read once.
  std::string file_with(const Library& library, std::size_t bytes = sizeof(Library)) {
    const std::string path = directory_ + "/" + std::to_string(++files_);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(&library), static_cast<std::streamsize>(bytes));
    return path;
  }
  static std::uint64_t find(const std::string& file, const std::string& name) {
    return find_function({mapping_of("/its/path", 0x7000'0000, true)}, "/its/path", file, name);
  }

 private:
  int files_ = 0;
  std::string directory_ = [] {
    std::string name = testing::TempDir() + "/fbleprof-attach.XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
};

TEST_F(LoadedFileTest, AFunctionIsWhereItsFileIsMapped) {
  const std::string file = file_with(Library());
  EXPECT_EQ(find(file, "wanted"), 0x7000'0040u);
  EXPECT_EQ(find(file, "want"), 0u) << "a part of a name is another name";
  EXPECT_EQ(find(file, "other"), 0u);
  EXPECT_EQ(find(file, "far longer than what is left of the file"), 0u);
}

TEST_F(LoadedFileTest, AnUnreadableOrEmptyFileHasNoFunctions) {
  EXPECT_EQ(find("/nowhere", "wanted"), 0u);
  EXPECT_EQ(find(file_with(Library(), 0), "wanted"), 0u);
  EXPECT_EQ(find("/proc", "wanted"), 0u);
}

TEST_F(LoadedFileTest, AFileThatIsCutAnywhereIsReadWithinItsBytes) {
  for (std::size_t bytes = 1; bytes < sizeof(Library); bytes += 8) {
    const std::uint64_t found = find(file_with(Library(), bytes), "wanted");
    EXPECT_TRUE(found == 0 || found == 0x7000'0040u) << bytes;
  }
}

TEST_F(LoadedFileTest, OffsetsBehindTheEndLeadNowhere) {
  Library library;
  library.header.e_shoff = ~std::uint64_t{0} - 10;
  EXPECT_EQ(find(file_with(library), "wanted"), 0u);
  library = Library();
  library.sections[1].sh_link = 0xffff;
  EXPECT_EQ(find(file_with(library), "wanted"), 0u);
  library = Library();
  library.sections[2].sh_offset = 1 << 20;
  EXPECT_EQ(find(file_with(library), "wanted"), 0u);
  library = Library();
  library.sections[1].sh_size = ~std::uint64_t{0};
  EXPECT_EQ(find(file_with(library), "other"), 0u);
  library = Library();
  library.symbols[2].st_name = 0xffffffff;
  EXPECT_EQ(find(file_with(library), "wanted"), 0u);
}

TEST_F(LoadedFileTest, ASegmentThatIsNotTheFirstTellsNoBias) {
  Library library;
  library.segment.p_offset = 0x1000;
  EXPECT_EQ(find(file_with(library), "wanted"), 0x7001'0040u);
  library.segment.p_type = PT_NOTE;
  EXPECT_EQ(find(file_with(library), "wanted"), 0x7001'0040u);
}

TEST_F(LoadedFileTest, TheMappedFileIsFoundUnlessItWasReplaced) {
  Mapping mapping;
  mapping.begin = 1;  // nothing is mapped there, as seen without root's rights
  mapping.end = 2;
  mapping.path = file_with(Library());
  EXPECT_EQ(mapped_file_from_outside(getpid(), mapping), "") << "another file has that name";
  std::error_code failure;
  for (const Mapping& each : mappings_of(getpid())) {
    if (each.path.find("libc.so") == std::string::npos) continue;
    EXPECT_TRUE(std::filesystem::exists(mapped_file_from_outside(getpid(), each), failure));
  }
  mapping.path = "/nowhere";
  EXPECT_EQ(mapped_file_from_outside(getpid(), mapping), "");
}

// Libraries that print stacks of calls do this, and do not unmap it.
TEST_F(LoadedFileTest, AFileThatIsAlsoMappedAsDataIsFoundWhereItsCodeIs) {
  const std::vector<Mapping> mappings = {
      mapping_of("/its/path", 0x6000'0000, false),      mapping_of("/its/path", 0x7000'0000, false),
      mapping_of("/its/path", 0x7000'1000, true, 4096), mapping_of("/its/path", 0x7100'0000, false),
      mapping_of("/other", 0x7200'0000, true, 4096),
  };
  EXPECT_EQ(find_function(mappings, "/its/path", file_with(Library()), "wanted"), 0x7000'0040u);
  EXPECT_EQ(object_with(mappings, mappings[2]), &mappings[1]);
  EXPECT_EQ(object_with(mappings, mappings[4]), nullptr);
}

TEST_F(LoadedFileTest, WhatALoadedObjectExportsIsKnownFromMemoryToo) {
  const std::vector<Mapping> mappings = mappings_of(getpid());
  const std::uint64_t libc = object_with(mappings, *find_file(mappings, "libc.so"))->begin;
  EXPECT_TRUE(may_export(getpid(), libc, "malloc"));
  EXPECT_TRUE(may_export(getpid(), libc, "dlopen"));
  EXPECT_FALSE(may_export(getpid(), libc, "mallo"));
  EXPECT_FALSE(may_export(getpid(), libc, "no such function"));
  EXPECT_FALSE(may_export(getpid(), 8, "malloc")) << "no memory";
  Library library;  // headers alone
  EXPECT_TRUE(may_export(getpid(), reinterpret_cast<std::uint64_t>(&library), "malloc"));
  library.header = Elf64_Ehdr{};
  EXPECT_FALSE(may_export(getpid(), reinterpret_cast<std::uint64_t>(&library), "malloc"));
}

TEST(Mappings, OfNobodyThereAreNone) { EXPECT_TRUE(mappings_of(1 << 30).empty()); }

TEST(Mappings, CodeIsFoundInItsOwnFileOnly) {
  const std::vector<Mapping> mappings = mappings_of(getpid());
  const Mapping* libc = find_file(mappings, "libc.so");
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(find_file(mappings, "no such library"), nullptr);
  EXPECT_EQ(mapping_from(mappings, libc->begin), libc);
  EXPECT_EQ(mapping_from(mappings, libc->begin + 1), nullptr);
  const std::string system_call = "\x0f\x05\xc3";
  const std::uint64_t at = find_code(getpid(), mappings, libc->path, system_call);
  ASSERT_NE(at, 0u);
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(at), system_call.data(), 3), 0);
  EXPECT_EQ(find_code(getpid(), mappings, "/nowhere", system_call), 0u);
  EXPECT_EQ(find_code(getpid(), mappings, libc->path, std::string(64, '\xa5')), 0u);
}

}  // namespace
}  // namespace fbleprof::attach
