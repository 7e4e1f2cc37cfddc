#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <random>

#include "attach/seccomp_calls.h"
#include "attach/seccomp_check.h"
#include "attach/seccomp_program.h"
#include "tests/unit/attach/traced_child.h"

namespace fbleprof::attach {
namespace {

using test::TracedChild;
using Filter = std::vector<sock_filter>;

constexpr sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
constexpr sock_filter returns(std::uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }
constexpr sock_filter kLoadNumber = load(offsetof(seccomp_data, nr));
constexpr std::size_t argument(int index) {
  return offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(index);
}

Verdict verdict(const Filter& filter, long number = SYS_getppid) {
  return worst_verdict(filter, call_words(number));
}

// Whether the filter allows the call if these instructions leave `value` in A.
bool leaves(std::uint32_t value, Filter instructions) {
  instructions.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
  instructions.push_back(returns(SECCOMP_RET_ALLOW));
  instructions.push_back(returns(SECCOMP_RET_KILL_PROCESS));
  return verdict(instructions) == Verdict::kAllowed;
}

TEST(SeccompProgram, WhatAFilterReturns) {
  EXPECT_EQ(verdict({returns(SECCOMP_RET_ALLOW)}), Verdict::kAllowed);
  EXPECT_EQ(verdict({returns(SECCOMP_RET_LOG)}), Verdict::kAllowed);
  EXPECT_EQ(verdict({returns(SECCOMP_RET_ERRNO | 1)}), Verdict::kFails);
  for (const std::uint32_t end : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD,
                                  SECCOMP_RET_TRAP, SECCOMP_RET_TRACE, SECCOMP_RET_USER_NOTIF}) {
    EXPECT_EQ(verdict({returns(end)}), Verdict::kEnds) << std::hex << end;
    EXPECT_EQ(verdict({returns(end | 5)}), Verdict::kEnds) << std::hex << end;
  }
  EXPECT_EQ(verdict({returns(0x12340000)}), Verdict::kEnds) << "no action";
  EXPECT_EQ(verdict({BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_A, 0)}),
            Verdict::kAllowed);
}

TEST(SeccompProgram, Instructions) {
  const auto a = [](std::uint32_t value) { return sock_filter(BPF_STMT(BPF_LD | BPF_IMM, value)); };
  const auto x = [](std::uint32_t value) {
    return sock_filter(BPF_STMT(BPF_LDX | BPF_IMM, value));
  };
  const auto compute = [](unsigned operation, std::uint32_t k) {
    return sock_filter(BPF_STMT(static_cast<std::uint16_t>(BPF_ALU | operation), k));
  };
  EXPECT_TRUE(leaves(SYS_getppid, {kLoadNumber}));
  EXPECT_TRUE(leaves(AUDIT_ARCH_X86_64, {load(offsetof(seccomp_data, arch))}));
  EXPECT_TRUE(leaves(sizeof(seccomp_data), {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0)}));
  EXPECT_TRUE(leaves(12, {a(5), compute(BPF_ADD, 7)}));
  EXPECT_TRUE(leaves(0xfffffffe, {a(5), compute(BPF_SUB, 7)}));
  EXPECT_TRUE(leaves(35, {a(5), x(7), compute(BPF_MUL | BPF_X, 0)}));
  EXPECT_TRUE(leaves(3, {a(21), compute(BPF_DIV, 7)}));
  EXPECT_TRUE(leaves(4, {a(6), compute(BPF_AND, 0xc)}));
  EXPECT_TRUE(leaves(14, {a(6), compute(BPF_OR, 0xc)}));
  EXPECT_TRUE(leaves(10, {a(6), compute(BPF_XOR, 0xc)}));
  EXPECT_TRUE(leaves(24, {a(6), compute(BPF_LSH, 2)}));
  EXPECT_TRUE(leaves(1, {a(6), compute(BPF_RSH, 2)}));
  EXPECT_TRUE(leaves(0xffffffff, {a(1), compute(BPF_NEG, 0)}));
  EXPECT_TRUE(leaves(9, {x(9), BPF_STMT(BPF_MISC | BPF_TXA, 0)}));
  EXPECT_TRUE(
      leaves(8, {a(8), BPF_STMT(BPF_MISC | BPF_TAX, 0), a(1), BPF_STMT(BPF_MISC | BPF_TXA, 0)}));
  EXPECT_TRUE(leaves(3, {a(3), BPF_STMT(BPF_ST, 15), a(4), BPF_STMT(BPF_LD | BPF_MEM, 15)}));
  EXPECT_TRUE(leaves(3, {x(3), BPF_STMT(BPF_STX, 0), BPF_STMT(BPF_LD | BPF_MEM, 0)}));
  EXPECT_TRUE(leaves(2, {a(2), BPF_STMT(BPF_JMP | BPF_JA, 1), a(3)}));
  EXPECT_TRUE(leaves(2, {a(2), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 1, 1, 0), a(3)}));
  EXPECT_TRUE(leaves(2, {a(2), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 2, 1, 0), a(3)}));
  EXPECT_TRUE(leaves(2, {a(2), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1), a(3)}));
  EXPECT_TRUE(leaves(2, {a(2), x(2), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0), a(3)}));
}

