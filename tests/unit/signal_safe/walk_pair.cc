#include "unit/signal_safe/walk_pair.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "signal_safe/loaded_objects.h"
#include "signal_safe/session.h"

namespace fbleprof::test {

using signal_safe::MachineState;

namespace {

bool has_unwind_table(std::uint64_t pc) {
  unw_proc_info_t info;
  return unw_get_proc_info_by_ip(unw_local_addr_space, pc, &info, nullptr) == 0;
}

bool is_unwinder(std::uint64_t pc) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(pc), &info) && info.dli_sname &&
         std::string_view(info.dli_sname).starts_with("_Unwind_R");
}

bool is_loaded(std::uint64_t pc) {
  signal_safe::LoadedObject object;
  return signal_safe::find_object(pc, &object);
}

std::string name_of(std::uint64_t pc) {
  Dl_info info{};
  char text[256];
  if (!dladdr(reinterpret_cast<void*>(pc), &info) || !info.dli_fname) return "?";
  const char* slash = __builtin_strrchr(info.dli_fname, '/');
  const auto origin =
      reinterpret_cast<std::uint64_t>(info.dli_sname ? info.dli_saddr : info.dli_fbase);
  std::snprintf(text, sizeof text, "%s+0x%lx (%s+0x%lx)", info.dli_sname ? info.dli_sname : "",
                pc - origin, slash ? slash + 1 : info.dli_fname,
                pc - reinterpret_cast<std::uint64_t>(info.dli_fbase));
  return text;
}

}  // namespace

WalkPair::WalkPair() : thread_(new signal_safe::ThreadState()) {
  thread_->session = &signal_safe::session;
  // Never freed: a late signal may still come.
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  thread_->main_stack.low = reinterpret_cast<std::uint64_t>(low);
  thread_->main_stack.high = thread_->main_stack.low + bytes;
  thread_->current = &thread_->main_stack;
  // libunwind caches rules by address alone, but a return address and an interrupted instruction
  // may be the same address with different rules.
  unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
}

void WalkPair::set_signal_stack(const void* low, std::size_t bytes) {
  thread_->signal_stack.low = reinterpret_cast<std::uint64_t>(low);
  thread_->signal_stack.high = thread_->signal_stack.low + bytes;
}

void WalkPair::forget_bounds() { thread_->main_stack = thread_->signal_stack = {}; }

void WalkPair::walk_ours(const ucontext_t& at, Path* path) {
  const auto& registers = at.uc_mcontext.gregs;
  const MachineState state{static_cast<std::uint64_t>(registers[REG_RIP]),
                           static_cast<std::uint64_t>(registers[REG_RSP]),
                           static_cast<std::uint64_t>(registers[REG_RBP]),
                           static_cast<std::uint64_t>(registers[REG_RBX]),
                           reinterpret_cast<const std::uint64_t*>(registers)};
  signal_safe::StackWalk walk(*thread_, state);
  path->count = 0;
  do {
    path->frames[path->count++] = walk.state();
  } while (path->count < kMost && walk.next());
  path->is_complete = walk.is_complete();
}

int WalkPair::walk_any(const MachineState& state) {
  signal_safe::StackWalk walk(*thread_, state);
  int count = 1;
  while (count < kMost && walk.next()) ++count;
  return count;
}

void WalkPair::walk_theirs(const ucontext_t& at, Path* path) {
  unw_cursor_t cursor;
  auto* context = const_cast<ucontext_t*>(&at);  // libunwind's context on Linux is ucontext_t
  path->count = 0;
  path->is_complete = false;
  if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME) != 0) return;
  int step = 1;
  while (step > 0 && path->count < kMost) {
    unw_word_t pc = 0, sp = 0, fp = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &pc);
    unw_get_reg(&cursor, UNW_REG_SP, &sp);
    unw_get_reg(&cursor, UNW_X86_64_RBP, &fp);
    if (pc == 0) break;
    path->frames[path->count++] = {pc, sp, fp};
    step = unw_step(&cursor);
  }
  path->is_complete = step == 0;
}

void WalkPair::compare(const ucontext_t& at) {
  walk_ours(at, &ours_);
  walk_theirs(at, &theirs_);
  ++samples;
  ours_complete += ours_.is_complete;
  for (int i = 0; i < ours_.count; ++i) outside_code += !is_loaded(ours_.frames[i].pc);
  int same = 0;
  auto equal = [&](int i) {
    const MachineState &a = ours_.frames[i], &b = theirs_.frames[i];
    if (a.fp != b.fp) ++fp_differs;
    return a.pc == b.pc && a.sp == b.sp;
  };
  while (same < ours_.count && same < theirs_.count && equal(same)) ++same;
  frames += static_cast<std::uint64_t>(same);
  if (static_cast<std::uint64_t>(same) > deepest) deepest = static_cast<std::uint64_t>(same);
  const bool ours_ended = same == ours_.count, theirs_ended = same == theirs_.count;
  if (ours_ended && theirs_ended) {
    ++(ours_.is_complete && theirs_.is_complete ? complete : both_stopped);
    return;
  }
  // Our walk stopped, and reports so, at code whose frame is unknown.
  if (ours_ended && !ours_.is_complete && same > 0 &&
      !has_unwind_table(ours_.frames[same - 1].pc - (same > 1 ? 1 : 0))) {
    ++without_table;
    return;
  }
  // The landing pad's own frame may be the same.
  if (same > 0 && (is_unwinder(ours_.frames[same - 1].pc) ||
                   (same > 1 && is_unwinder(ours_.frames[same - 2].pc)))) {
    ++leaving;
    leaving_short += !ours_.is_complete;
    return;
  }
  if (kept_count_ < kKept) kept_[kept_count_++] = {ours_, theirs_, same};
  ++(ours_ended && !ours_.is_complete ? stopped_short : mismatches);
}

void WalkPair::compare_here() {
  ucontext_t here;
  unw_getcontext(&here);
  compare(here);
}

std::string WalkPair::mismatch_text() const {
  std::string text;
  for (std::uint64_t m = 0; m < kept_count_; ++m) {
    const Mismatch& mismatch = kept_[m];
    text +=
        "mismatch " + std::to_string(m + 1) + ", at frame " + std::to_string(mismatch.at) + "\n";
    auto print = [&](const char* who, const Path& path) {
      const int last = path.count < mismatch.at + 3 ? path.count : mismatch.at + 3;
      for (int i = mismatch.at > 3 ? mismatch.at - 3 : 0; i < last; ++i) {
        const MachineState& s = path.frames[i];
        char line[128];
        std::snprintf(line, sizeof line, "  %s %3d pc %lx sp %lx fp %lx ", who, i, s.pc, s.sp,
                      s.fp);
        text += line + name_of(s.pc) + "\n";
      }
      text += std::string("  ") + who + (path.is_complete ? " complete\n" : " not complete\n");
    };
    print("ours  ", mismatch.ours);
    print("theirs", mismatch.theirs);
  }
  return text;
}

}  // namespace fbleprof::test
