// A filter of system calls (seccomp): what it says to a call of which only a part is known.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace fbleprof::attach {

// A struct seccomp_data in words, as filters read it. What is not known has no value.
using CallWords = std::array<std::optional<std::uint32_t>, sizeof(seccomp_data) / 4>;

// A call of a program for x86-64, of which only the number is known.
CallWords call_words(long number);
void know_argument(CallWords& call, int index, std::uint64_t value);

// What becomes of a call, the worst last.
enum class Verdict {
  kAllowed,
  kFails,
  kEnds,  // the process or the thread, or it may: a signal, a tracer or another process decides
};

// The worst that the filter can say, whatever the unknown words are: where it looks at one, it goes
// both ways. kEnds for what is no filter, and for one with too many ways.
Verdict worst_verdict(const std::vector<sock_filter>& filter, const CallWords& call);

}  // namespace fbleprof::attach
