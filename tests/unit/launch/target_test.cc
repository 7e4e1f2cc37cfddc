#include "launch/target.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace fbleprof::launch {
namespace {

class Target : public testing::Test {
 protected:
  Target() {
    directory_ = std::filesystem::temp_directory_path().string() + "/fbleprof.launch.XXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
  }
  ~Target() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& bytes, mode_t mode = 0755) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string compile(const std::string& flags) {
    const std::string source = write("program.c", "int main(void) { return 0; }\n", 0644);
    const std::string command =
        "gcc " + flags + " " + source + " -o " + directory_ + "/program 2>/dev/null";
    return std::system(command.c_str()) == 0 ? directory_ + "/program" : "";
  }

  std::string directory_;
};

TEST_F(Target, IsFoundAlongThePathAsAShellWould) {
  write("a.txt", "", 0644);
  const std::string path = "/nowhere:" + directory_ + ":/bin";
  EXPECT_EQ(find_program("sh", path.c_str()).path, "/bin/sh");
  EXPECT_EQ(find_program("sh", nullptr).error, 0);
  EXPECT_EQ(find_program("nosuchprogram", path.c_str()).path, "");
  EXPECT_EQ(find_program("", path.c_str()).path, "");
  EXPECT_EQ(find_program("a.txt", path.c_str()).error, EACCES);
  EXPECT_EQ(find_program("/bin/nosuchprogram", path.c_str()).path, "");
  EXPECT_EQ(find_program(directory_, "").error, EISDIR);
}

TEST_F(Target, OfAScriptIsTheProgramThatRunsIt) {
  const auto program = [this](const std::string& first_line) {
    return program_of(write("script", first_line + "\nrest\n"), "/bin");
  };
  EXPECT_EQ(program("#!/bin/sh -e"), "/bin/sh");
  EXPECT_EQ(program("#! /usr/bin/env sh"), "/bin/sh");
  EXPECT_EQ(program("#!/usr/bin/env -S A=B sh -e"), "/bin/sh");
  EXPECT_EQ(program("#!/usr/bin/env nosuchprogram"), "");
  EXPECT_EQ(program("echo"), directory_ + "/script");
  const std::string outer = write("outer", "#!" + directory_ + "/script\n");
  write("script", "#!/bin/sh");
  EXPECT_EQ(program_of(outer, "/bin"), "/bin/sh");
}

TEST_F(Target, HoldsTextsAnywhere) {
  const std::string path = write("text", std::string("a\0luaL_newstate\0b", 17));
  EXPECT_TRUE(holds_text(path, {"nothing", "luaL_newstate"}));
  EXPECT_FALSE(holds_text(path, {"nothing"}));
  EXPECT_FALSE(holds_text(directory_ + "/nowhere", {"a"}));
}

TEST_F(Target, NamesDynamicSymbols) {
  EXPECT_TRUE(names_symbol("/proc/self/exe", "memcpy"));
  EXPECT_FALSE(names_symbol("/proc/self/exe", "no_such_name_of_a_symbol"));
  EXPECT_FALSE(names_symbol(write("text", std::string("\0memcpy", 8)), "memcpy"));
  EXPECT_FALSE(names_symbol(directory_ + "/nowhere", "memcpy"));
}

TEST_F(Target, ThatCanBeRunWinsOverOneThatCannot) {
  write("sh", "", 0644);
  const std::string path = directory_ + ":/bin";
  EXPECT_EQ(find_program("sh", path.c_str()).path, "/bin/sh");
}

TEST_F(Target, ThatIsDynamicCanBeProfiled) {
  EXPECT_EQ(obstacle_of(compile("")), Obstacle::kNone);
  EXPECT_EQ(obstacle_of(compile("-no-pie")), Obstacle::kNone);
  EXPECT_EQ(obstacle_of("/bin/sh"), Obstacle::kNone);
  EXPECT_EQ(obstacle_of("/lib64/ld-linux-x86-64.so.2"), Obstacle::kNone);
}

