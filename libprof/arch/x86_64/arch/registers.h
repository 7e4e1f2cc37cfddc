// The registers that a stack walk starts from, and where the kernel and DWARF keep them.
#pragma once

#include <cstdint>

namespace fbleprof::arch {

// The machine state of a frame, at the instruction that runs next (pc): the interrupted one, or the
// one that a call returns to.
struct MachineState {
  std::uint64_t pc = 0, sp = 0, fp = 0;
  // The only other register on which a frame is based during a call (rbx, in the loader's
  // lazy-binding trampoline); 0 = unknown.
  std::uint64_t base = 0;
  // All registers at the interrupted instruction, in the order of ucontext_t's gregs; null in a
  // hook. Hand-written code bases its frame on any of them, and keeps that register while it calls
  // its own helpers.
  const std::uint64_t* registers = nullptr;
};

// Where the kernel's signal frame holds the registers: ucontext_t.uc_mcontext.gregs.
inline constexpr std::uint64_t kGeneralRegisters = 40;
enum {
  kGregR8 = 0,
  kGregSi = 9,
  kGregFp = 10,
  kGregBase = 11,
  kGregAx = 13,
  kGregCx = 14,
  kGregSp = 15,
  kGregPc = 16
};
// In a hook that is pushing an entry: the entry's word (PUSH_CONTEXT in hooks.S).
inline constexpr int kGregPushed = kGregCx;

// The state in a signal handler's third argument.
inline MachineState state_of(const void* signal_context) {
  const auto* registers = reinterpret_cast<const std::uint64_t*>(
      static_cast<const char*>(signal_context) + kGeneralRegisters);
  return {registers[kGregPc], registers[kGregSp], registers[kGregFp], registers[kGregBase],
          registers};
}

// The place of a register in gregs, by DWARF number.
inline constexpr std::uint8_t kGregOf[16] = {13, 12, 14, kGregBase, 9, 8, kGregFp, kGregSp,
                                             0,  1,  2,  3,         4, 5, 6,       7};
inline constexpr std::uint8_t kDwarfBase = 3, kDwarfFp = 6, kDwarfSp = 7, kDwarfReturn = 16;
// A function may change registers with lower numbers, except the callee-saved registers.
inline constexpr int kDwarfCalleeSaved = 12;

// Unwind tables assume that this much memory below the stack pointer is still valid: it holds
// values that an epilogue has just popped, and a leaf function's variables. Signal handlers do not
// touch it.
inline constexpr std::uint64_t kRedZone = 128;

// Whether this is the stack pointer of a function's first instruction. Contexts that getcontext or
// swapcontext saved elsewhere have a stack pointer that is a multiple of 16.
inline bool is_of_first_instruction(std::uint64_t sp) { return sp % 16 == 8; }

// A system call's instruction leaves its return address in rcx. If the kernel will restart the
// call, it has set pc back by the bytes of the instruction.
inline bool is_call_set_back(const MachineState& at) {
  constexpr std::uint64_t kSystemCallBytes = 2;
  return at.registers[kGregCx] - at.pc == kSystemCallBytes;
}
// Whether the interrupted instruction follows a system call, or is one that was set back.
inline bool is_after_system_call(const MachineState& at) {
  return at.registers[kGregCx] == at.pc || is_call_set_back(at);
}

// A system call that the kernel has set back, to restart it: its number and its second argument.
struct CallSetBack {
  bool is_there;
  std::uint64_t number, second_argument;
};
inline CallSetBack call_set_back(const void* signal_context) {
  const MachineState at = state_of(signal_context);
  return {is_call_set_back(at), at.registers[kGregAx], at.registers[kGregSi]};
}
// Makes that call end with this error.
inline void end_call_set_back(void* signal_context, int error) {
  auto* registers =
      reinterpret_cast<std::uint64_t*>(static_cast<char*>(signal_context) + kGeneralRegisters);
  registers[kGregAx] = static_cast<std::uint64_t>(-error);
  registers[kGregPc] = registers[kGregCx];
}

}  // namespace fbleprof::arch
