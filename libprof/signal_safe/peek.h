// Reads memory that may not exist: a runtime's stack, in the middle of a change.
#pragma once

#include <cstddef>

namespace fbleprof::signal_safe {

// Copies `bytes` bytes; false if `from` cannot be read. Any thread, hooks and handlers included.
// Takes 0.5 ns a word where faults are caught; else a system call. In a hook, an address that may
// fault needs peek_anywhere: a thread that blocks SIGSEGV would die of the fault.
bool peek(const void* from, void* to, std::size_t bytes);
// The same for any number that may be no address. Outside of samples, always a system call.
bool peek_anywhere(const void* from, void* to, std::size_t bytes);

// What a fault does to this thread while a sample is taken.
class FaultsOfSample {
 public:
  // `are_blocked`: the interrupted code blocks SIGSEGV or SIGBUS.
  explicit FaultsOfSample(bool are_blocked);
  ~FaultsOfSample();
  FaultsOfSample(const FaultsOfSample&) = delete;
  FaultsOfSample& operator=(const FaultsOfSample&) = delete;
};

// Whether a peek is harmless: false where it might take a system call that ends the program.
bool is_peek_harmless();
// The program is confined, or forbids itself system calls.
void expect_forbidden_calls();
bool are_calls_forbidden();

// Announces whether a handler answers SIGSEGV and SIGBUS as arch/peek.h says.
void expect_caught_faults(bool are_caught);

}  // namespace fbleprof::signal_safe
