// What the machine code says about the call before a return address. A walk asks where nothing else
// proves that an address on the stack is one.
//
// Any thread, hooks and handlers included; no lock, bounded. `site` may be any number.
#pragma once

#include <cstdint>

namespace fbleprof::signal_safe {

// Whether a call ends at `site`.
bool follows_call(std::uint64_t site);

// Whether `site` is where Go lets the first function of a goroutine return to: behind the first
// instruction of a function that calls nothing before.
bool ends_goroutine(std::uint64_t site);

// The function that the call before `site` names, directly or through a PLT; 0 if it names none.
std::uint64_t callee_before(std::uint64_t site);

}  // namespace fbleprof::signal_safe
