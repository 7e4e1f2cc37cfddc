// The frame that the kernel leaves on a stack when it delivers a signal, made by hand: a thread
// that makes the system call rt_sigreturn with its stack pointer there gets back all its registers,
// its vector state and its signal mask.
//
// A tracer prepares one before it moves a thread, and lets it return there. If the tracer is
// killed, the thread goes back by itself. The way consists of instructions that every libc has.
#pragma once

#include <cpuid.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "arch/traced.h"

namespace fbleprof::arch {

// libc's return from signal handlers: mov $15, %rax; syscall.
inline constexpr std::uint8_t kRestoreInstructions[] = {0x48, 0xc7, 0xc0, 0x0f, 0,
                                                        0,    0,    0x0f, 0x05};
// pop %rsp; ret: goes on with another stack.
inline constexpr std::uint8_t kChangeStackInstructions[] = {0x5c, 0xc3};

// mov %rax, (%rbx); pop %rbx; ret: keeps what a function returned.
inline constexpr std::uint8_t kStoreInstructions[] = {0x48, 0x89, 0x03, 0x5b, 0xc3};

// Where these are in a process; 0: unknown.
struct WayBack {
  std::uint64_t restore = 0, change_stack = 0, store = 0;
};

// The registers for a call whose result is stored at `place`, if its function returns to `store`.
inline TracedRegisters storing_at(TracedRegisters at, std::uint64_t place) {
  at.rbx = place;
  return at;
}
// Whether the thread is about to go back by the frame.
inline bool is_going_back(const TracedRegisters& at, const WayBack& way, std::uint64_t frame) {
  return at.rip == way.restore + sizeof kRestoreInstructions && at.rsp == frame;
}
// The registers, at the entry of a system call, for a return from the instruction at `instruction`.
inline TracedRegisters as_if_called_by(TracedRegisters at, std::uint64_t instruction,
                                       std::uint64_t stack) {
  at.rip = instruction + sizeof kSystemCallInstruction;
  at.rsp = stack;
  return at;
}

// Vector state as ptrace gives it (kVectorStateSet).
class VectorState {
 public:
  explicit VectorState(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {
    if (bytes.size() < kHeaderAt + kHeaderBytes) return;
    std::memcpy(&features_, bytes.data() + kFeaturesAt, sizeof features_);
    std::uint64_t used = 0;
    std::memcpy(&used, bytes.data() + kHeaderAt, sizeof used);
    // A thread must ask for this state. ptrace always has room for it, a frame only if it is there.
    if ((used & kOnRequest) == 0) features_ &= ~kOnRequest;
    size_ = std::min(bytes.size(), size_of(features_));
  }

  bool is_known() const { return (features_ & kAlways) == kAlways; }
  // In a frame.
  std::size_t size() const { return size_ + sizeof kEnd; }
  void write_to(std::uint8_t* at) const {
    std::memcpy(at, bytes_.data(), size_);
    _fpx_sw_bytes about{};
    about.magic1 = FP_XSTATE_MAGIC1;
    about.extended_size = static_cast<std::uint32_t>(size());
    about.xstate_bv = features_;
    about.xstate_size = static_cast<std::uint32_t>(size_);
    std::memcpy(at + kFeaturesAt, &about, sizeof about);
    std::memcpy(at + size_, &kEnd, sizeof kEnd);
  }

 private:
  static constexpr std::size_t kFeaturesAt = 464, kHeaderAt = 512, kHeaderBytes = 64;
  static constexpr std::uint64_t kAlways = 3;              // x87 and SSE
  static constexpr std::uint64_t kOnRequest = 1ull << 18;  // AMX's tiles
  static constexpr std::uint32_t kEnd = FP_XSTATE_MAGIC2;

  static std::size_t size_of(std::uint64_t features) {
    constexpr unsigned kLeaf = 0xd, kFirstWithPlace = 2, kFeatures = 63;
    std::size_t size = kHeaderAt + kHeaderBytes;
    for (unsigned i = kFirstWithPlace; i < kFeatures; ++i) {
      unsigned bytes = 0, offset = 0, c = 0, d = 0;
      if ((features >> i & 1) == 0 || __get_cpuid_count(kLeaf, i, &bytes, &offset, &c, &d) == 0) {
        continue;
      }
      size = std::max<std::size_t>(size, offset + bytes);
    }
    return size;
  }

  const std::vector<std::uint8_t>& bytes_;
  std::uint64_t features_ = 0;
  std::size_t size_ = 0;
};

// A frame for these registers, which are in no system call. It is below their stack pointer, and
// below what functions keep there.
struct SignalFrame {
  std::uint64_t address = 0;  // 0: none can be made
  std::vector<std::uint8_t> bytes;
};

inline SignalFrame frame_for(const TracedRegisters& at, std::uint64_t mask,
                             const std::vector<std::uint8_t>& vector_state) {
  constexpr std::uint64_t kVectorAlignment = 64;
  constexpr std::uint64_t kContextBytes =
      (sizeof(ucontext_t) + kVectorAlignment - 1) / kVectorAlignment * kVectorAlignment;
  const VectorState vectors(vector_state);
  if (!vectors.is_known()) return {};
  SignalFrame frame;
  frame.bytes.resize(kContextBytes + vectors.size());
  frame.address =
      (at.rsp - kRedZoneBytes - frame.bytes.size()) / kVectorAlignment * kVectorAlignment;
  ucontext_t context{};
  context.uc_flags = 7;             // there is vector state, and ss counts
  context.uc_stack.ss_flags = 0x7;  // invalid: the kernel leaves the thread's signal stack as it is
  greg_t* to = context.uc_mcontext.gregs;
  const auto put = [to](int index, std::uint64_t value) { to[index] = static_cast<greg_t>(value); };
  put(REG_R8, at.r8), put(REG_R9, at.r9), put(REG_R10, at.r10), put(REG_R11, at.r11);
  put(REG_R12, at.r12), put(REG_R13, at.r13), put(REG_R14, at.r14), put(REG_R15, at.r15);
  put(REG_RDI, at.rdi), put(REG_RSI, at.rsi), put(REG_RBP, at.rbp), put(REG_RBX, at.rbx);
  put(REG_RDX, at.rdx), put(REG_RAX, at.rax), put(REG_RCX, at.rcx), put(REG_RSP, at.rsp);
  put(REG_RIP, at.rip), put(REG_EFL, at.eflags);
  put(REG_CSGSFS, at.cs | at.ss << 48);
  const std::uint64_t vectors_at = frame.address + kContextBytes;
  context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(vectors_at);
  std::memcpy(&context.uc_sigmask, &mask, sizeof mask);
  std::memcpy(frame.bytes.data(), &context, sizeof context);
  vectors.write_to(frame.bytes.data() + kContextBytes);
  return frame;
}

// The registers of a thread that goes back by the frame at once.
inline TracedRegisters before_going_back(TracedRegisters at, const WayBack& way,
                                         std::uint64_t frame) {
  at.rip = way.restore;
  at.rsp = frame;
  at.orig_rax = ~0ull;
  return at;
}

}  // namespace fbleprof::arch
