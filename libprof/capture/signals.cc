#include "capture/signals.h"

#include <errno.h>
#include <time.h>
#include <ucontext.h>

#include "arch/call_on.h"
#include "arch/kernel.h"
#include "capture/clock.h"
#include "capture/interrupted_call.h"
#include "capture/loader_symbols.h"
#include "capture/own_signal_stack.h"
#include "capture/sampling_timer.h"
#include "signal_safe/little_room.h"
#include "signal_safe/peek.h"
#include "signal_safe/sample.h"
#include "signal_safe/session.h"

// libc's own: we interpose the name without underscores. A program may define it, too.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;

namespace {

constexpr std::uint64_t kSamplingBit = std::uint64_t{1} << (kSamplingSignal - 1);
constexpr long kKernelMaskBytes = 8;

struct sigaction program_action;  // all zero: SIG_DFL
volatile bool installed = false;
// The process that the program's view of the signal belongs to. A child of vfork runs in the same
// memory, but has an action and a mask of its own: those that the kernel has.
constexpr long kAnyone = 0;  // do not ask
long owner = kAnyone;
bool may_sample = true;
// The last such child that changed its mask, in place of the calling thread.
__thread long mask_set_by __attribute__((tls_model("initial-exec"))) = 0;
// The program's view of the calling thread's mask, and the signal that came while it was blocked.
__thread bool program_blocks __attribute__((tls_model("initial-exec"))) = false;
__thread bool program_has_pending __attribute__((tls_model("initial-exec"))) = false;
__thread siginfo_t pending_info __attribute__((tls_model("initial-exec")));
// How many AllSignalsBlocked the thread has. Its handlers read this.
__thread volatile int all_blocked __attribute__((tls_model("initial-exec"))) = 0;
// In how many threads the program blocks the signal. One that ends so stays counted.
int blocking_threads = 0;

void set_program_blocks(bool blocks) {
  if (program_blocks == blocks) return;
  program_blocks = blocks;
  __atomic_fetch_add(&blocking_threads, blocks ? 1 : -1, __ATOMIC_RELAXED);
}

bool do_other_threads_block() {
  return __atomic_load_n(&blocking_threads, __ATOMIC_RELAXED) > (program_blocks ? 1 : 0);
}

std::uint64_t change_mask(int how, std::uint64_t bits) {
  std::uint64_t old = 0;
  kernel_call(SYS_rt_sigprocmask, how, reinterpret_cast<long>(&bits), reinterpret_cast<long>(&old),
              kKernelMaskBytes);
  return old;
}

bool is_owner() { return owner == kAnyone || kernel_call(SYS_getpid) == owner; }

// In a child of vfork that sets an action or a mask: from here on the kernel's mask is what the
// child sees. It begins with its parent's.
void take_mask_of_child() {
  const long pid = kernel_call(SYS_getpid);
  if (mask_set_by == pid) return;
  mask_set_by = pid;
  if (program_blocks) change_mask(SIG_BLOCK, kSamplingBit);
}

// The signal came before the child changed its mask, and is pending from here on.
void leave_to_child(const siginfo_t& info, sigset_t& interrupted) {
  mask_set_by = kernel_call(SYS_getpid);
  sigaddset(&interrupted, kSamplingSignal);
  kernel_call(SYS_rt_tgsigqueueinfo, mask_set_by, kernel_call(SYS_gettid), kSamplingSignal,
              reinterpret_cast<long>(&info));
}

KernelAction own_action;  // with our handler
// libc's code that returns from a handler. Null before libc has set an action for us.
void (*restorer)() = nullptr;

bool is_own(const KernelAction& action) { return action.handler == own_action.handler; }

// Not by libc's function, which may lead to us (attached_calls.h).
KernelAction set_in_kernel(const KernelAction* action) {
  KernelAction before{};
  kernel_call(SYS_rt_sigaction, kSamplingSignal, reinterpret_cast<long>(action),
              reinterpret_cast<long>(&before), kKernelMaskBytes);
  return before;
}
void set_in_kernel(const struct sigaction& action) {
  const KernelAction kernels = to_kernel(action);
  set_in_kernel(&kernels);
}

// A handler of the program's runs where ours does, so it must be the stack that the program chose:
// a signal stack may be too small for it.
void follow_stack_of_program() {
  const bool is_off = is_handled(program_action) && !(program_action.sa_flags & SA_ONSTACK);
  const unsigned long flags =
      is_off ? own_action.flags & ~std::uint64_t{SA_ONSTACK} : own_action.flags | SA_ONSTACK;
  if (own_action.flags == flags) return;
  own_action.flags = flags;
  if (installed && is_own(set_in_kernel(nullptr))) set_in_kernel(&own_action);
}

// SA_RESETHAND, before the handler runs.
void reset_program_action() {
  const struct sigaction reset = after_reset(program_action);
  if (is_owner()) {
    program_action = reset;
    if (may_sample) follow_stack_of_program();
  } else {
    set_in_kernel(reset);
  }
}

void (*before_death)() = nullptr;
void (*on_unattached_thread)(std::uint64_t sp) = nullptr;
void (*change_sampling)() = nullptr;  // not null if a thread has a next_rate_hz

void die_of_signal() {
  // The kernel does not send it to the first process of a namespace, which has no handler.
  if (kernel_call(SYS_getpid) == 1) return;
  if (before_death) before_death();
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  if (set_kernel_action(kSamplingSignal, &action, nullptr) != 0) {
    // The program has forbidden that: the signal would come again and again.
    kernel_call(SYS_exit_group, kStatusOfSignal + kSamplingSignal);
  }
  kernel_call(SYS_tgkill, kernel_call(SYS_getpid), kernel_call(SYS_gettid), kSamplingSignal);
}

// Not inlined: its variables would take stack in samples, too.
__attribute__((noinline)) void deliver_to_program(int number, siginfo_t* info, void* context) {
  auto* header = signal_safe::session.arena.base() ? signal_safe::session.arena.header() : nullptr;
  if (header) __atomic_fetch_add(&header->foreign_signals, 1, __ATOMIC_RELAXED);
  if (program_blocks && is_owner()) {
    pending_info = *info;
    program_has_pending = true;
    return;
  }
  if (program_blocks && mask_set_by != kernel_call(SYS_getpid)) {
    leave_to_child(*info, static_cast<ucontext_t*>(context)->uc_sigmask);
    return;
  }
  const struct sigaction action = program_action;
  // Our handler runs with all signals blocked; the program's, with those that the program chose. In
  // a confined program ours does, too (stand_in_front).
  if (may_sample || !(is_handled(action) || is_ignored(action))) {
    const auto* interrupted = reinterpret_cast<const std::uint64_t*>(
        &static_cast<const ucontext_t*>(context)->uc_sigmask);
    const auto* asked = reinterpret_cast<const std::uint64_t*>(&action.sa_mask);
    change_mask(SIG_SETMASK,
                *interrupted | *asked | (action.sa_flags & SA_NODEFER ? 0 : kSamplingBit));
  }
  if (is_default(action)) {
    die_of_signal();
  } else if (!is_ignored(action)) {
    if (action.sa_flags & SA_RESETHAND) reset_program_action();
    end_call_for(action, context);
    call_handler(action, number, info, context);
  }
}

signal_safe::Sampled what_it_tells(const signal_safe::ThreadState& thread, const siginfo_t& info,
                                   const arch::MachineState& at) {
  using signal_safe::Sampled;
  if (thread.event_period_ns == 0) return Sampled::kAll;
  if (info.si_code != SI_TIMER) return Sampled::kUser;
  return arch::is_after_system_call(at) ? Sampled::kSystemCall : Sampled::kTick;
}

struct Sample {
  signal_safe::ThreadState& thread;
  const arch::MachineState at;
  const signal_safe::Sampled what;
  const std::uint64_t events;  // of an event clock; 0: the sample charges time
};

void take(void* argument) {
  const Sample& sample = *static_cast<Sample*>(argument);
  if (sample.events != 0) {
    signal_safe::charge_events(sample.thread, sample.at, sample.events);
  } else {
    signal_safe::charge_sample(sample.thread, sample.at, sample.what);
  }
}

// Code that blocks all signals blocks these; only the sampling signal comes all the same.
bool blocks_faults(const void* context) {
  const sigset_t& mask = static_cast<const ucontext_t*>(context)->uc_sigmask;
  return sigismember(&mask, SIGSEGV) == 1 || sigismember(&mask, SIGBUS) == 1;
}

}  // namespace