TEST_F(Target, ThatIsStaticCannot) {
  for (const char* flags : {"-static", "-static-pie"}) {
    const std::string program = compile(flags);
    if (program.empty()) continue;
    EXPECT_EQ(obstacle_of(program), Obstacle::kStatic) << flags;
    EXPECT_EQ(obstacle_of(write("script", "#! " + program + " -x\n")), Obstacle::kStatic);
  }
}

// musl's dynamic linker would end it.
TEST_F(Target, ThatNeedsMuslCannot) {
  const std::string linker = "-Wl,--dynamic-linker=/lib/ld-";
  EXPECT_EQ(obstacle_of(compile(linker + "musl-x86_64.so.1")), Obstacle::kMusl);
  EXPECT_EQ(obstacle_of(compile(linker + "linux-x86-64.so.2")), Obstacle::kNone);
}

TEST_F(Target, ThatGainsRightsCannot) {
  const std::string program = compile("");
  // Our own file with the bit set changes nothing.
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  EXPECT_EQ(obstacle_of(program), Obstacle::kNone);
  if (chown(program.c_str(), geteuid() + 1, getegid()) != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  EXPECT_EQ(obstacle_of(program), Obstacle::kSetuid);
}

TEST_F(Target, ThatIsForeignCannot) {
  std::string header(64, '\0');
  header.replace(0, 7,
                 std::string("\x7f"
                             "ELF\x01\x01\x01",
                             7));
  header[18] = EM_386;
  EXPECT_EQ(obstacle_of(write("i386", header)), Obstacle::kForeignElf);
}

TEST_F(Target, ThatIsDamagedIsNoObstacle) {
  EXPECT_EQ(obstacle_of(write("empty", "")), Obstacle::kNone);
  EXPECT_EQ(obstacle_of(write("script", "#!")), Obstacle::kNone);
  EXPECT_EQ(obstacle_of(write("half",
                              "\x7f"
                              "ELF")),
            Obstacle::kNone);
  EXPECT_EQ(obstacle_of(write("loop", "#!" + directory_ + "/loop\n")), Obstacle::kNone);
  EXPECT_EQ(obstacle_of(directory_ + "/missing"), Obstacle::kNone);
}

// A program of two segments: all of the file at address 0, and the dynamic section. Its string
// table is `names`; the first name begins at 1.
std::string elf_with(const std::string& names, const std::vector<Elf64_Dyn>& more) {
  constexpr std::size_t kDynamicAt = 64 + 2 * sizeof(Elf64_Phdr);
  std::vector<Elf64_Dyn> dynamic = more;
  const std::size_t names_at = kDynamicAt + (dynamic.size() + 3) * sizeof(Elf64_Dyn);
  const auto add = [&](Elf64_Sxword tag, std::uint64_t value) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    dynamic.push_back(entry);
  };
  add(DT_STRTAB, names_at);
  add(DT_STRSZ, names.size());
  add(DT_NULL, 0);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident,
              "\x7f"
              "ELF\x02\x01\x01",
              7);
  header.e_machine = EM_X86_64;
  header.e_phoff = 64;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr segments[2] = {};
  segments[0].p_type = PT_LOAD;
  segments[0].p_filesz = names_at + names.size();
  segments[1].p_type = PT_DYNAMIC;
  segments[1].p_offset = kDynamicAt;
  segments[1].p_filesz = dynamic.size() * sizeof(Elf64_Dyn);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(segments), sizeof segments);
  bytes.append(reinterpret_cast<const char*>(dynamic.data()), dynamic.size() * sizeof(Elf64_Dyn));
  return bytes + names;
}

Elf64_Dyn dynamic_entry(Elf64_Sxword tag, std::uint64_t value) {
  Elf64_Dyn entry{};
  entry.d_tag = tag;
  entry.d_un.d_val = value;
  return entry;
}

