#include "capture/process.h"

#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/api.h"
#include "capture/fatal_signals.h"
#include "capture/modules.h"
#include "capture/output_file.h"
#include "capture/sampling_timer.h"
#include "capture/signals.h"
#include "signal_safe/arch/x86_64/kernel.h"
#include "signal_safe/sample.h"
#include "signal_safe/session.h"

extern "C" void* __libc_stack_end;

namespace fbleprof::capture {

using signal_safe::kernel_call;
using signal_safe::kernel_failed;
using signal_safe::session;
using signal_safe::ThreadState;

namespace {

// Room for new contexts once no more memory may be asked for.
constexpr std::uint64_t kBytesUnderConfinement = 4 << 20;

// Constant-initialised, as what follows: our constructor runs before the file's own initialisers,
// which would undo what it did.
constinit Settings settings;
constinit OutputFile output;
bool perf_allowed = true;
std::uint32_t profiled_pid = 0;
bool finished = false;
bool confined = false;

std::uint64_t clock_reading(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint32_t length_of(const char* text) {
  std::uint32_t n = 0;
  while (text[n]) ++n;
  return n;
}

format::Ref add_text(const char* text) { return session.arena.add_string(text, length_of(text)); }

void say(const char* line) {
  if (!settings.verbose && !isatty(2)) return;
  Text<1200> text;
  text.add("fbleprof: ").add(line).add('\n');
  [[maybe_unused]] ssize_t wrote = write(2, text.c_str(), text.size());
}

void describe_metrics(format::Header* header) {
  struct Description {
    const char *name, *unit;
    format::MetricPlace place;
    std::size_t offset;
  };
  constexpr auto kField = format::MetricPlace::kNodeField;
  // Newest first is how a reader finds them: the list is written backwards.
  constexpr Description kMetrics[] = {
      {"calls", "count", format::MetricPlace::kEdgeCalls, 0},
      {"ticks", "count", kField, offsetof(format::Node, ticks)},
      {"samples", "count", kField, offsetof(format::Node, samples)},
      {"overhead", "ns", kField, offsetof(format::Node, overhead_ns)},
      {"wall", "ns", kField, offsetof(format::Node, wall_ns)},
      {"cpu", "ns", kField, offsetof(format::Node, cpu_ns)},
  };
  for (const Description& d : kMetrics) {
    const format::Ref ref = session.arena.allocate(sizeof(format::Metric), 0);
    if (ref == 0) return;
    auto* metric = session.arena.at<format::Metric>(ref);
    metric->name = add_text(d.name);
    metric->unit = add_text(d.unit);
    metric->place = d.place;
    metric->offset = static_cast<std::uint16_t>(d.offset);
    signal_safe::push_front(&header->first_metric, &metric->next, ref);
  }
}

void describe_process(format::Header* header) {
  char text[4096];
  if (*program_path()) header->executable = add_text(program_path());
  if (getcwd(text, sizeof text)) header->working_directory = add_text(text);
  utsname host{};
  if (uname(&host) == 0) header->host = add_text(host.nodename);
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t length = read(fd, text, sizeof text);
    close(fd);
    if (length > 0)
      header->command_line = session.arena.add_string(text, static_cast<std::uint32_t>(length));
  }
  if (!settings.mpi_rank.empty()) {
    const format::Ref ref = session.arena.allocate(sizeof(format::Label), 0);
    if (ref == 0) return;
    auto* label = session.arena.at<format::Label>(ref);
    label->key = add_text("mpi_rank");
    label->value = add_text(settings.mpi_rank.c_str());
    signal_safe::push_front(&header->first_label, &label->next, ref);
  }
}

// Made aside and put in place at once: the one that took the name is there already, and a program
// killed meanwhile leaves the one or the other.
void write_header(format::Header* place) {
  format::Header header = starting_header(output);
  header.parent_pid = static_cast<std::uint32_t>(getppid());
  header.start_realtime_ns = clock_reading(CLOCK_REALTIME);
  header.start_monotonic_ns = header.end_monotonic_ns = session.start_monotonic_ns;
  header.clock = settings.recording.clock;
  header.compaction = settings.recording.compaction;
  header.rate_hz = settings.rate_hz;
  header.machine = EM_X86_64;
  header.flags =
      static_cast<std::uint16_t>((settings.recording.call_sites ? format::kHeaderCallSites : 0) |
                                 (settings.recording.leaves ? format::kHeaderLeaves : 0) |
                                 (output.anonymous ? format::kHeaderAnonymous : 0));
  *place = header;
}

format::Ref special(format::FunctionKind kind) {
  return session.code_map.function_with_key(static_cast<std::uint64_t>(kind), kind);
}

// Opens the file and makes an empty profile in it. False: no profile, and the reason was said.
bool start_profile(const Path* base_path) {
  profiled_pid = static_cast<std::uint32_t>(kernel_call(SYS_getpid));
  output = open_output(settings, base_path);
  if (!output.base) {
    say(output.failure.c_str());
    return false;
  }
  static void* table = nullptr;
  if (table)
    kernel_call(SYS_munmap, reinterpret_cast<long>(table), signal_safe::CodeMap::kTableBytes);
  const std::uint64_t blocks_bytes = signal_safe::Session::kMaxBlocks * sizeof(format::Ref);
  const long memory =
      kernel_call(SYS_mmap, 0, static_cast<long>(signal_safe::CodeMap::kTableBytes + blocks_bytes),
                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (kernel_failed(memory)) return false;
  table = reinterpret_cast<void*>(memory);
  session.blocks =
      reinterpret_cast<format::Ref*>(memory + static_cast<long>(signal_safe::CodeMap::kTableBytes));
  session.start_monotonic_ns = signal_safe::monotonic_ns();
  session.options = settings.recording;
  session.arena.adopt(output.base, output.cap_bytes, output.populated_bytes);
  session.code_map.adopt(table, &session.arena);
  format::Header* header = session.arena.header();
  write_header(header);
  describe_metrics(header);
  describe_process(header);
  session.root = special(format::FunctionKind::kRoot);
  session.overflow = special(format::FunctionKind::kOverflow);
  session.unwound = special(format::FunctionKind::kUnwound);
  session.truncated = special(format::FunctionKind::kTruncated);
  configure_threads(settings, perf_allowed);
  if (!output.failure.empty()) remark(output.failure.c_str());
  return true;
}

void find_own_text() {
  dl_find_object object;
  if (_dl_find_object(const_cast<char*>(fbleprof_hooks_begin), &object) != 0) return;
  const auto begin = reinterpret_cast<std::uint64_t>(object.dlfo_map_start);
  session.text_begin = begin;
  session.text_end = reinterpret_cast<std::uint64_t>(object.dlfo_map_end);
}

StackBounds bounds_of_main_thread() {
  const auto end =
      (reinterpret_cast<std::uint64_t>(__libc_stack_end) + 0xffff) & ~std::uint64_t{0xfff};
  rlimit limit{};
  std::uint64_t bytes = std::uint64_t{8} << 20;
  if (getrlimit(RLIMIT_STACK, &limit) == 0) {
    bytes = limit.rlim_cur < (std::uint64_t{1} << 31) ? limit.rlim_cur : std::uint64_t{1} << 31;
  }
  // Arguments and environment lie above, and may be megabytes; they hold no frames.
  return {end - bytes, end + (std::uint64_t{1} << 20)};
}

// A thread of which nothing is known but where it runs now.
void attach_unknown_thread() {
  if (handler_is_installed()) open_mask_of_thread(program_blocks_signal());
  SamplingBlocked guard;
  attach_this_thread({0, 0}, 0);
}

// Whether what runs is the process that the profile is of, not a vfork child in its memory.
bool is_own_process() {
  return profiled_pid == static_cast<std::uint32_t>(kernel_call(SYS_getpid));
}

// A thread that goes on running when the process ends is charged by whoever ends it.
void charge_from_outside(ThreadState& thread) {
  if (thread.busy || thread.hot == &fbleprof_hot) return;
  const auto clock = static_cast<clockid_t>(~static_cast<std::uint32_t>(thread.tid) << 3 | 6);
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return;
  const std::uint64_t cpu = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
                            static_cast<std::uint64_t>(now.tv_nsec);
  if (cpu <= thread.last_cpu_ns) return;
  const std::uint64_t rest = cpu - thread.last_cpu_ns + thread.in_kernel_ns;
  auto* node = session.arena.at<format::Node>(signal_safe::context_of_rest(thread));
  node->samples += 1;
  node->cpu_ns += rest;
  thread.record->samples += 1;
  thread.record->cpu_ns += rest;
  thread.last_cpu_ns = cpu;
  thread.in_kernel_ns = 0;
}

struct Content {
  std::uint64_t cpu_ns = 0;
  bool hooked = false;  // or it ticks, outside of all that has hooks
};

Content content_of_profile() {
  Content content;
  for (format::Ref ref = session.arena.header()->first_thread; ref != 0;) {
    const auto* thread = session.arena.at<format::Thread>(ref);
    content.cpu_ns += thread->cpu_ns;
    content.hooked |= (thread->flags & format::kThreadHooked) != 0 ||
                      session.arena.at<format::Node>(thread->root)->ticks != 0;
    ref = thread->next;
  }
  return content;
}

// The blocks of the parent keep their numbers: the program holds them.
void inherit_blocks(const signal_safe::Arena& parent, format::Ref first_function) {
  for (format::Ref ref = first_function; ref != 0;) {
    const auto* old = parent.at<format::Function>(ref);
    ref = old->next;
    if (old->kind != format::FunctionKind::kBlock) continue;
    const format::Ref made = session.code_map.function_with_key(old->address, old->kind);
    if (made == 0) return;
    auto* block = session.arena.at<format::Function>(made);
    auto copy = [&](format::Ref string) -> format::Ref {
      if (string == 0) return 0;
      const auto* text = parent.at<format::String>(string);
      return session.arena.add_string(text->bytes, text->length);
    };
    block->name = copy(old->name);
    block->file = copy(old->file);
    block->size = old->size;
    session.blocks[old->address] = made;
  }
}

signal_safe::Arena parent_arena;  // only while a forked child is being set up
signal_safe::FunctionCache* child_functions = nullptr;

format::Ref translate_function(format::Ref parent_node) {
  const auto* node = parent_arena.at<format::Node>(parent_node);
  const auto* function = parent_arena.at<format::Function>(node->function);
  switch (function->kind) {
    case format::FunctionKind::kBlock:
      return session.function_of_block(static_cast<std::uint32_t>(function->address));
    case format::FunctionKind::kOverflow:
      return session.overflow;
    default: {
      const format::Ref made =
          session.code_map.hooked_function_at(*child_functions, function->address);
      if (made != 0) session.arena.at<format::Function>(made)->flags |= function->flags;
      return made;
    }
  }
}

// A forked child that cannot have a profile is not recorded: the parent's file, which is mapped
// here too, is not its own. All that it gets there is to be counted.
void go_on_without_profile(signal_safe::Arena& parent, bool is_counted) {
  fbleprof_attach_lazily = 0;
  fbleprof_hot.self = reinterpret_cast<ThreadState*>(1);
  if (!is_counted) __atomic_fetch_add(&parent.header()->lost_children, 1, __ATOMIC_RELAXED);
  session.arena.adopt(nullptr, 0, 0);
}

// This process was forked from a profiled one: it gets a profile of its own, with the contexts that
// it inherited. The parent's file stays as it was.
void become_own_process(ThreadState* inherited) {
  if (confined) {
    // What is forbidden to the parent is to the child: a file takes system calls.
    abandon_all_threads();
    go_on_without_profile(session.arena, false);
    return;
  }
  take_pending_signal(nullptr);  // a child begins with none
  SamplingBlocked guard;
  const bool was_recording = session.recording.exchange(false);
  const ThreadState* old = inherited;
  const StackCopy stack{
      old->main_stack.gate,
      old->current == &old->main_stack ? fbleprof_hot.top : old->main_stack.saved_top, &old->tree};
  const StackBounds bounds{old->main_stack.low, old->main_stack.high};
  abandon_all_threads();
  finished = false;
  const Path base_path = output.base_path;
  const std::uint64_t parent_bytes = output.cap_bytes;
  parent_arena.adopt(session.arena.base(), parent_bytes, 0);
  const format::Ref first_function = parent_arena.header()->first_function;
  if (!start_profile(&base_path)) {
    go_on_without_profile(parent_arena, output.loss_is_counted);
    return;
  }
  add_loaded_modules();
  inherit_blocks(parent_arena, first_function);
  attach_this_thread(bounds, 0);
  if (fbleprof_hot.top) {
    child_functions = &fbleprof_hot.self->functions;
    replay_stack(stack, translate_function);
  }
  kernel_call(SYS_munmap, reinterpret_cast<long>(parent_arena.base()),
              static_cast<long>(parent_bytes));
  session.arena.header()->state = format::State::kLive;
  if (was_recording) start_all_threads();
}

// Whether this program is confined: a new kind of system call might be its end. timer_create is
// older and commoner than perf_event_open.
bool is_confined() {
  char text[4096];
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  text[length > 0 ? length : 0] = 0;
  for (const char* line = text; *line;) {
    constexpr char kName[] = "Seccomp:\t";
    bool same = true;
    for (std::size_t i = 0; same && i + 1 < sizeof kName; ++i) same = line[i] == kName[i];
    if (same) return line[sizeof kName - 1] != '0';
    while (*line && *line++ != '\n') {
    }
  }
  return false;
}

}  // namespace

bool is_profiling() { return session.arena.base() != nullptr && !finished; }

void abandon_profile() {
  session.recording.store(false);
  finished = true;
  say("the profile's file was truncated while the program ran: the profile is lost");
}

void remark(const char* text) {
  say(text);
  if (!session.arena.base()) return;
  const format::Ref ref = session.arena.allocate(sizeof(format::Note), 0);
  if (ref == 0) return;
  auto* note = session.arena.at<format::Note>(ref);
  note->text = add_text(text);
  signal_safe::push_front(&session.arena.header()->first_note, &note->next, ref);
}

void start_process(char** environment) {
  if (getauxval(AT_SECURE) != 0) return;
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("avx")) {
    // The hooks hash with crc32 and save vector registers with xsave.
    say("this processor lacks SSE4.2 or AVX: not profiled");
    return;
  }
  const std::uint64_t cpu_at_start = signal_safe::thread_cpu_ns();
  settings = read_settings(environment);
  perf_allowed = !is_confined();
  find_own_text();
  session.attach_thread = attach_unknown_thread;
  session.adopt_forked_child = become_own_process;
  if (!start_profile(nullptr)) return;
  add_loaded_modules();
  for (const char* line = settings.complaints.c_str(); *line;) {
    Text<512> one;
    while (*line && *line != '\n') one.add(*line++);
    if (*line) ++line;
    remark(one.c_str());
  }
  if (settings.recording.clock != format::Clock::kTicks) {
    install_handler();
    open_mask_of_thread(false);
  }
  {
    SamplingBlocked guard;
    attach_this_thread(bounds_of_main_thread(), cpu_at_start);
  }
  watch_fatal_signals();
  if (settings.start) start_all_threads();
  session.arena.header()->state = format::State::kLive;
  fbleprof_attach_lazily = 1;
}

void finish_process(format::State state, std::uint32_t code) {
  if (!is_profiling()) return;
  if (confined) {
    // A system call might end the program in another way than it ended itself.
    finished = true;
    session.arena.header()->end_code = code;
    session.arena.header()->state = state;
    return;
  }
  if (!is_own_process()) return;
  SamplingBlocked guard;
  finished = true;
  if (fbleprof_hot.top) {
    disarm_timer(*fbleprof_hot.self);
    drain_pending();
    signal_safe::charge_rest(*fbleprof_hot.self);
    prctl(PR_GET_NAME, fbleprof_hot.self->record->name);
  }
  const bool has_time = settings.recording.clock != format::Clock::kTicks;
  if (session.recording.load() && has_time) {
    for_each_attached([](ThreadState& thread, void*) { charge_from_outside(thread); }, nullptr);
  }
  format::Header* header = session.arena.header();
  header->end_code = code;
  header->process_cpu_ns = clock_reading(CLOCK_PROCESS_CPUTIME_ID);
  header->end_monotonic_ns = signal_safe::monotonic_ns();
  const Content content = content_of_profile();
  if (!has_time && !content.hooked && !output.is_secondary && state == format::State::kEnded) {
    remark(
        "the clock of ticks counts calls and ticks only, and nothing with hooks ran: "
        "there is nothing to show");
  }
  session.arena.freeze();
  header->state = state;
  // A child that was forked only to exec, or that ended within two sampling periods, has nothing to
  // show: programs that start thousands of them must not leave thousands of files.
  const bool is_trivial = state != format::State::kFatal && !content.hooked &&
                          content.cpu_ns < std::uint64_t{2'000'000'000} / settings.rate_hz;
  if (is_trivial && state == format::State::kExeced) header->flags |= format::kHeaderTrivial;
  if (is_trivial && output.is_secondary && state == format::State::kEnded) {
    remove_output(output);
  } else if (state != format::State::kExeced || !output.anonymous) {
    close_output(output, session.arena.populated_bytes());
  }
}

void before_confinement() {
  if (!is_profiling() || !is_own_process() || confined) return;
  SamplingBlocked guard;
  fbleprof_flush();
  for_each_attached([](ThreadState& thread, void*) { disarm_timer(thread); }, nullptr);
  drain_pending();
  session.arena.reserve(kBytesUnderConfinement);
  session.arena.freeze();
  close_output(output, session.arena.populated_bytes());
  confined = true;
  remark("the program confined itself with seccomp: from then on calls are counted, time is not");
}

void before_counter_is_forbidden() { session.clocks_by_system_call.store(true); }

void after_fork_in_child() {
  if (!session.arena.base() || !fbleprof_hot.top) return;
  if (!fbleprof_hot.self->canary->alive) become_own_process(fbleprof_hot.self);
}

Exec::Exec() : is_own_(!confined && is_own_process()), is_profiled_(is_own_ && is_profiling()) {
  if (is_profiled_) finish_process(format::State::kExeced, 0);
  if (is_own_) hand_over_to_next_program();
}

Exec::~Exec() {
  const int saved_errno = errno;
  if (is_own_) take_back_from_next_program();
  if (!is_profiled_) {
    errno = saved_errno;
    return;
  }
  finished = false;
  session.arena.header()->state = format::State::kLive;
  session.arena.header()->flags &= static_cast<std::uint16_t>(~format::kHeaderTrivial);
  if (reopen_output(output)) session.arena.thaw();
  if (fbleprof_hot.top && settings.recording.clock != format::Clock::kTicks) {
    SamplingBlocked guard;
    arm_timer(*fbleprof_hot.self, kSamplingSignal, settings.rate_hz, perf_allowed);
  }
  errno = saved_errno;
}

StackBounds bounds_of_new_thread(std::uint64_t stack_bytes) {
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  // The thread's control block and static TLS lie above its first frame, on the same mapping.
  return {here > stack_bytes ? here - stack_bytes : 0, here + 4096};
}

}  // namespace fbleprof::capture