TEST(SeccompProgram, WhatIsNoFilterIsTakenForOneThatEnds) {
  const sock_filter allow = returns(SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict({}), Verdict::kEnds);
  EXPECT_EQ(verdict({kLoadNumber}), Verdict::kEnds) << "no end";
  EXPECT_EQ(verdict({BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), allow}), Verdict::kEnds);
  EXPECT_EQ(verdict({load(sizeof(seccomp_data)), allow}), Verdict::kEnds);
  EXPECT_EQ(verdict({load(2), allow}), Verdict::kEnds);
  EXPECT_EQ(verdict({BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0), allow}), Verdict::kEnds);
  EXPECT_EQ(verdict({BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS), allow}), Verdict::kEnds);
  EXPECT_EQ(verdict({BPF_STMT(BPF_ST, BPF_MEMWORDS), allow}), Verdict::kEnds);
  EXPECT_EQ(verdict({BPF_STMT(BPF_STX, 0xffffffff), allow}), Verdict::kEnds);
  EXPECT_EQ(verdict({BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), allow}), Verdict::kEnds) << "by 0";
}

TEST(SeccompProgram, BothWaysWhereAWordIsNotKnown) {
  const Filter looks = {load(argument(2)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
                        returns(SECCOMP_RET_KILL_PROCESS), returns(SECCOMP_RET_ALLOW)};
  CallWords call = call_words(SYS_mmap);
  EXPECT_EQ(worst_verdict(looks, call), Verdict::kEnds);
  know_argument(call, 2, PROT_READ | PROT_WRITE);
  EXPECT_EQ(worst_verdict(looks, call), Verdict::kAllowed);
  know_argument(call, 2, PROT_READ | PROT_EXEC);
  EXPECT_EQ(worst_verdict(looks, call), Verdict::kEnds);
  const Filter high = {load(argument(2) + 4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 1),
                       returns(SECCOMP_RET_ERRNO), returns(SECCOMP_RET_ALLOW)};
  EXPECT_EQ(worst_verdict(high, call), Verdict::kAllowed);
  know_argument(call, 2, 7ull << 32);
  EXPECT_EQ(worst_verdict(high, call), Verdict::kFails);
  EXPECT_EQ(verdict({load(argument(0)), BPF_STMT(BPF_RET | BPF_A, 0)}), Verdict::kEnds);
  // 2^40 ways to the same end.
  Filter many;
  for (int i = 0; i < 40; ++i) {
    many.push_back(load(argument(0)));
    many.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1));
    many.push_back(BPF_STMT(BPF_LD | BPF_IMM, 0));
  }
  many.push_back(returns(SECCOMP_RET_ALLOW));
  EXPECT_EQ(verdict(many), Verdict::kEnds);
}

