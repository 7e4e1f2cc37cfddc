#include "capture/locked_memory.h"

#include <errno.h>
#include <linux/capability.h>

#include <algorithm>

#include "capture/capability.h"
#include "capture/kernel_file.h"
#include "capture/modules.h"
#include "capture/own_memory.h"
#include "capture/profile.h"
#include "capture/text_memory.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using signal_safe::session;

namespace {

struct Range {
  std::uint64_t begin, end;
};

// Splits `from` at the first of our mappings in it: the part before the mapping, and the rest.
struct Split {
  Range program, rest;
};

// Considers our libraries, whose tables are large, and all of our large mappings.
Split split_at_own(Range from) {
  Range own{from.end, from.end};
  auto consider = [&](const void* base, std::uint64_t bytes) {
    const auto begin = reinterpret_cast<std::uint64_t>(base);
    const std::uint64_t end = std::min(begin + bytes, from.end);
    const std::uint64_t first = std::max(begin, from.begin);
    if (first < end && first < own.begin) own = {first, end};
  };
  consider(session.arena.base(), session.arena.cap_bytes());
  for_each_region(
      [](void* argument, const void* base, std::uint64_t bytes) {
        (*static_cast<decltype(consider)*>(argument))(base, bytes);
      },
      &consider);
  session.pages.for_each_large(consider);
  for_each_code_region([&](const Region& region) { consider(region.base, region.bytes); });
  for_each_loaded_module([&](const format::Module& module) {
    if (!is_own_library(module)) return;
    // Its last page is locked as a whole.
    const std::uint64_t end = (module.end + kPageBytes - 1) / kPageBytes * kPageBytes;
    consider(reinterpret_cast<const void*>(module.begin), end - module.begin);
  });
  return {{from.begin, own.begin}, {own.end, from.end}};
}

// The mappings of this process, read in pieces: the file can be longer than any buffer.
class Mappings {
 public:
  bool next(Range* range) {
    return (range->begin = number('-')) && (range->end = number(' ')) && skip_line();
  }

 private:
  int get() {
    if (at_ == length_) {
      const long got =
          kernel_call(SYS_read, file_.fd(), reinterpret_cast<long>(buffer_), sizeof buffer_);
      at_ = 0;
      length_ = got > 0 ? got : 0;
      if (length_ == 0) return -1;
    }
    return buffer_[at_++];
  }
  std::uint64_t number(int end) {
    std::uint64_t value = 0;
    for (int c = get(); c != end; c = get()) {
      if (c < 0) return 0;
      value = value << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return value;
  }
  bool skip_line() {
    for (int c = get(); c != '\n'; c = get()) {
      if (c < 0) return false;
    }
    return true;
  }

  File file_{"/proc/self/maps", O_RDONLY};
  char buffer_[2048];
  long at_ = 0, length_ = 0;
};

template <typename Function>
void for_each_of_program(Function function) {
  Mappings mappings;
  for (Range range; mappings.next(&range);) {
    while (range.begin < range.end) {
      const Split split = split_at_own(range);
      if (split.program.begin < split.program.end) function(split.program);
      range = split.rest;
    }
  }
}

}  // namespace

int lock_program(int flags, int (*real)(int)) {
  constexpr int kAll = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT;
  if (!session.arena.base() || profile.confined || !is_own_process() || (flags & ~kAll) != 0 ||
      (flags & (MCL_CURRENT | MCL_FUTURE)) == 0) {
    return real(flags);
  }
  if (flags & MCL_CURRENT) {
    std::uint64_t bytes = 0;
    for_each_of_program([&](Range range) { bytes += range.end - range.begin; });
    if (!has_capability(CAP_IPC_LOCK)) {
      const std::uint64_t limit = limit_of(RLIMIT_MEMLOCK);
      if (limit == 0 || bytes > limit) {
        errno = limit == 0 ? EPERM : ENOMEM;
        return -1;
      }
    }
  }
  // Future mappings first: the calls below may change how mappings are joined.
  if (flags & MCL_FUTURE) {
    signal_safe::expect_locked_mappings();
    const int result = real(flags & ~MCL_CURRENT);
    if (result != 0) return result;
  }
  if (flags & MCL_CURRENT) {
    // Like mlockall, skip what cannot be locked.
    for_each_of_program([&](Range range) {
      kernel_call(SYS_mlock2, static_cast<long>(range.begin),
                  static_cast<long>(range.end - range.begin),
                  flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0);
    });
  }
  return 0;
}

}  // namespace fbleprof::capture
