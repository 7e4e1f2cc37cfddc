#include "attach/seccomp_calls.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>

namespace fbleprof::attach {

namespace {

// What a refused call does.
enum class Refused {
  kIsHarmless,      // the recorder, the loader or we do without, or give up
  kChangesProgram,  // a wait of the program's or a signal handler ends wrongly
};

struct Call {
  long number;
  const char* name;
  // An argument whose value is known, if any. Filters look at few others.
  int argument = -1;
  std::uint64_t value = 0;
  Refused refused = Refused::kIsHarmless;
};

#define CALL(name) SYS_##name, #name

constexpr Call kCalls[] = {
    // What the kernel makes of a wait that a stop interrupted, and the end of each sample.
    {CALL(restart_syscall), -1, 0, Refused::kChangesProgram},
    {CALL(rt_sigreturn), -1, 0, Refused::kChangesProgram},
    // A borrowed thread, and the loader.
    {CALL(mmap), 2, PROT_READ | PROT_WRITE},
    {CALL(mmap), 2, PROT_READ},
    {CALL(mmap), 2, PROT_READ | PROT_EXEC},
    {CALL(munmap)},
    {CALL(mprotect), 2, PROT_READ},
    {CALL(mprotect), 2, PROT_READ | PROT_WRITE},
    {CALL(mprotect), 2, PROT_READ | PROT_EXEC},
    {CALL(memfd_create)},
    {CALL(fcntl), 1, F_DUPFD_CLOEXEC},
    {CALL(close)},
    {CALL(openat)},
    {CALL(read)},
    {CALL(pread64)},
    {CALL(fstat)},
    {CALL(newfstatat)},
    {CALL(brk)},
    {CALL(mremap)},
    {CALL(getrandom)},
    {CALL(futex), 1, FUTEX_WAIT_PRIVATE},
    {CALL(futex), 1, FUTEX_WAKE_PRIVATE},
    {CALL(futex), 1, FUTEX_WAKE_OP_PRIVATE},
    {CALL(getcwd)},
    {CALL(readlink)},
    // The recorder's start, file and end.
    {CALL(process_vm_readv)},
    {CALL(open)},
    {CALL(access)},
    {CALL(stat)},
    {CALL(lstat)},
    {CALL(write)},
    {CALL(pwrite64)},
    {CALL(ftruncate)},
    {CALL(flock)},
    {CALL(fcntl), 1, F_SETSIG},
    {CALL(fcntl), 1, F_SETLEASE},
    {CALL(link)},
    {CALL(linkat)},
    {CALL(rename)},
    {CALL(renameat2)},
    {CALL(unlink)},
    {CALL(ioctl)},
    {CALL(uname)},
    {CALL(getpid)},
    {CALL(getppid)},
    {CALL(gettid)},
    {CALL(geteuid)},
    {CALL(getrlimit)},
    {CALL(madvise), 2, MADV_RANDOM},
    {CALL(madvise), 2, MADV_HUGEPAGE},
    {CALL(madvise), 2, MADV_NOHUGEPAGE},
    {CALL(madvise), 2, MADV_WIPEONFORK},
    {CALL(madvise), 2, MADV_POPULATE_WRITE},
    {CALL(mincore)},
    {CALL(mlock2)},
    {CALL(munlock)},
    {CALL(membarrier)},
    {CALL(arch_prctl)},
    // Threads, samples and signals.
    {CALL(prctl), 0, PR_GET_NAME},
    {CALL(getdents64)},
    {CALL(timer_create)},
    {CALL(timer_settime)},
    {CALL(timer_delete)},
    {CALL(perf_event_open)},
    {CALL(fcntl), 1, F_SETOWN_EX},
    {CALL(fcntl), 1, F_SETFL},
    {CALL(clock_gettime)},
    {CALL(getrusage)},
    {CALL(nanosleep)},
    {CALL(sched_yield)},
    {CALL(rt_sigaction)},
    {CALL(rt_sigprocmask)},
    {CALL(rt_sigpending)},
    {CALL(rt_sigtimedwait)},
    {CALL(rt_tgsigqueueinfo)},
    {CALL(sigaltstack)},
    {CALL(tgkill)},
    {CALL(kill)},
};

// To start fble-prof.
constexpr Call kCallsForTables[] = {
    {CALL(clone)}, {CALL(execve)}, {CALL(wait4)}, {CALL(close_range)}, {CALL(prlimit64)}};

#undef CALL

Verdict verdict_of(const SeccompFilters& filters, const Call& each) {
  CallWords call = call_words(each.number);
  if (each.argument >= 0) know_argument(call, each.argument, each.value);
  Verdict worst = Verdict::kAllowed;
  for (const auto& filter : filters) worst = std::max(worst, worst_verdict(filter, call));
  const bool is_harmless = worst == Verdict::kFails && each.refused == Refused::kIsHarmless;
  return is_harmless ? Verdict::kAllowed : worst;
}

}  // namespace

HarmedCall find_harmed_call(const SeccompFilters& filters, Recording recording) {
  for (const Call& each : kCalls) {
    const Verdict verdict = verdict_of(filters, each);
    if (verdict != Verdict::kAllowed) return {each.name, verdict};
  }
  if (recording == Recording::kSamples) return {};
  for (const Call& each : kCallsForTables) {
    const Verdict verdict = verdict_of(filters, each);
    if (verdict != Verdict::kAllowed) return {each.name, verdict};
  }
  return {};
}

}  // namespace fbleprof::attach
