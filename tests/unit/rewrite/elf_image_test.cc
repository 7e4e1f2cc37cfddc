// Files that are not rewritten, and why; damaged ones are read within their bytes.
#include "rewrite/elf_image.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "rewrite/analysis.h"
#include "rewrite/decoder.h"

namespace fbleprof::rewrite {
namespace {

// A library of one page of code, with an unwind header, a dynamic section and two symbols.
struct Library {
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> parts;
  Elf64_Shdr section{}, other_section{};
  Elf64_Dyn dynamic[6]{};
  char names[32] = "\0wanted\0other";
  Elf64_Sym symbols[2]{};
  std::uint8_t code[64]{};

  static constexpr std::size_t kParts = 16;
  static constexpr std::size_t kData = sizeof(Elf64_Ehdr) + kParts * sizeof(Elf64_Phdr);
  static constexpr std::size_t kSection = kData, kDynamic = kSection + 2 * sizeof section,
                               kNames = kDynamic + sizeof dynamic, kSymbols = kNames + sizeof names,
                               kCode = kSymbols + sizeof symbols, kEnd = kCode + sizeof code;

  Library() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = EM_X86_64;
    header.e_type = ET_DYN;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phoff = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shoff = kSection;
    header.e_shnum = 1;
    add({.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = kEnd, .p_memsz = kEnd});
    add({.p_type = PT_DYNAMIC, .p_vaddr = kDynamic});
    add({.p_type = PT_GNU_EH_FRAME, .p_vaddr = kCode});
    section.sh_type = SHT_DYNSYM;
    section.sh_offset = kSymbols;
    section.sh_size = sizeof symbols;
    symbols[1].st_shndx = 1;
    symbols[1].st_value = kCode;
    symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    dynamic[0] = {DT_STRTAB, {kNames}};
    dynamic[1] = {DT_STRSZ, {sizeof names}};
    dynamic[2] = {DT_SYMTAB, {kSymbols}};
  }
  void add(const Elf64_Phdr& part) { parts.push_back(part); }

  std::string bytes() const {
    std::string bytes(kEnd, 0);
    const auto put = [&bytes](std::size_t at, const void* from, std::size_t size) {
      std::memcpy(bytes.data() + at, from, size);
    };
    Elf64_Ehdr head = header;
    if (head.e_phnum == 0) head.e_phnum = static_cast<Elf64_Half>(parts.size());
    put(0, &head, sizeof head);
    put(sizeof head, parts.data(), std::min(parts.size(), kParts) * sizeof(Elf64_Phdr));
    put(kSection, &section, sizeof section);
    put(kSection + sizeof section, &other_section, sizeof other_section);
    put(kDynamic, dynamic, sizeof dynamic);
    put(kNames, names, sizeof names);
    put(kSymbols, symbols, sizeof symbols);
    put(kCode, code, sizeof code);
    return bytes;
  }
};

class ElfImageTest : public testing::Test {
 protected:
  ~ElfImageTest() override { std::filesystem::remove_all(directory_); }