bool call_where_room_is(const void* context, void (*work)(void*), void* argument) {
  constexpr std::uint64_t kRoomBytes = 32 << 10;
  const signal_safe::ThreadState& thread = *fbleprof_hot.self;
  const auto* interrupted = static_cast<const ucontext_t*>(context);
  const stack_t& signal_stack = interrupted->uc_stack;
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const std::uint64_t room = here - reinterpret_cast<std::uint64_t>(signal_stack.ss_sp);
  const bool is_on_signal_stack = room < signal_stack.ss_size;
  const signal_safe::Stack& stack = thread.main_stack;
  const bool has_room =
      is_on_signal_stack ? room >= kRoomBytes
                         : stack.low != 0 && stack.contains(here) && here - stack.low >= kRoomBytes;
  char* other = thread.sample_stack_end;
  // A fault in such work.
  const auto is_in_other = [=](std::uint64_t at) {
    return reinterpret_cast<std::uint64_t>(other) - at <= signal_safe::kSampleStackBytes;
  };
  if (has_room || other == nullptr || is_in_other(here) ||
      is_in_other(arch::state_of(context).sp)) {
    work(argument);
    return true;
  }
  if (is_on_signal_stack) return signal_safe::call_off_signal_stack(other, work, argument);
  fbleprof_call_on(other, work, argument);
  return true;
}