// What the kernel does with the call under the filter; none: it takes no such filter.
std::optional<Verdict> verdict_of_kernel(const Filter& filter, long number,
                                         const std::uint64_t (&values)[6]) {
  constexpr int kNoFilter = 1, kFails = 2, kError = 1000;
  const pid_t child = fork();
  if (child == 0) {
    const sock_fprog program = {static_cast<unsigned short>(filter.size()),
                                const_cast<sock_filter*>(filter.data())};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(kNoFilter);
    const long result =
        syscall(number, values[0], values[1], values[2], values[3], values[4], values[5]);
    _exit(result == -1 && errno == kError ? kFails : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return Verdict::kEnds;
  if (WEXITSTATUS(status) == kNoFilter) return std::nullopt;
  return WEXITSTATUS(status) == kFails ? Verdict::kFails : Verdict::kAllowed;
}

TEST(SeccompProgram, TheKernelSaysTheSame) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  constexpr std::uint64_t kValues[6] = {1, 2, 0x300000004, 5, 0, ~0ull};
  CallWords call = call_words(SYS_getppid);
  for (int i = 0; i < 6; ++i) know_argument(call, i, kValues[i]);
  constexpr std::uint16_t kCodes[] = {BPF_LD | BPF_W | BPF_ABS,
                                      BPF_LD | BPF_W | BPF_ABS,
                                      BPF_LD | BPF_W | BPF_LEN,
                                      BPF_LDX | BPF_W | BPF_LEN,
                                      BPF_LD | BPF_IMM,
                                      BPF_LDX | BPF_IMM,
                                      BPF_MISC | BPF_TAX,
                                      BPF_MISC | BPF_TXA,
                                      BPF_LD | BPF_MEM,
                                      BPF_LDX | BPF_MEM,
                                      BPF_ST,
                                      BPF_STX,
                                      BPF_ALU | BPF_ADD | BPF_K,
                                      BPF_ALU | BPF_ADD | BPF_X,
                                      BPF_ALU | BPF_SUB | BPF_K,
                                      BPF_ALU | BPF_SUB | BPF_X,
                                      BPF_ALU | BPF_MUL | BPF_K,
                                      BPF_ALU | BPF_MUL | BPF_X,
                                      BPF_ALU | BPF_DIV | BPF_K,
                                      BPF_ALU | BPF_DIV | BPF_X,
                                      BPF_ALU | BPF_AND | BPF_K,
                                      BPF_ALU | BPF_OR | BPF_X,
                                      BPF_ALU | BPF_XOR | BPF_K,
                                      BPF_ALU | BPF_LSH | BPF_K,
                                      BPF_ALU | BPF_RSH | BPF_K,
                                      BPF_ALU | BPF_NEG,
                                      BPF_JMP | BPF_JA,
                                      BPF_JMP | BPF_JEQ | BPF_K,
                                      BPF_JMP | BPF_JEQ | BPF_X,
                                      BPF_JMP | BPF_JGE | BPF_K,
                                      BPF_JMP | BPF_JGT | BPF_X,
                                      BPF_JMP | BPF_JSET | BPF_K};
  constexpr std::uint32_t kFail = SECCOMP_RET_ERRNO | 1000;
  int taken = 0, kinds[3] = {};
  for (int round = 0; round < 600; ++round) {
    Filter filter = {kLoadNumber, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0),
                     returns(SECCOMP_RET_ALLOW)};
    // What a filter reads of its memory, it must have written.
    filter.push_back(BPF_STMT(BPF_ST, 0));
    filter.push_back(BPF_STMT(BPF_STX, 1));
    for (int i = 0; i < 12; ++i) {
      const std::uint16_t code = kCodes[below(std::size(kCodes))];
      const bool is_jump = BPF_CLASS(code) == BPF_JMP;
      std::uint32_t k = below(8);
      if (code == (BPF_LD | BPF_W | BPF_ABS)) k = 4 * (below(3) == 0 ? below(2) : 4 + below(12));
      if (BPF_CLASS(code) == BPF_ST || BPF_CLASS(code) == BPF_STX || BPF_MODE(code) == BPF_MEM) {
        k = below(2);
      }
      if (BPF_OP(code) == BPF_JA && is_jump) k = below(3);
      filter.push_back({code, static_cast<std::uint8_t>(is_jump ? below(4) : 0),
                        static_cast<std::uint8_t>(is_jump ? below(4) : 0), k});
    }
    // Room for jumps; the verdict depends on what was computed.
    for (int i = 0; i < 3; ++i) filter.push_back(BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1));
    filter.push_back(returns(SECCOMP_RET_ALLOW));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 2, 0, 1));
    filter.push_back(returns(kFail));
    filter.push_back(returns(SECCOMP_RET_KILL_PROCESS));
    const auto kernel = verdict_of_kernel(filter, SYS_getppid, kValues);
    if (!kernel) continue;
    ++taken;
    ++kinds[static_cast<int>(*kernel)];
    ASSERT_EQ(worst_verdict(filter, call), *kernel) << "filter " << round;
  }
  EXPECT_GT(taken, 100);
  for (const int kind : kinds) EXPECT_GT(kind, 10);
}