  std::string file_with(const std::string& bytes) {
    const std::string path = directory_ + "/library";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string fault_of(const std::string& bytes) { return ElfImage().open(file_with(bytes)); }
  std::string fault_of(const Library& library) { return fault_of(library.bytes()); }

 private:
  std::string directory_ = [] {
    std::string name = testing::TempDir() + "/fbleprof-rewrite.XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
};

TEST_F(ElfImageTest, AWholeLibraryIsRead) {
  ElfImage image;
  ASSERT_EQ(image.open(file_with(Library().bytes())), "");
  EXPECT_TRUE(image.names("wanted"));
  EXPECT_FALSE(image.names("want"));
  EXPECT_TRUE(image.is_relocatable());
  ASSERT_EQ(image.symbols().size(), 1u);
  EXPECT_EQ(image.symbols()[0].address, Library::kCode);
  EXPECT_EQ(image.end_of_segment(Library::kCode), Library::kEnd);
  EXPECT_EQ(image.end_of_segment(1 << 20), 1u << 20) << "of no segment";
  EXPECT_EQ(image.at(Library::kEnd - 4, 8), nullptr);
}

TEST_F(ElfImageTest, WithoutSectionsTheDynamicSymbolsAreKnown) {
  Library library;
  library.header.e_shnum = 0;
  // The names follow the symbols.
  std::swap(library.dynamic[0].d_un.d_val, library.dynamic[2].d_un.d_val);
  library.dynamic[0].d_un.d_val = Library::kCode;
  library.dynamic[2].d_un.d_val = Library::kSymbols;
  ElfImage image;
  ASSERT_EQ(image.open(file_with(library.bytes())), "");
  EXPECT_EQ(image.symbols().size(), 1u);
}

TEST_F(ElfImageTest, PartsOfFunctionsAreKnownByTheEndOfTheirNames) {
  const auto is_part = [this](std::string_view name) {
    Library library;
    library.header.e_shnum = 2;
    library.other_section = {
        .sh_type = SHT_STRTAB, .sh_offset = Library::kNames, .sh_size = sizeof library.names};
    library.section.sh_link = 1;
    std::memset(library.names, 0, sizeof library.names);
    name.copy(library.names + 1, sizeof library.names - 2);
    library.symbols[1].st_name = 1;
    ElfImage image;
    EXPECT_EQ(image.open(file_with(library.bytes())), "");
    return image.symbols().at(0).is_part;
  };
  for (const char* name : {"f.cold", "f.cold.12", "f.constprop.0.cold", "db.coldLoad.cold",
                           "f.__part.3", "f.__part.x.__part.1"}) {
    EXPECT_TRUE(is_part(name)) << name;
  }
  for (const char* name : {"f", "cold", "db.coldLoad", "x..cold_storage..Y", "x..cold..Y",
                           "db.__part.load", "f.__part."}) {
    EXPECT_FALSE(is_part(name)) << name;
  }
}

TEST_F(ElfImageTest, WhatIsNoLibraryIsRefused) {
  EXPECT_EQ(ElfImage().open("/nowhere"), "No such file or directory");
  EXPECT_EQ(fault_of("short"), "it cannot be read");
  const auto with = [](auto change) {
    Library library;
    change(library.header);
    return library;
  };
  constexpr char kNone[] = "it is no program or library for this processor";
  EXPECT_EQ(fault_of(with([](Elf64_Ehdr& head) { head.e_ident[0] = 'X'; })), kNone);
  EXPECT_EQ(fault_of(with([](Elf64_Ehdr& head) { head.e_ident[EI_CLASS] = ELFCLASS32; })), kNone);
  EXPECT_EQ(fault_of(with([](Elf64_Ehdr& head) { head.e_machine = EM_AARCH64; })), kNone);
  EXPECT_EQ(fault_of(with([](Elf64_Ehdr& head) { head.e_type = ET_REL; })), kNone);
  EXPECT_EQ(fault_of(with([](Elf64_Ehdr& head) { head.e_type = ET_EXEC; })), "");
  constexpr char kDamaged[] = "its program headers are damaged";
  EXPECT_EQ(fault_of(with([](Elf64_Ehdr& head) { head.e_phentsize = 8; })), kDamaged);
  EXPECT_EQ(fault_of(with([](Elf64_Ehdr& head) { head.e_phoff = ~0ull; })), kDamaged);
  EXPECT_EQ(fault_of(with([](Elf64_Ehdr& head) { head.e_phnum = 9999; })), kDamaged);
}

TEST_F(ElfImageTest, SegmentsThatCannotBeRewrittenAreNamed) {
  const auto with = [](auto change) {
    Library library;
    change(library);
    return library;
  };
  constexpr char kDamaged[] = "its segments are damaged, or beyond 4 GB";
  EXPECT_EQ(fault_of(with([](Library& one) { one.parts[0].p_offset = 1 << 20; })), kDamaged);
  EXPECT_EQ(fault_of(with([](Library& one) { one.parts[0].p_filesz = 1 << 20; })), kDamaged);
  EXPECT_EQ(fault_of(with([](Library& one) { one.parts[0].p_vaddr = 1ull << 32; })), kDamaged);
  EXPECT_EQ(fault_of(with([](Library& one) { one.parts[0].p_vaddr = ~0ull - 8; })), kDamaged)
      << "its end is a small number again";
  EXPECT_EQ(fault_of(with([](Library& one) {
              one.parts[0].p_vaddr = UINT32_MAX - 8;
              one.parts[0].p_memsz = 8;
            })),
            kDamaged)
      << "more is in the file than in memory";
  EXPECT_EQ(fault_of(with([](Library& one) { one.parts[0].p_flags |= PF_W; })),
            "its code is writable");
  EXPECT_EQ(fault_of(with([](Library& one) { one.parts[0].p_flags = PF_X; })),
            "its code may only be run, not read");
  EXPECT_EQ(fault_of(with([](Library& one) { one.parts[0].p_flags = PF_R; })),
            "it has no unwind table");
  EXPECT_EQ(fault_of(with([](Library& one) { one.parts.pop_back(); })), "it has no unwind table");
  const Elf64_Phdr code{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x10000};
  Elf64_Phdr data = code;
  data.p_flags = PF_R;
  EXPECT_EQ(fault_of(with([&](Library& one) {
              one.add(data);
              one.add(code);
            })),
            "its segments of code are apart");
  EXPECT_EQ(fault_of(with([&](Library& one) { one.add(one.parts[0]); })),
            "its segments of code are apart");
  EXPECT_EQ(fault_of(with([&](Library& one) {
              one.add(code);
              one.parts.back().p_vaddr = 0x70000000;
            })),
            "its segments of code are apart");
  EXPECT_EQ(fault_of(with([&](Library& one) {
              for (std::uint64_t i = 0; i <= plan::kMostSegments; ++i) {
                one.add(code);
                one.parts.back().p_vaddr += i << 12;
              }
            })),
            "it has too many segments of code");
}

TEST_F(ElfImageTest, InstructionsEndInTheirSegment) {
  Library library;
  library.code[0] = 0xc3;
  library.code[31] = 0xe8;  // a call, of which the rest is in the next segment
  constexpr std::uint64_t kNext = Library::kCode + 32;
  library.parts[0].p_filesz = library.parts[0].p_memsz = kNext;
  library.add({.p_type = PT_LOAD,
               .p_flags = PF_R | PF_X,
               .p_offset = kNext,
               .p_vaddr = kNext,
               .p_filesz = Library::kEnd - kNext,
               .p_memsz = Library::kEnd - kNext});
  ElfImage image;
  ASSERT_EQ(image.open(file_with(library.bytes())), "");
  Decoder decoder(image);
  Instruction instruction;
  EXPECT_TRUE(decoder.decode(Library::kCode, image.text_end(), &instruction));
  EXPECT_TRUE(decoder.decode(kNext, image.text_end(), &instruction));
  EXPECT_FALSE(decoder.decode(kNext - 1, image.text_end(), &instruction));
}

// The library takes the rounding of some for a constant behind the operands.
TEST_F(ElfImageTest, InstructionsWithARoundingOfTheirOwnEndBehindTheirOperands) {
  struct Case {
    const char* name;
    std::uint8_t prefix[2], opcode;
  };
  constexpr Case kCases[] = {
      {"vaddpd", {0xf1, 0xf5}, 0x58},         {"vaddps", {0xf1, 0x74}, 0x58},
      {"vsubpd", {0xf1, 0xf5}, 0x5c},         {"vsubps", {0xf1, 0x74}, 0x5c},
      {"vmulpd", {0xf1, 0xf5}, 0x59},         {"vmulps", {0xf1, 0x74}, 0x59},
      {"vdivpd", {0xf1, 0xf5}, 0x5e},         {"vdivps", {0xf1, 0x74}, 0x5e},
      {"vscalefpd", {0xf2, 0xf5}, 0x2c},      {"vscalefps", {0xf2, 0x75}, 0x2c},
      {"vfmadd132pd", {0xf2, 0xf5}, 0x98},    {"vfmadd213pd", {0xf2, 0xf5}, 0xa8},
      {"vfmadd231ps", {0xf2, 0x75}, 0xb8},    {"vfnmadd231pd", {0xf2, 0xf5}, 0xbc},
      {"vfmaddsub213ps", {0xf2, 0x75}, 0xa6}, {"vfmsub231pd", {0xf2, 0xf5}, 0xba},
      {"vsqrtpd", {0xf1, 0xfd}, 0x51},        {"vcvtpd2dq", {0xf1, 0xff}, 0xe6},
      {"vcvtdq2ps", {0xf1, 0x7c}, 0x5b},      {"vcvtps2dq", {0xf1, 0x7d}, 0x5b},
      {"vcvtps2udq", {0xf1, 0x7c}, 0x79},     {"vcvtudq2ps", {0xf1, 0x7f}, 0x7a},
      {"vcvtqq2pd", {0xf1, 0xfe}, 0xe6},      {"vcvtpd2ps", {0xf1, 0xfd}, 0x5a},
      {"vaddss", {0xf1, 0x76}, 0x58},         {"vmulsd", {0xf1, 0xf7}, 0x59},
      {"vsqrtsd", {0xf1, 0xf7}, 0x51},        {"vfmadd213sd", {0xf2, 0xf5}, 0xa9},
      {"vfmadd231ss", {0xf2, 0x75}, 0xb9},    {"vscalefsd", {0xf2, 0xf5}, 0x2d},
      {"vdivss", {0xf1, 0x76}, 0x5e},
  };
  constexpr std::uint8_t kRegisters = 0xc2;
  for (const Case& each : kCases) {
    for (const int rounding : {0, 1, 2, 3}) {      // rn, rd, ru, rz
      for (const int mask : {0x00, 0x01, 0x81}) {  // none, {%k1}, {%k1}{z}
        const auto third = static_cast<std::uint8_t>(0x18 | rounding << 5 | mask);
        Library library;
        const std::uint8_t code[] = {0x62,  each.prefix[0], each.prefix[1],
                                     third, each.opcode,    kRegisters};
        std::memcpy(library.code, code, sizeof code);
        ElfImage image;
        ASSERT_EQ(image.open(file_with(library.bytes())), "");
        Instruction instruction;
        ASSERT_TRUE(Decoder(image).decode(Library::kCode, image.text_end(), &instruction));
        EXPECT_EQ(instruction.length, sizeof code) << each.name << " " << rounding << " " << mask;
        EXPECT_EQ(instruction.kind, Instruction::Kind::kPlain);
      }
    }
  }
}

TEST_F(ElfImageTest, CodeThatTheLoaderChangesIsRefused) {
  Library library;
  library.dynamic[3] = {DT_TEXTREL, {0}};
  EXPECT_EQ(fault_of(library), "the loader changes its code");
  library.dynamic[3] = {DT_FLAGS, {DF_TEXTREL}};
  EXPECT_EQ(fault_of(library), "the loader changes its code");
}

TEST_F(ElfImageTest, OffsetsBehindTheEndLeadNowhere) {
  Library library;
  library.section.sh_offset = 1 << 20;
  ElfImage image;
  ASSERT_EQ(image.open(file_with(library.bytes())), "");
  EXPECT_EQ(image.symbols().size(), 0u) << "the names do not follow the symbols";
  library = Library();
  library.section.sh_size = 1 << 20;
  library.header.e_shoff = Library::kEnd + 1;
  library.dynamic[1].d_un.d_val = 1 << 20;
  ElfImage another;
  ASSERT_EQ(another.open(file_with(library.bytes())), "");
  EXPECT_EQ(another.symbols().size(), 0u);
  EXPECT_FALSE(another.names("wanted"));
  library.dynamic[1].d_un.d_val = 0;
  ElfImage nameless;
  ASSERT_EQ(nameless.open(file_with(library.bytes())), "");
  EXPECT_FALSE(nameless.names("wanted"));
  library.parts[1].p_type = PT_NULL;
  ElfImage is_static;
  ASSERT_EQ(is_static.open(file_with(library.bytes())), "");
  EXPECT_EQ(is_static.dynamic(DT_STRTAB), 0u);
}

// Each 8 bytes of the tables, as a very small and a very large number; and each length.
TEST_F(ElfImageTest, DamageAnywhereGivesAPlanAllTheSame) {
  const std::string whole = Library().bytes();
  for (std::size_t at = 16; at + 8 <= whole.size(); at += 8) {
    for (const std::uint64_t value : {0ull, 1ull, ~0ull, 0x7fffffffull, 1ull << 63}) {
      std::string damaged = whole;
      std::memcpy(damaged.data() + at, &value, sizeof value);
      EXPECT_FALSE(analyse(file_with(damaged)).plan.empty()) << at;
    }
  }
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 24) {
    const Analysis analysis = analyse(file_with(whole.substr(0, bytes)));
    EXPECT_FALSE(analysis.plan.empty()) << bytes;
    EXPECT_FALSE(analysis.error.empty()) << bytes;
  }
}

}  // namespace
}  // namespace fbleprof::rewrite