namespace {

FBLEPROF_ALIGNS_STACK void on_signal(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (!is_timer_signal(info->si_code, info->si_value.sival_ptr)) {
    deliver_to_program(number, info, context);
    errno = saved_errno;
    return;
  }
  if (!may_sample) return;  // one that was on its way when the program confined itself
  // Before the time is charged: recording may be over.
  signal_safe::Session& session = signal_safe::session;
  if (session.arena.base() && session.has_orders()) session.obey();
  if (on_unattached_thread) {
    on_unattached_thread(arch::state_of(context).sp);
  }
  if (fbleprof_hot.top) {
    signal_safe::ThreadState& thread = *fbleprof_hot.self;
    const arch::MachineState at = arch::state_of(context);
    if (thread.canary->alive) {
      const signal_safe::FaultsOfSample faults(blocks_faults(context));
      Sample sample{thread, at, what_it_tells(thread, *info, at),
                    take_events(thread, info->si_code)};
      call_where_room_is(context, take, &sample);
      // Only after its own samples, or for want of them: ticks would lengthen the first period.
      if (thread.next_rate_hz != 0 && (info->si_code == POLL_IN || !thread.sampling_page)) {
        change_sampling();
      }
    }
  }
  end_call_for_pending(context);
  if (arch::has_split_stack()) provide_signal_stack_after(context);
  errno = saved_errno;
}

bool holds(const sigset_t* set) { return set && sigismember(set, kSamplingSignal) == 1; }

}  // namespace

KernelAction to_kernel(const struct sigaction& action) {
  KernelAction kernels{action.sa_handler, static_cast<unsigned>(action.sa_flags),
                       action.sa_restorer, 0};
  __builtin_memcpy(&kernels.mask, &action.sa_mask, sizeof kernels.mask);
  return kernels;
}

struct sigaction from_kernel(const KernelAction& action) {
  struct sigaction libcs {};
  libcs.sa_handler = action.handler;
  libcs.sa_flags = static_cast<int>(action.flags);
  libcs.sa_restorer = action.restorer;
  __builtin_memcpy(&libcs.sa_mask, &action.mask, sizeof action.mask);
  return libcs;
}

sigset_t all_but_faults() {
  // sigfillset would leave out the signal that cancels threads.
  constexpr std::uint64_t all = signal_safe::kAllButFaults;
  sigset_t set{};
  __builtin_memcpy(&set, &all, sizeof all);
  return set;
}

