// What the recorder learns of the process around it, and takes from it: plans, stacks, memory,
// symbols of libraries, the environment of the next program.
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "capture/loader_symbols.h"
#include "capture/next_environment.h"
#include "capture/own_memory.h"
#include "capture/plans.h"
#include "capture/process_facts.h"
#include "capture/profile.h"
#include "capture/stack_bounds.h"
#include "capture/text_memory.h"
#include "plan/file_stamp.h"
#include "signal_safe/session.h"
#include "tests/support/no_resources.h"
#include "tests/unit/capture/started_session.h"

namespace fbleprof::capture {
namespace {

namespace fs = std::filesystem;
using signal_safe::session;
using test::NoDescriptors;
using test::NoMemory;

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

// -- Plans --

class Plans : public test::StartedSession {
 protected:
  ~Plans() override { fs::remove_all(directory_); }

  static plan::Header good_header() {
    plan::Header header{};
    std::memcpy(header.magic, plan::kMagic, sizeof header.magic);
    header.version = plan::kVersion;
    return header;
  }
  static std::string bytes_of(const plan::Header& header) {
    return std::string(reinterpret_cast<const char*>(&header), sizeof header);
  }
  bool opens(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    chmod(path_.c_str(), 0600);
    Plan plan;
    return plan.open(path_.c_str()) && static_cast<bool>(plan);
  }

