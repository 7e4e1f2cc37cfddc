// System calls that the kernel refuses for a part of a test: as old kernels, sandboxes and odd file
// systems do.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <thread>
#include <vector>

namespace fbleprof::test {

struct RefusedCall {
  long number;
  int error;
  // Only if this argument has one of these bits; 0 bits: always.
  unsigned argument = 0;
  std::uint32_t bits = 0;
};

// Runs the function in a thread of its own, in which these calls fail. False: the system has no
// such filters, and nothing ran.
template <typename Function>
[[nodiscard]] bool without_calls(std::initializer_list<RefusedCall> calls, Function function) {
  std::vector<sock_filter> code;
  const auto load = [&code](std::size_t offset) {
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  };
  for (const RefusedCall& call : calls) {
    const std::uint8_t behind = call.bits != 0 ? 3 : 1;
    load(offsetof(seccomp_data, nr));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ, static_cast<std::uint32_t>(call.number), 0, behind));
    if (call.bits != 0) {
      load(offsetof(seccomp_data, args) + call.argument * sizeof(std::uint64_t));
      code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET, call.bits, 0, 1));
    }
    code.push_back(
        BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(call.error) & 0xffff)));
  }
  code.push_back(BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW));
  bool has_run = false;
  std::thread([&] {
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      return;
    }
    function();
    has_run = true;
  }).join();
  return has_run;
}

}  // namespace fbleprof::test
