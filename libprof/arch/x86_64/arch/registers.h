// The registers that a stack walk starts from, and where the kernel and DWARF keep them.
#pragma once

#include <cstdint>

namespace fbleprof::arch {

// The machine state of a frame: of the instruction at pc, about to be run (interrupted) or returned
// to.
struct MachineState {
  std::uint64_t pc = 0, sp = 0, fp = 0;
  // The one other register that frames are based on while they call others (rbx, by the loader's
  // lazy-binding trampoline); 0 = unknown.
  std::uint64_t base = 0;
  // All registers, in the order of ucontext_t's gregs, of the instruction that was interrupted;
  // null where a hook was called. Hand-written code bases its frame on any, and keeps that one as
  // it is while it calls a helper of its own.
  const std::uint64_t* registers = nullptr;
};

// Where the kernel's signal frame keeps registers: ucontext_t.uc_mcontext.gregs.
inline constexpr std::uint64_t kGeneralRegisters = 40;
enum { kGregR8 = 0, kGregFp = 10, kGregBase = 11, kGregCx = 14, kGregSp = 15, kGregPc = 16 };

// The state in a signal handler's third argument.
inline MachineState state_of(const void* signal_context) {
  const auto* registers = reinterpret_cast<const std::uint64_t*>(
      static_cast<const char*>(signal_context) + kGeneralRegisters);
  return {registers[kGregPc], registers[kGregSp], registers[kGregFp], registers[kGregBase],
          registers};
}

// By DWARF number, the register's place in gregs.
inline constexpr std::uint8_t kGregOf[16] = {13, 12, 14, kGregBase, 9, 8, kGregFp, kGregSp,
                                             0,  1,  2,  3,         4, 5, 6,       7};
inline constexpr std::uint8_t kDwarfBase = 3, kDwarfFp = 6, kDwarfSp = 7, kDwarfReturn = 16;
// A function may change registers of lower numbers, except these that callees save.
inline constexpr int kDwarfCalleeSaved = 12;

// Code below the stack pointer still holds what its unwind table promises: what an epilogue has
// popped a moment ago, what a leaf keeps there. No handler touches so much.
inline constexpr std::uint64_t kRedZone = 128;

// Whether the interrupted instruction is the one after a system call: the kernel leaves the address
// that it returns to in rcx. A call that is to be restarted was set back by the instruction's two
// bytes.
inline bool is_after_system_call(const MachineState& at) {
  const std::uint64_t back = at.registers[kGregCx] - at.pc;
  return back == 0 || back == 2;
}

}  // namespace fbleprof::arch