  std::string directory_ = [] {
    std::string name = testing::TempDir() + "/fbleprof-plans.XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
  std::string path_ = directory_ + "/some.plan";
};

TEST_F(Plans, DamagedOnesAreRefused) {
  const std::string good = bytes_of(good_header());
  EXPECT_TRUE(opens(good));
  EXPECT_FALSE(opens(""));
  EXPECT_FALSE(opens(good.substr(1)));
  EXPECT_FALSE(opens(good + "x")) << "longer than it says";
  plan::Header header = good_header();
  header.magic[0] ^= 1;
  EXPECT_FALSE(opens(bytes_of(header)));
  header = good_header();
  header.version += 1;
  EXPECT_FALSE(opens(bytes_of(header)));
  header = good_header();
  header.segment_count = plan::kMostSegments + 1;
  EXPECT_FALSE(opens(bytes_of(header)));
  header = good_header();
  std::memset(header.error, 'e', sizeof header.error);
  EXPECT_FALSE(opens(bytes_of(header)));
  header = good_header();
  header.refusals = 1;
  EXPECT_FALSE(opens(bytes_of(header)));
  EXPECT_TRUE(opens(bytes_of(header) + std::string(sizeof(plan::Refusal), 0)));
}

TEST_F(Plans, OthersFilesAreRefused) {
  EXPECT_TRUE(opens(bytes_of(good_header())));
  Plan plan;
  EXPECT_FALSE(plan.open((directory_ + "/none").c_str()));
  EXPECT_FALSE(plan.open(directory_.c_str())) << "a folder";
  fs::create_symlink(path_, directory_ + "/link");
  EXPECT_FALSE(plan.open((directory_ + "/link").c_str()));
  for (const mode_t mode : {0620u, 0602u}) {
    chmod(path_.c_str(), mode);
    EXPECT_FALSE(plan.open(path_.c_str())) << "others may write to it";
  }
  chmod(path_.c_str(), 0600);
  {
    const NoMemory none;
    EXPECT_FALSE(plan.open(path_.c_str()));
  }
  if (geteuid() == 0) {
    EXPECT_EQ(chown(path_.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(plan.open(path_.c_str())) << "another user's";
  }
}

TEST_F(Plans, AreNamedByTheBuildIdAndTheFile) {
  format::Module module{};
  EXPECT_TRUE(plan_path("/plans", module).empty()) << "it has no file";
  module.path = string("/nowhere/library.so");
  EXPECT_TRUE(plan_path("/plans", module).empty()) << "the file is gone";
  module.path = string(path_);
  std::ofstream(path_) << "some bytes";
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  const std::string first = plan_path("/plans", module).c_str();
  EXPECT_EQ(first.rfind("/plans/-", 0), 0u) << first;
  std::ofstream(path_, std::ios::app) << "more";
  EXPECT_NE(first, plan_path("/plans", module).c_str()) << "another file now";
  module.build_id = string(std::string("\x01\xfe\x80", 3));
  const auto name = [&](const char* suffix) {
    EXPECT_EQ(stat(path_.c_str(), &status), 0);
    return std::string("/plans/01fe80") + plan::FileMark(status, true).text + suffix;
  };
  EXPECT_EQ(plan_path("/plans", module).c_str(), name(".plan"));
  EXPECT_EQ(plan_path("/plans", module, ".left").c_str(), name(".left"));
  const std::string second = plan_path("/plans", module).c_str();
  std::ofstream(path_, std::ios::app) << "and more";
  EXPECT_NE(second, plan_path("/plans", module).c_str()) << "strip keeps the build-id";
  EXPECT_EQ(plan_path("/plans", module).c_str(), name(".plan"));
  const fs::path copy = directory_ + "/copy";
  fs::copy_file(path_, copy);
  fs::last_write_time(copy, fs::last_write_time(path_));
  module.path = string(copy);
  EXPECT_EQ(plan_path("/plans", module).c_str(), name(".plan")) << "a copy with its time";
  module.path = string("/nowhere/library.so");
  EXPECT_TRUE(plan_path("/plans", module).empty()) << "the file is gone";
  module.begin = getauxval(AT_SYSINFO_EHDR);
  EXPECT_STREQ(plan_path("/plans", module, ".left").c_str(), "/plans/01fe80.left") << "the vdso";
}

TEST_F(Plans, OneThatIsKeptComesBeforeItsFile) {
  static plan::Header kept[2] = {good_header(), good_header()};
  format::Module module{};
  module.begin = 0x10000;
  module.path = string(path_);
  std::ofstream(path_) << "some bytes";
  module.build_id = string("ab");
  Plan plan;
  EXPECT_FALSE(plan.open_of(module, directory_.c_str()));
  const std::string in_folder = plan_path(directory_.c_str(), module).c_str();
  std::ofstream(in_folder, std::ios::binary) << bytes_of(good_header());
  chmod(in_folder.c_str(), 0600);
  EXPECT_TRUE(plan.open_of(module, directory_.c_str()));
  const auto keep = [](std::uint64_t begin, const plan::Header& header) {
    return keep_plan({begin, reinterpret_cast<const char*>(&header), sizeof header});
  };
  EXPECT_TRUE(keep(module.begin, kept[0]));
  Plan of_memory;
  EXPECT_TRUE(of_memory.open_of(module, directory_.c_str()));
  EXPECT_EQ(&of_memory.header(), &kept[0]);
  EXPECT_TRUE(keep(module.begin, kept[1])) << "in place of the other";
  EXPECT_TRUE(of_memory.open_of(module, directory_.c_str()));
  EXPECT_EQ(&of_memory.header(), &kept[1]);
  kept[1].version += 1;
  EXPECT_FALSE(of_memory.open_of(module, directory_.c_str()));
  kept[1].version -= 1;
  for (int i = 1; i < kMostKeptPlans; ++i) {
    EXPECT_TRUE(keep(module.begin + 4096u * static_cast<unsigned>(i), kept[0]));
  }
  EXPECT_FALSE(keep(1, kept[0])) << "there are too many";
  EXPECT_TRUE(keep(module.begin, kept[0])) << "a place that it has";
}

TEST_F(Plans, AToolMakesThem) {
  const std::string tool = directory_ + "/tool", out = directory_ + "/out";
  std::ofstream(tool) << "#!/bin/sh\n{ echo \"$#:$*:$FOO\"; ls -d /proc/$$/fd/50; } >> " << out
                      << " 2> /dev/null\n";
  chmod(tool.c_str(), 0700);
  setenv("FOO", "of the program", 1);
  const auto made = [&](const char* option, const char* value, int count) {
    fs::remove(out);
    {
      PlanOrder order(tool.c_str(), option, value);
      for (int i = 0; i < count; ++i) order.add("a.file", "/lib/a");
    }
    std::ifstream stream(out);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  EXPECT_EQ(made("--plan", nullptr, 0), "") << "there is nothing to do";
  const int file = open(directory_.c_str(), O_RDONLY);
  ASSERT_EQ(fcntl(file, F_DUPFD, 50), 50);
  EXPECT_EQ(made("--plan", nullptr, 1), "3:--plan a.file /lib/a:\n")
      << "it gets no variable, and no file of ours";
  EXPECT_EQ(made("--left-out", "value", 1), "4:--left-out value a.file /lib/a:\n");
  close(50);
  close(file);
  const std::string many = made("--plan", nullptr, PlanOrder::kMost + 2);
  EXPECT_EQ(many.substr(0, 4), "257:");
  EXPECT_EQ(many.substr(many.find('\n') + 1), "5:--plan a.file /lib/a a.file /lib/a:\n");
  PlanOrder("/nowhere/tool", "--plan", nullptr).add("a.file", "/lib/a");
  EXPECT_EQ(waitpid(-1, nullptr, 0), -1) << "no child is left";
}

// -- Memory near modules --

using MemoryNearModules = test::StartedSession;
TEST_F(MemoryNearModules, IsNotToBeHadWithoutAReason) {
  static char text[4096];
  format::Module module{};
  module.begin = address_of(text);
  module.end = module.begin + sizeof text;
  // Regions of other sizes are not used again.
  const auto take = [&](std::uint32_t slots) {
    return take_region(module, RegionUse::kTrampolines, {0, slots}, 0);
  };
  if (take(2000) == nullptr) GTEST_SKIP() << "another test of this program has taken all";
  {
    const NoMemory none;
    EXPECT_EQ(take(1), nullptr);
    EXPECT_STREQ(why_no_region(), "there is no memory near it");
  }
  for (std::uint32_t i = 1; i < signal_safe::Trampolines::kMost; ++i) ASSERT_NE(take(i), nullptr);
  EXPECT_EQ(take(5000), nullptr);
  EXPECT_STREQ(why_no_region(), "there is no room for more modules");
  EXPECT_NE(take(1), nullptr) << "that of a module that is gone";
}

// -- The environment of the next program --

class Environment : public testing::Test {
 protected:
  // What the next program gets; "unchanged" if it gets what it was given.
  static std::vector<std::string> handed_on(std::vector<const char*> variables,
                                            const char* program = "/bin/true") {
    variables.push_back(nullptr);
    auto* environment = const_cast<char* const*>(variables.data());
    const NextEnvironment next({program, program}, environment);
    if (next.bytes() == 0) return {"unchanged"};
    std::vector<std::uint64_t> memory(next.bytes() / 8 + 1);
    std::vector<std::string> result;
    for (char* const* at = next.write(memory.data()); *at; ++at) result.push_back(*at);
    return result;
  }
  using Variables = std::vector<std::string>;
  const Variables kUnchanged = {"unchanged"};
};

TEST_F(Environment, LosesTheLibrariesOfOursThatAreOutOfReach) {
  EXPECT_EQ(handed_on({"A=1", "LD_PRELOAD=/nowhere/libfbleprof.so:/lib/other.so", "B=2"}),
            Variables({"A=1", "LD_PRELOAD=/lib/other.so", "B=2"}));
  EXPECT_EQ(handed_on({"LD_PRELOAD=/lib/a.so /nowhere/libfbleprof_alloc.so::/lib/b.so:"}),
            Variables({"LD_PRELOAD=/lib/a.so:/lib/b.so"}));
  EXPECT_EQ(handed_on({"LD_PRELOAD=/nowhere/libfbleprof.so:/nowhere/libfbleprof_wait.so", "B=2"}),
            Variables({"B=2"}))
      << "nothing is left of it";
}

TEST_F(Environment, StaysIfNothingOfOursIsOutOfReach) {
  EXPECT_EQ(handed_on({}), kUnchanged);
  EXPECT_EQ(handed_on({"A=1", "LD_PRELOADED=/nowhere/libfbleprof.so"}), kUnchanged);
  EXPECT_EQ(handed_on({"LD_PRELOAD="}), kUnchanged);
  EXPECT_EQ(handed_on({"LD_PRELOAD=/nowhere/other.so"}), kUnchanged) << "not ours";
  EXPECT_EQ(handed_on({"LD_PRELOAD=libfbleprof.so"}), kUnchanged) << "the linker searches for it";
  const std::string within = testing::TempDir() + "/libfbleprof_test.so";
  std::ofstream{within};
  EXPECT_EQ(handed_on({("LD_PRELOAD=" + within).c_str()}), kUnchanged) << "it is there";
  fs::remove(within);
  EXPECT_EQ(handed_on({("LD_PRELOAD=/" + std::string(600, 'a') + "/libfbleprof.so").c_str()}),
            kUnchanged)
      << "a path of that length is not looked at";
}

// A program of this class, with a dynamic linker of this name.
std::string make_program(const std::string& name, unsigned char elf_class,
                         const std::string& linker) {
  struct {
    Elf64_Ehdr header{};
    Elf64_Phdr segments[2]{};
  } file;
  std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = elf_class;
  file.header.e_machine = elf_class == ELFCLASS64 ? EM_X86_64 : EM_386;
  file.header.e_phoff = sizeof file.header;
  file.header.e_phnum = 2;
  file.segments[0].p_type = PT_PHDR;
  file.segments[1].p_type = PT_INTERP;
  file.segments[1].p_offset = sizeof file;
  file.segments[1].p_filesz = linker.size() + 1;
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path).write(reinterpret_cast<const char*>(&file), sizeof file) << linker << '\0';
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

TEST_F(Environment, OfAProgramThatCannotLoadOursLosesThem) {
  const std::string own = testing::TempDir() + "/libfbleprof_foreign.so";
  std::ofstream{own};
  const std::string preload = "LD_PRELOAD=" + own + ":/lib/other.so";
  const auto of = [&](const std::string& program) {
    return handed_on({preload.c_str()}, program.c_str());
  };
  const Variables without = {"LD_PRELOAD=/lib/other.so"};
  const std::string musl = make_program("musl", ELFCLASS64, "/lib/ld-musl-x86_64.so.1");
  EXPECT_EQ(of(musl), without);
  EXPECT_EQ(of(make_program("narrow", ELFCLASS32, "/lib/ld-linux.so.2")), without);
  EXPECT_EQ(of(make_program("wide", ELFCLASS64, "/lib64/ld-linux-x86-64.so.2")), kUnchanged);
  EXPECT_EQ(of("/nowhere"), kUnchanged);
  EXPECT_EQ(of("/"), kUnchanged);

  const std::string script = testing::TempDir() + "/script", second = script + "2";
  std::ofstream(script) << "#! \t" << musl << " -x\n";
  std::ofstream(second) << "#!" << script << "\n";
  EXPECT_EQ(of(script), without);
  EXPECT_EQ(of(second), without);
  std::ofstream(script) << "#!" << script << "\n";
  EXPECT_EQ(of(script), kUnchanged) << "names itself";

  const auto* old_path = getenv("PATH");
  const std::string saved = old_path ? old_path : "";
  setenv("PATH", ("/nowhere::" + testing::TempDir()).c_str(), 1);
  EXPECT_NE(look_at({"musl", "musl", NextProgram::Search::kInPath}).foreign_linker, nullptr);
  EXPECT_EQ(look_at({"wide", "wide", NextProgram::Search::kInPath}).foreign_linker, nullptr);
  EXPECT_EQ(look_at({"musl", "musl"}).foreign_linker, nullptr) << "not in this folder";
  unsetenv("PATH");
  EXPECT_EQ(look_at({"true", "true", NextProgram::Search::kInPath}).foreign_linker, nullptr);
  setenv("PATH", saved.c_str(), 1);
  EXPECT_EQ(look_at({"musl", nullptr}).foreign_linker, nullptr);
  EXPECT_EQ(look_at({"musl", reinterpret_cast<const char*>(8)}).foreign_linker, nullptr);
  for (const std::string& file : {own, script, second}) fs::remove(file);
}

TEST_F(Environment, LetsAddressSanitizerStartBehindOurs) {
  const std::string own = testing::TempDir() + "/libfbleprof_sanitized.so";
  const std::string program = testing::TempDir() + "/sanitized";
  std::ofstream{own};
  const std::string compile = "echo 'int main(void) {}' | gcc -x c - -fsanitize=address -o ";
  if (system((compile + program + " 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "no sanitizer";
  const std::string preload = "LD_PRELOAD=" + own;
  const auto with = [&](std::vector<const char*> variables) {
    variables.push_back(preload.c_str());
    return handed_on(variables, program.c_str());
  };
  EXPECT_EQ(with({"A=1"}), Variables({"A=1", preload, "ASAN_OPTIONS=verify_asan_link_order=0"}));
  EXPECT_EQ(with({"ASAN_OPTIONS=a=1:b=2"}),
            Variables({preload, "ASAN_OPTIONS=a=1:b=2:verify_asan_link_order=0"}));
  EXPECT_EQ(with({"ASAN_OPTIONS="}), Variables({preload, "ASAN_OPTIONS=verify_asan_link_order=0"}));
  EXPECT_EQ(handed_on({"LD_PRELOAD=/lib/other.so"}, program.c_str()), kUnchanged) << "not ours";
  fs::remove(own);
  fs::remove(program);
}

TEST_F(Environment, OfBadPointersTheKernelTells) {
  EXPECT_EQ(NextEnvironment({"/bin/true", "/bin/true"}, nullptr).bytes(), 0u);
  EXPECT_EQ(NextEnvironment({"/bin/true", "/bin/true"}, reinterpret_cast<char* const*>(8)).bytes(),
            0u);
  char lost[] = "LD_PRELOAD=/nowhere/libfbleprof.so";
  char* broken[] = {lost, reinterpret_cast<char*>(8), nullptr};
  EXPECT_EQ(NextEnvironment({"/bin/true", "/bin/true"}, broken).bytes(), 0u);
  // The array runs into memory that is not there.
  char* pages = static_cast<char*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  mprotect(pages + 4096, 4096, PROT_NONE);
  auto** last = reinterpret_cast<char**>(pages + 4096) - 1;
  *last = lost;
  EXPECT_EQ(NextEnvironment({"/bin/true", "/bin/true"}, last).bytes(), 0u);
  munmap(pages, 8192);
}

TEST_F(Environment, OfAConfinedProgramStays) {
  profile.confined = true;
  EXPECT_EQ(handed_on({"LD_PRELOAD=/nowhere/libfbleprof.so"}), kUnchanged);
  profile.confined = false;
}

// -- Stacks --

TEST(Stacks, AreFoundByAnAddress) {
  int local = 0;
  const StackBounds bounds = bounds_of_stack_at(address_of(&local));
  EXPECT_LE(bounds.low, address_of(&local));
  EXPECT_GT(bounds.high, address_of(&local));
  const StackBounds none = bounds_of_stack_at(1);
  EXPECT_EQ(none.high, 0u);
  const NoDescriptors limit;
  EXPECT_EQ(bounds_of_stack_at(address_of(&local)).high, 0u);
}

TEST(Stacks, OfThreadsBeginAtTheirSize) {
  const auto here = address_of(__builtin_frame_address(0));
  const StackBounds bounds = bounds_of_new_thread(1 << 20);
  EXPECT_LT(bounds.low, here);
  EXPECT_GT(bounds.high, here - 4096);
  EXPECT_EQ(bounds_of_new_thread(std::uint64_t{1} << 62).low, 0u);
  EXPECT_EQ(end_of_frames(~std::uint64_t{0} - 1, ~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(Stacks, OfTheMainThreadReachesToItsLimit) {
  const StackBounds bounds = bounds_of_main_thread();
  int local = 0;
  EXPECT_LT(bounds.low, address_of(&local));
  EXPECT_GT(bounds.high, address_of(&local));
  const test::Limited limit(RLIMIT_STACK, 1 << 20);
  EXPECT_EQ(bounds_of_main_thread().low, bounds_of_main_thread().high - (1 << 20));
}

// -- Memory --

TEST(OwnMemory, IsZeroedAndOnPages) {
  for (const InChild in_child : {InChild::kCopied, InChild::kWiped}) {
    std::set<char*> taken;
    for (int i = 0; i < 40; ++i) {
      auto* memory = static_cast<char*>(take_memory(100'000, in_child));
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(address_of(memory) % kPageBytes, 0u);
      for (int at = 0; at < 100'000; at += 1000) EXPECT_EQ(memory[at], 0);
      std::memset(memory, 1, 100'000);
      EXPECT_TRUE(taken.insert(memory).second);
    }
  }
  EXPECT_TRUE(can_wipe_in_children());
  struct Sum {
    std::uint64_t bytes = 0;
  } sum;
  for_each_region([](void* argument, const void*,
                     std::uint64_t bytes) { static_cast<Sum*>(argument)->bytes += bytes; },
                  &sum);
  EXPECT_GE(sum.bytes, 80 * 100'000u);
}

TEST(OwnMemory, OneThatIsLargerThanAllBeforeIsTaken) {
  EXPECT_NE(take_memory(std::uint64_t{40} << 20, InChild::kCopied), nullptr);
}

TEST(OwnMemory, MayBeMissing) {
  const NoMemory none;
  EXPECT_EQ(limit_of_memory(), 1u);
  EXPECT_EQ(take_memory(std::uint64_t{100} << 20, InChild::kCopied), nullptr);
  EXPECT_EQ(take_memory(std::uint64_t{100} << 20, InChild::kWiped), nullptr);
}

TEST(OwnMemory, TheLimitIsReadAgainAfterTheStart) {
  const std::uint64_t before = limit_of_memory();
  auto same_limit = std::make_unique<SameLimit>(true);
  const NoMemory none;
  EXPECT_EQ(limit_of_memory(), before);
  same_limit.reset();
  EXPECT_EQ(limit_of_memory(), 1u);
}

// -- The kernel's view --

TEST(ProcessStatus, TellsWhichSignalsHaveTheirDefaultAction) {
  const auto bit = [](int number) { return std::uint64_t{1} << (number - 1); };
  const auto before = process_status().default_signals;
  EXPECT_NE(before & bit(SIGUSR1), 0u);
  EXPECT_NE(before & bit(SIGRTMAX), 0u);
  signal(SIGUSR1, SIG_IGN);
  signal(SIGRTMAX, [](int) {});
  EXPECT_EQ(process_status().default_signals, before & ~bit(SIGUSR1) & ~bit(SIGRTMAX));
  signal(SIGUSR1, SIG_DFL);
  signal(SIGRTMAX, SIG_DFL);
  EXPECT_EQ(process_status().default_signals, before);
  EXPECT_FALSE(process_status().is_confined);
}

TEST(ProcessStatusDeathTest, TellsOfAFilterBehindManyGroups) {
  const auto confined_with_groups = [] {
    std::vector<gid_t> groups(1000);
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = 4'000'000'000 + gid_t(i);
    if (setgroups(groups.size(), groups.data()) != 0) std::exit(77);  // not root
    const auto before = process_status();
    sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog filter{1, &all};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) std::exit(77);
    const auto after = process_status();
    std::exit(!before.is_confined && after.is_confined &&
                      after.default_signals == before.default_signals
                  ? 0
                  : 1);
  };
  const auto is_well_or_cannot_be_tried = [](int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
  };
  EXPECT_EXIT(confined_with_groups(), is_well_or_cannot_be_tried, "");
}

// -- Symbols --

const void* dynamic_of(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return nullptr;
  dlclose(handle);
  return map->l_ld;
}

TEST(LoaderSymbols, AreThoseThatTheLoaderFinds) {
  for (const char* name : {"getpid", "malloc", "pthread_create", "qsort", "__cxa_throw"}) {
    void* found = dlsym(RTLD_DEFAULT, name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(any_definition(name), found) << name;
  }
  EXPECT_EQ(any_definition("fbleprof_no_such_function"), nullptr);
  EXPECT_EQ(definition_of_libc("getpid"), dlsym(RTLD_DEFAULT, "getpid"));
  EXPECT_EQ(definition_of_libc("__cxa_throw"), nullptr) << "another library's";
  // The implementation for this processor.
  using Length = std::size_t(const char*);
  auto* length = reinterpret_cast<Length*>(any_definition("strlen"));
  ASSERT_NE(length, nullptr);
  EXPECT_EQ(length("four"), 4u);
}

TEST(LoaderSymbols, AreThoseAfterALibrary) {
  const void* libstdcxx = dynamic_of("libstdc++.so.6");
  const void* libc = dynamic_of("libc.so.6");
  ASSERT_NE(libstdcxx, nullptr);
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(next_definition("__cxa_throw", libstdcxx), nullptr);
  EXPECT_EQ(next_definition("getpid", libstdcxx), dlsym(RTLD_DEFAULT, "getpid"));
  EXPECT_EQ(next_definition("getpid", libc), nullptr);
  EXPECT_EQ(next_definition("getpid", &libc), nullptr) << "no library";
  EXPECT_EQ(next_definition_of_libc("getpid", libc).next, nullptr);
  EXPECT_EQ(next_definition_of_libc("getpid", &libc).next, nullptr);
  const Definition definition = next_definition_of_libc("getpid", libstdcxx);
  EXPECT_EQ(definition.next, dlsym(RTLD_DEFAULT, "getpid"));
  EXPECT_EQ(definition.of_libc, definition.next);
  EXPECT_EQ(next_definition_of_libc("fbleprof_none", libstdcxx).of_libc, nullptr);
}

}  // namespace
}  // namespace fbleprof::capture
