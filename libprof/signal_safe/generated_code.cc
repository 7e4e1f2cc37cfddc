#include "signal_safe/generated_code.h"

#include <sys/stat.h>

#include "arch/kernel.h"
#include "signal_safe/peek.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

std::uint32_t code_hash_at(std::uint64_t address) {
  std::uint64_t line[8];
  if (!peek(reinterpret_cast<const void*>(address / sizeof line * sizeof line), line,
            sizeof line)) {
    return 0;
  }
  std::uint64_t hash = 0;
  for (const std::uint64_t word : line) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return static_cast<std::uint32_t>(hash) | 1;
}

void write_map_path(char* path) {
  const auto add = [&](const char* text) {
    while (*text) *path++ = *text++;
  };
  add("/tmp/perf-");
  char digits[20];
  int count = 0;
  auto pid = static_cast<std::uint64_t>(arch::kernel_call(SYS_getpid));
  do digits[count++] = static_cast<char>('0' + pid % 10);
  while (pid /= 10);
  while (count > 0) *path++ = digits[--count];
  add(".map");
  *path = 0;
}

void note_moment(format::Function* generated) {
  char path[kMapPathBytes];
  write_map_path(path);
  struct stat status;
  const long failure =
      arch::kernel_call(SYS_lstat, reinterpret_cast<long>(path), reinterpret_cast<long>(&status));
  if (failure == 0 && S_ISREG(status.st_mode)) {
    generated->map_bytes = static_cast<std::uint64_t>(status.st_size);
    generated->flags |= format::kFunctionMapBytes;
  } else {
    note_time(generated);
  }
}

void note_time(format::Function* generated) { generated->first_met_ns = monotonic_ns(); }

}  // namespace fbleprof::signal_safe