namespace {

decltype(&__sigaction) libcs_sigaction = nullptr;

// Only libc knows the code that returns from a handler.
KernelAction make_own_action() {
  libcs_sigaction = reinterpret_cast<decltype(&__sigaction)>(next_definition("__sigaction"));
  struct sigaction action {
  }, before{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  action.sa_mask = all_but_faults();
  __sigaction(kSamplingSignal, &action, &before);
  program_action = before;
  const KernelAction own = set_in_kernel(nullptr);
  restorer = own.restorer;
  return own;
}

}  // namespace

void install_handler() {
  owner = kernel_call(SYS_getpid);
  if (own_action.handler == nullptr) {
    own_action = make_own_action();
  } else if (const KernelAction before = set_in_kernel(&own_action); !is_own(before)) {
    program_action = from_kernel(before);
  }
  installed = true;
  follow_stack_of_program();
}

void own_signals_in_child() {
  if (!installed) return;
  owner = kernel_call(SYS_getpid);
  program_has_pending = false;  // a child starts without pending signals
  blocking_threads = program_blocks ? 1 : 0;
  // What the child set before it was noticed, the kernel has.
  if (mask_set_by != owner) return;
  mask_set_by = 0;
  if (!is_own(set_in_kernel(nullptr))) install_handler();
  set_program_blocks((change_mask(SIG_BLOCK, 0) & kSamplingBit) != 0);
  change_mask(SIG_UNBLOCK, kSamplingBit);
}

void stop_asking_who_owns_signals() {
  owner = kAnyone;
  may_sample = false;
}

bool may_samples_come() { return may_sample; }

namespace {
void send_pending() {
  if (!program_has_pending) return;
  program_has_pending = false;
  kernel_call(SYS_rt_tgsigqueueinfo, kernel_call(SYS_getpid), kernel_call(SYS_gettid),
              kSamplingSignal, reinterpret_cast<long>(&pending_info));
}

// From here on the kernel's view of the calling thread is the program's.
void give_mask_back() {
  if (program_blocks) change_mask(SIG_BLOCK, kSamplingBit);
  send_pending();
}

// The kernel knows nothing of what other threads block, and only they can tell it. As long as one
// does, our handler stays in a confined program, in front of the program's: with its mask and
// flags, because a call that changes the mask may be forbidden. False, with errno, if the kernel
// does not take it.
bool stand_in_front(const struct sigaction& action) {
  struct sigaction front = from_kernel(own_action);
  if (is_handled(action)) {
    front = action;
    front.sa_sigaction = on_signal;
    front.sa_flags = (front.sa_flags | SA_SIGINFO) & ~static_cast<int>(SA_RESETHAND);
  }
  return set_kernel_action(kSamplingSignal, &front, nullptr) == 0;
}
}  // namespace

void leave_signal_to_confined_program() {
  // Under the default action, a sample that is still on its way must not end the program.
  if (!installed || !(is_handled(program_action) || is_ignored(program_action))) return;
  const bool is_there = is_own(set_in_kernel(nullptr));
  if (is_there && do_other_threads_block()) {
    stand_in_front(program_action);
    if (!program_blocks) send_pending();
    return;
  }
  give_mask_back();
  if (!is_there) return;
  installed = false;
  set_kernel_action(kSamplingSignal, &program_action, nullptr);  // with libc's way back
}

void restore_cleared_handler() {
  if (!installed || is_own(set_in_kernel(nullptr))) return;
  // What is ignored stays so in such a child.
  if (!is_ignored(program_action)) program_action = {};
  follow_stack_of_program();
  set_in_kernel(&own_action);
}

namespace {
int set_by_libc(int number, const struct sigaction* action, struct sigaction* before) {
  const int result = __sigaction(number, action, before);
  KernelAction set{};
  if (action && result == 0 &&
      kernel_call(SYS_rt_sigaction, number, 0, reinterpret_cast<long>(&set), kKernelMaskBytes) ==
          0) {
    restorer = set.restorer;
  }
  return result;
}
}  // namespace

struct sigaction as_libc_sets(const struct sigaction& action) {
  struct sigaction libcs = action;
  libcs.sa_flags |= static_cast<int>(kHasRestorer);
  libcs.sa_restorer = restorer;
  return libcs;
}

int set_kernel_action(int number, const struct sigaction* action, struct sigaction* before) {
  // Nothing leads to us yet.
  if (!restorer) return set_by_libc(number, action, before);
  KernelAction given{}, replaced{};
  // The program sees what it set where no handler of ours is: a call of its own may name no way
  // back.
  if (action) given = to_kernel(is_handled(*action) ? as_libc_sets(*action) : *action);
  const long result =
      kernel_call(SYS_rt_sigaction, number, action ? reinterpret_cast<long>(&given) : 0,
                  reinterpret_cast<long>(&replaced), kKernelMaskBytes);
  if (arch::kernel_failed(result)) {
    errno = static_cast<int>(-result);
    return -1;
  }
  if (before) *before = from_kernel(replaced);
  return 0;
}

int set_action_by_libc(int number, const struct sigaction* action, struct sigaction* before) {
  return libcs_sigaction ? libcs_sigaction(number, action, before)
                         : set_kernel_action(number, action, before);
}

void remove_handler() {
  if (!installed || !is_own(set_in_kernel(nullptr))) return;
  installed = false;
  // Ignoring the signal takes pending ones out of the queues of all threads.
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  set_in_kernel(ignored);
  set_in_kernel(program_action);
}

void on_death_by_sampling_signal(void (*function)()) { before_death = function; }

void on_samples_of_found_threads(void (*function)(std::uint64_t sp)) {
  on_unattached_thread = function;
}

void on_samples_that_change_sampling(void (*function)()) { change_sampling = function; }

bool handler_is_installed() { return installed; }

int set_program_action(const struct sigaction* action, struct sigaction* old) {
  if (!is_owner()) {
    take_mask_of_child();
    struct sigaction replaced {};
    if (set_kernel_action(kSamplingSignal, action, &replaced) != 0) return -1;
    if (old) *old = is_own(to_kernel(replaced)) ? program_action : replaced;
    return 0;
  }
  const struct sigaction before = program_action;
  if (action && !may_sample && do_other_threads_block()) {
    if (!stand_in_front(*action)) return -1;
    program_action = *action;
  } else if (action && !may_sample) {
    // The samples that were on their way have come.
    give_mask_back();
    if (set_kernel_action(kSamplingSignal, action, nullptr) != 0) return -1;
    installed = false;
  } else if (action) {
    SamplingBlocked guard;
    program_action = *action;
    follow_stack_of_program();
  }
  if (old) *old = before;
  return 0;
}

const sigset_t* without_sampling_signal(const sigset_t* set, sigset_t* own) {
  if (!installed || !holds(set) || !is_owner()) return set;
  *own = *set;
  sigdelset(own, kSamplingSignal);
  return own;
}

int program_sigmask(int how, const sigset_t* set, sigset_t* old,
                    int (*real)(int, const sigset_t*, sigset_t*)) {
  const bool is_held = holds(set);  // `old` may be `set`
  if (!installed || !(is_held || program_blocks || program_has_pending)) {
    return real(how, set, old);
  }
  if (!is_owner()) {
    take_mask_of_child();
    return real(how, set, old);
  }
  const bool blocked_before = program_blocks;
  // In a handler that blocks the signal, and in a thread that we did not see start, the kernel's
  // mask counts. The handler's ends with it, so the program's view after it is as before.
  const bool is_kernels = (change_mask(SIG_BLOCK, 0) & kSamplingBit) != 0;
  sigset_t own;
  const int result = real(how, is_kernels ? set : without_sampling_signal(set, &own), old);
  if (result != 0) return result;
  if (set && !(is_kernels && is_held && how != SIG_UNBLOCK)) {
    if (how == SIG_SETMASK) {
      set_program_blocks(is_held);
    } else if (is_held) {
      set_program_blocks(how == SIG_BLOCK);
    }
  }
  if (old && blocked_before) sigaddset(old, kSamplingSignal);
  if (!program_blocks && program_has_pending) {
    siginfo_t info;
    take_pending_signal(&info);
    kernel_call(SYS_rt_tgsigqueueinfo, kernel_call(SYS_getpid), kernel_call(SYS_gettid),
                kSamplingSignal, reinterpret_cast<long>(&info));
  }
  return result;
}

namespace {
// What is left of a time limit.
timespec rest_of(const timespec& limit, std::uint64_t passed_ns) {
  constexpr long kSecond = 1'000'000'000;
  const auto passed = static_cast<long>(passed_ns);
  timespec left = limit;
  left.tv_sec -= passed / kSecond;
  left.tv_nsec -= passed % kSecond;
  if (left.tv_nsec < 0) --left.tv_sec, left.tv_nsec += kSecond;
  return left.tv_sec < 0 ? timespec{} : left;
}

// Where no more samples come, and a new kind of system call might end the program: the handler
// notes the program's signal and interrupts the wait.
int wait_confined(const sigset_t* set, siginfo_t* info, const timespec* timeout,
                  int (*real)(const sigset_t*, siginfo_t*, const timespec*)) {
  if (take_pending_signal(info)) return kSamplingSignal;
  sigset_t own;
  const int saved_errno = errno;
  const int result = real(without_sampling_signal(set, &own), info, timeout);
  if (result >= 0 || errno != EINTR || !take_pending_signal(info)) return result;
  errno = saved_errno;
  return kSamplingSignal;
}
}  // namespace

int wait_for_program_signal(const sigset_t* set, siginfo_t* info, const timespec* timeout,
                            int (*real)(const sigset_t*, siginfo_t*, const timespec*)) {
  if (owner == kAnyone) return wait_confined(set, info, timeout, real);
  // Blocked, the signal comes to nothing but the wait, also between the look and the wait.
  SamplingBlocked guard;
  if (take_pending_signal(info)) return kSamplingSignal;
  std::uint64_t since_ns = timeout ? clock_ns(CLOCK_MONOTONIC) : 0;
  timespec left;
  siginfo_t own_info;
  siginfo_t& came = info ? *info : own_info;
  for (;;) {
    const int result = real(set, &came, timeout);
    if (result != kSamplingSignal || !is_timer_signal(came.si_code, came.si_value.sival_ptr)) {
      return result;
    }
    // A sample that was due when the wait began. The next one charges its time.
    if (timeout) {
      const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
      left = rest_of(*timeout, now_ns - since_ns);
      timeout = &left;
      since_ns = now_ns;
    }
  }
}

void hand_over_to_next_program() {
  if (!installed) return;
  if (!is_owner()) {
    take_mask_of_child();
    if (is_ignored(program_action) && is_own(set_in_kernel(nullptr))) set_in_kernel(program_action);
    return;
  }
  if (is_ignored(program_action)) set_in_kernel(program_action);
  change_mask(program_blocks ? SIG_BLOCK : SIG_UNBLOCK, kSamplingBit);
  if (program_blocks && program_has_pending) {
    kernel_call(SYS_rt_tgsigqueueinfo, kernel_call(SYS_getpid), kernel_call(SYS_gettid),
                kSamplingSignal, reinterpret_cast<long>(&pending_info));
  }
}

void take_back_from_next_program() {
  if (!installed || !is_owner()) return;
  install_handler();
  change_mask(SIG_UNBLOCK, kSamplingBit);
}

void hand_over_from_found_thread() {
  if (!installed) return;
  set_program_blocks((change_mask(SIG_BLOCK, kSamplingBit) & kSamplingBit) != 0);
  drain_pending();
  hand_over_to_next_program();
}

void take_back_in_found_thread() {
  if (!installed) return;
  set_program_blocks(false);
  program_has_pending = false;
  // The program may have set another action, which is its own.
  if (is_ignored(program_action)) install_handler();
}

MaskOfProgram::MaskOfProgram() {
  if (!installed || !program_blocks) return;
  if (!is_owner()) {
    take_mask_of_child();
    return;
  }
  // What the kernel blocks already, a handler does.
  blocks_ = (change_mask(SIG_BLOCK, kSamplingBit) & kSamplingBit) == 0;
}

MaskOfProgram::~MaskOfProgram() {
  if (blocks_) change_mask(SIG_UNBLOCK, kSamplingBit);
}

SamplingBlocked::SamplingBlocked()
    : old_mask_(may_sample ? change_mask(SIG_BLOCK, kSamplingBit) : kSamplingBit) {}

SamplingBlocked::~SamplingBlocked() {
  if (!(old_mask_ & kSamplingBit)) change_mask(SIG_UNBLOCK, kSamplingBit);
}

AllSignalsBlocked::AllSignalsBlocked(std::uint64_t open)
    : is_confined_(!may_sample),
      old_mask_(is_confined_ ? 0
                             : change_mask(SIG_BLOCK, ~(std::uint64_t{1} << (SIGBUS - 1) | open))) {
  if (!is_confined_) all_blocked = all_blocked + 1;
}

AllSignalsBlocked::~AllSignalsBlocked() {
  if (is_confined_) return;
  all_blocked = all_blocked - 1;
  change_mask(SIG_SETMASK, old_mask_);
}

bool are_all_signals_blocked() { return all_blocked != 0; }

void open_mask_of_thread() {
  // A signal that is pending is delivered when the mask is opened; by then the handler knows
  // whether the program may have it.
  if (change_mask(SIG_BLOCK, 0) & kSamplingBit) set_program_blocks(true);
  change_mask(SIG_UNBLOCK, kSamplingBit);
}

bool program_has_pending_signal() { return program_has_pending && is_owner(); }

bool take_pending_signal(siginfo_t* info) {
  if (!program_has_pending_signal()) return false;
  program_has_pending = false;
  if (info) *info = pending_info;
  return true;
}

void drain_pending() {
  const timespec none{};
  siginfo_t info;
  while (!kernel_failed(kernel_call(SYS_rt_sigtimedwait, reinterpret_cast<long>(&kSamplingBit),
                                    reinterpret_cast<long>(&info), reinterpret_cast<long>(&none),
                                    kKernelMaskBytes))) {
    if (is_timer_signal(info.si_code, info.si_value.sival_ptr)) continue;
    pending_info = info;
    program_has_pending = true;
  }
}

}  // namespace fbleprof::capture