Filter kills(std::vector<long> numbers, std::uint32_t verdict = SECCOMP_RET_KILL_PROCESS) {
  Filter filter = {kLoadNumber};
  for (const long number : numbers) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1));
    filter.push_back(returns(verdict));
  }
  filter.push_back(returns(SECCOMP_RET_ALLOW));
  return filter;
}

TEST(SeccompCalls, NamesWhatAFilterForbids) {
  const auto harmed = [](const SeccompFilters& filters, Recording recording = Recording::kSamples) {
    return find_harmed_call(filters, recording).name;
  };
  EXPECT_EQ(harmed({}), "");
  EXPECT_EQ(harmed({kills({SYS_ptrace, SYS_mount, SYS_execve})}), "");
  EXPECT_EQ(harmed({kills({SYS_execve})}, Recording::kWithTables), "execve");
  EXPECT_EQ(harmed({kills({SYS_mount}), kills({SYS_timer_create})}), "timer_create");
  EXPECT_EQ(harmed({kills({SYS_timer_create}, SECCOMP_RET_TRAP)}), "timer_create");
  EXPECT_EQ(harmed({kills({SYS_timer_create}, SECCOMP_RET_ERRNO)}), "");
  EXPECT_EQ(harmed({kills({SYS_restart_syscall}, SECCOMP_RET_ERRNO)}), "restart_syscall");
  EXPECT_EQ(find_harmed_call({kills({SYS_restart_syscall}, SECCOMP_RET_ERRNO)}, Recording::kSamples)
                .verdict,
            Verdict::kFails);
}

// A process of one thread with this filter.
int sleep_under(Filter filter) {
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 1;
  return test::sleep_until_told();
}

TEST(SeccompCheck, TheProcessGoesOn) {
  if (!test::may_trace()) GTEST_SKIP() << "the system forbids tracing";
  const Filter filters[] = {kills({SYS_mount}), kills({SYS_restart_syscall, SYS_mmap}),
                            kills({SYS_restart_syscall}, SECCOMP_RET_ERRNO | EPERM)};
  for (const Filter& filter : filters) {
    TracedChild child([&] { return sleep_under(filter); });
    ASSERT_TRUE(child.waits_in(SYS_clock_nanosleep));
    for (int i = 0; i < 3; ++i) {
      const Status bad = check_seccomp(child.pid(), Recording::kSamples, Filtered::kChecked);
      if (bad) {
        EXPECT_NE(bad->what.find("seccomp"), std::string::npos) << bad->line();
      }
      EXPECT_TRUE(child.waits_in(SYS_clock_nanosleep));
    }
    EXPECT_FALSE(check_seccomp(child.pid(), Recording::kSamples, Filtered::kAccepted));
    EXPECT_EQ(child.end(), 0);
  }
}

TEST(SeccompCheck, WithoutFilters) {
  TracedChild child(test::sleep_until_told);
  child.wait_for_work();
  EXPECT_FALSE(check_seccomp(child.pid(), Recording::kWithTables, Filtered::kChecked));
  EXPECT_EQ(child.end(), 0);
}

}  // namespace
}  // namespace fbleprof::attach
