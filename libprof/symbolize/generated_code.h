// Code that a program generated while it ran, as its runtime reports it: in a perf map
// (/tmp/perf-PID.map) or a jitdump (jit-PID.dump).
//
// An address may hold several functions in turn. Each has the moment when it was there: its place
// in the perf map (bytes), or the time of its record in the jitdump (ns, CLOCK_MONOTONIC, as perf
// demands).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fbleprof::symbolize {

struct GeneratedFunction {
  std::uint64_t begin = 0, size = 0;  // bytes
  std::string name;
  std::string file;  // "" = unknown
  std::uint32_t line = 0, column = 0;
  std::string language;  // "" = unknown
};

// What is there at one moment. Refers to the functions that it is given.
class PresentCode {
 public:
  // What becomes of a function of which another one takes over a part.
  enum class Others { kGone, kKept };
  // Replaces what was known of these addresses. The function has bytes.
  void add(const GeneratedFunction& function, Others others = Others::kGone);
  // The function around `address`, else the first one that begins less than `bytes` after it;
  // null = none.
  const GeneratedFunction* find(std::uint64_t address, std::uint64_t bytes = 0) const;

 private:
  struct Part {
    std::uint64_t end;
    const GeneratedFunction* function;
  };
  std::map<std::uint64_t, Part> by_begin_;
};

class GeneratedCode {
 public:
  GeneratedCode() = default;
  GeneratedCode(GeneratedCode&&) = default;  // copies would refer to the original's functions

  // Replaces what was known of these addresses. Moments only grow. Ignores a function of no bytes.
  void add(GeneratedFunction function, std::uint64_t moment);
  // The function around `address`; of several the last one added; null = none.
  const GeneratedFunction* find(std::uint64_t address) const { return present_.find(address); }
  bool is_empty() const { return history_.empty(); }

  // What was at an address at a moment.
  struct Question {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  // of a stretch of code: a function that begins in it counts, too
    std::uint64_t moment = 0;
  };
  // The answers, in the same order; null = none. Of the functions that were added before the moment
  // the last one; if there is none, the first one that was added later: a runtime may write its map
  // late.
  std::vector<const GeneratedFunction*> answer(std::span<const Question> questions) const;

 private:
  struct Added {
    std::uint64_t moment;
    GeneratedFunction function;
  };
  std::deque<Added> history_;
  PresentCode present_;
};

// Lines of "START SIZE NAME", in hexadecimal. Other lines are skipped.
void read_perf_map(std::string_view text, GeneratedCode* code);

// The records that load and move code, and the records of lines before them. Everything after the
// first invalid record is ignored: the program may not have finished writing it. Moments are 0 if
// the dump's times are the processor's own. False: the bytes are not a jitdump.
bool read_jitdump(std::span<const std::byte> bytes, GeneratedCode* code);

// Takes apart what a runtime puts into one name: V8's "JS:*fib /tmp/w.js:1:13" is fib of that file
// and line. The mark of optimized code is left out, so that one function stays one.
GeneratedFunction take_apart(std::string_view name);

}  // namespace fbleprof::symbolize
