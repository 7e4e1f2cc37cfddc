#include "launch/target.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

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

TEST(Explain, EachObstacleIsOneLine) {
  for (const Obstacle obstacle : {Obstacle::kStatic, Obstacle::kSetuid, Obstacle::kForeignElf}) {
    const std::string line = explain(obstacle, "prog");
    EXPECT_TRUE(line.starts_with("prog: "));
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace fbleprof::launch