const std::string kNames("\0libasan.so.8\0a_symbol\0", 23);

TEST_F(Target, ThatNeedsAsanIsKnownByTheLibrary) {
  EXPECT_TRUE(has_shared_asan(write("asan", elf_with(kNames, {dynamic_entry(DT_NEEDED, 1)}))));
  EXPECT_FALSE(has_shared_asan(write("other", elf_with(kNames, {dynamic_entry(DT_NEEDED, 14)}))));
  EXPECT_FALSE(has_shared_asan(write("wild", elf_with(kNames, {dynamic_entry(DT_NEEDED, 999)}))));
  EXPECT_FALSE(has_shared_asan(write("none", elf_with(kNames, {}))));
  EXPECT_FALSE(has_shared_asan(directory_ + "/nowhere"));
}

TEST_F(Target, ThatIsAPositionIndependentStaticProgramHasAFlag) {
  const auto obstacle = [&](std::uint64_t flags) {
    return obstacle_of(write("pie", elf_with(kNames, {dynamic_entry(DT_FLAGS_1, flags)})));
  };
  EXPECT_EQ(obstacle(DF_1_PIE), Obstacle::kStatic);
  EXPECT_EQ(obstacle(DF_1_NOW), Obstacle::kNone);
  EXPECT_EQ(obstacle_of(write("linker", elf_with(kNames, {}))), Obstacle::kNone);
}

// Of a program whose file is damaged nothing is known, wherever the damage is.
TEST_F(Target, ThatIsCutAnywhereIsNoObstacle) {
  const std::string whole =
      elf_with(kNames, {dynamic_entry(DT_NEEDED, 1), dynamic_entry(DT_FLAGS_1, DF_1_PIE)});
  ASSERT_TRUE(names_symbol(write("whole", whole), "a_symbol"));
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
    const std::string path = write("cut", whole.substr(0, size));
    EXPECT_FALSE(names_symbol(path, "a_symbol")) << size;
    EXPECT_FALSE(has_shared_asan(path)) << size;
    const std::size_t dynamic_ends = whole.size() - kNames.size() - 3 * sizeof(Elf64_Dyn);
    if (size < dynamic_ends) EXPECT_EQ(obstacle_of(path), Obstacle::kNone) << size;
  }
}

TEST_F(Target, WithHeadersOfAnotherSizeIsUnknown) {
  std::string bytes = elf_with(kNames, {dynamic_entry(DT_FLAGS_1, DF_1_PIE)});
  reinterpret_cast<Elf64_Ehdr*>(bytes.data())->e_phentsize = 32;
  EXPECT_EQ(obstacle_of(write("odd", bytes)), Obstacle::kNone);
  EXPECT_FALSE(names_symbol(write("odd", bytes), "a_symbol"));
  bytes = elf_with(kNames, {});
  bytes[EI_CLASS] = ELFCLASS64;
  reinterpret_cast<Elf64_Ehdr*>(bytes.data())->e_machine = EM_AARCH64;
  EXPECT_EQ(obstacle_of(write("arm", bytes)), Obstacle::kForeignElf);
}

TEST_F(Target, WhoseStringsAreInNoSegmentHasNoNames) {
  std::string bytes = elf_with(kNames, {});
  auto* segment = reinterpret_cast<Elf64_Phdr*>(bytes.data() + 64);
  segment->p_vaddr = 1 << 20;  // above the string table
  EXPECT_FALSE(names_symbol(write("above", bytes), "a_symbol"));
  segment->p_vaddr = 0;
  segment->p_filesz = 64;  // ends before it
  EXPECT_FALSE(names_symbol(write("below", bytes), "a_symbol"));
}

