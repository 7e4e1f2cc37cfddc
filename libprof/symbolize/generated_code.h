// Code that a program generated while it ran, as its runtime reports it: in a perf map
// (/tmp/perf-PID.map) or a jitdump (jit-PID.dump).
//
// If an address was used for several functions, the last one counts: neither a perf map nor a
// profile says when each was there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace fbleprof::symbolize {

struct GeneratedFunction {
  std::uint64_t begin = 0, size = 0;  // bytes
  std::string name;
  std::string file;  // "" = unknown
  std::uint32_t line = 0, column = 0;
  std::string language;  // "" = unknown
};

class GeneratedCode {
 public:
  // Replaces what was known of these addresses. Ignores a function of no bytes.
  void add(GeneratedFunction function);
  // The function around `address`; of several the last one added; null = none.
  const GeneratedFunction* find(std::uint64_t address) const;
  // The first function that begins in [begin, end); null = none.
  const GeneratedFunction* first_in(std::uint64_t begin, std::uint64_t end) const;
  bool is_empty() const { return by_begin_.empty(); }

 private:
  std::map<std::uint64_t, GeneratedFunction> by_begin_;
};

// Lines of "START SIZE NAME", in hexadecimal. Other lines are skipped.
void read_perf_map(std::string_view text, GeneratedCode* code);

// The records that load and move code, and the records of lines before them. Everything after the
// first invalid record is ignored: the program may not have finished writing it. False: the bytes
// are not a jitdump.
bool read_jitdump(std::span<const std::byte> bytes, GeneratedCode* code);

// Takes apart what a runtime puts into one name: V8's "JS:*fib /tmp/w.js:1:13" is fib of that file
// and line. The mark of optimized code is left out, so that one function stays one.
GeneratedFunction take_apart(std::string_view name);

}  // namespace fbleprof::symbolize
