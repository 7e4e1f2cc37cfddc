#include "signal_safe/session.h"

#include <time.h>

#include "arch/kernel.h"
#include "signal_safe/thread_state.h"

__thread fbleprof::signal_safe::Hot fbleprof_hot;
extern "C" {
std::uint8_t fbleprof_attach_lazily = 0;
std::uint8_t fbleprof_has_xsave = 1;

bool fbleprof_attach_slow() {
  auto attach = [](void*) -> long {
    if (auto* function = fbleprof::signal_safe::session.attach_thread) function();
    return 0;
  };
  fbleprof_preserving_vectors(attach, nullptr);
  return fbleprof_hot.self != nullptr;
}
}

namespace fbleprof::signal_safe {

constinit Session session;

namespace {
std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  if (session.clocks_by_system_call.load(std::memory_order_relaxed)) {
    arch::kernel_call(SYS_clock_gettime, clock, reinterpret_cast<long>(&now));
  } else {
    clock_gettime(clock, &now);
  }
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}
}  // namespace

std::uint64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
std::uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

bool starts_recording(Session& session) {
  if (!session.has_orders()) return false;
  auto obey = [](void* of) -> long {
    static_cast<Session*>(of)->obey();
    return 0;
  };
  fbleprof_preserving_vectors(obey, &session);
  return session.recording.load(std::memory_order_relaxed);
}

bool Session::start(char* file, std::uint64_t cap_bytes, std::uint64_t populated_bytes,
                    const Options& with, CodeSource code) {
  options = with;
  arena.adopt(file, cap_bytes, populated_bytes);
  if (!code_map.start(&arena, &pages, code)) return false;
  using format::FunctionKind;
  const auto special = [this](FunctionKind kind) {
    return code_map.function_with_key(static_cast<std::uint64_t>(kind), kind);
  };
  trees = {&arena,
           &pages,
           &options,
           special(FunctionKind::kRoot),
           special(FunctionKind::kOverflow),
           special(FunctionKind::kDeeper)};
  truncated = special(FunctionKind::kTruncated);
  return truncated != 0;
}

}  // namespace fbleprof::signal_safe