TEST_F(Target, OfAnotherGroupGainsRights) {
  const std::string program = compile("");
  if (chown(program.c_str(), geteuid(), getegid() + 1) != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(chmod(program.c_str(), 02755), 0);
  EXPECT_EQ(obstacle_of(program), Obstacle::kSetuid);
}

TEST_F(Target, IsSearchedInThisDirectoryForAnEmptyPart) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  write("own", "");
  EXPECT_EQ(find_program("own", ":/bin").path, "./own");
  EXPECT_EQ(find_program("own", "/bin:").path, "./own");
  EXPECT_EQ(find_program("own", "/bin").error, ENOENT);
  std::filesystem::current_path(before);
  EXPECT_EQ(find_program(directory_ + "/own/below", "").error, ENOENT) << "no folder";
}

TEST_F(Target, AScriptsEnvWithoutAProgramNamesNone) {
  EXPECT_EQ(program_of(write("script", "#!/usr/bin/env -i A=B\n"), "/bin"), "");
  const std::string loop = directory_ + "/loop";
  EXPECT_EQ(program_of(write("loop", "#!" + loop + "\n"), "/bin"), loop);
}

TEST_F(Target, ThatHasAnAllocatorIsKnownByItsMessages) {
  EXPECT_EQ(linked_allocator(write("a", "x<jemalloc>: Error")), "jemalloc");
  EXPECT_EQ(linked_allocator(write("b", "tcmalloc: large alloc %d")), "tcmalloc");
  EXPECT_EQ(linked_allocator(write("c", "mimalloc: error: ")), "mimalloc");
  EXPECT_EQ(linked_allocator(write("d", "malloc")), "");
  EXPECT_EQ(linked_allocator(write("e", "")), "");
  EXPECT_EQ(linked_allocator(directory_ + "/nowhere"), "");
  EXPECT_EQ(linked_allocator(directory_), "");
}

TEST_F(Target, AnOutputThatCannotBeWrittenSaysWhy) {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const std::string path = directory_ + "/mlmon.out";
  EXPECT_EQ(obstacle_of_output(path, "it"), "");
  EXPECT_EQ(obstacle_of_output("", "it"), "");
  EXPECT_EQ(obstacle_of_output("/nowhere/%p.out", "it"), "") << "known when the program runs";
  EXPECT_TRUE(has(obstacle_of_output("/nowhere/a.out", "it"), "No such file or directory"));
  EXPECT_TRUE(has(obstacle_of_output("/proc/a.out", "it"), "no profile can be written there"));
  write("mlmon.out", "");
  EXPECT_EQ(obstacle_of_output(path, "it"), "") << "empty";
  write("mlmon.out", "FBLEPROF and more");
  EXPECT_EQ(obstacle_of_output(path, "it"), "") << "a profile";
  std::filesystem::create_hard_link(path, directory_ + "/second");
  EXPECT_TRUE(has(obstacle_of_output(path, "it"), "not a regular file that only you own"));
  std::filesystem::remove(directory_ + "/second");
  if (chown(path.c_str(), geteuid() + 1, getegid()) == 0) {
    EXPECT_TRUE(has(obstacle_of_output(path, "it"), "not a regular file that only you own"));
  }
  std::filesystem::remove(path);
  write("mlmon.out", "a letter");
  EXPECT_TRUE(has(obstacle_of_output(path, "it"), "is not a profile"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/nowhere", path);
  EXPECT_TRUE(has(obstacle_of_output(path, "it"), "not a regular file that only you own"));
  const rlimit small = {4096, RLIM_INFINITY};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_TRUE(has(obstacle_of_output(path, "it"), "ulimit -f"));
  setrlimit(RLIMIT_FSIZE, &before);
}

TEST(Explain, EachObstacleIsOneLine) {
  EXPECT_EQ(explain(Obstacle::kNone, "prog"), "");
  for (const Obstacle obstacle :
       {Obstacle::kStatic, Obstacle::kSetuid, Obstacle::kForeignElf, Obstacle::kMusl}) {
    const std::string line = explain(obstacle, "prog");
    EXPECT_TRUE(line.starts_with("prog: "));
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace fbleprof::launch
