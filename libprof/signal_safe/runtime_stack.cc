#include "signal_safe/runtime_stack.h"

#include "signal_safe/loaded_objects.h"
#include "signal_safe/unwind_table.h"

namespace fbleprof::signal_safe {

bool Runtimes::add(const void* loop, ReadRuntimeFrame read) {
  const auto at = reinterpret_cast<std::uint64_t>(loop);
  LoadedObject object;
  const std::uint32_t index = count.load(std::memory_order_relaxed);
  if (index == kMost || !read || !find_object(at, &object)) return false;
  const CodeRange range = code_range_at(at);
  Runtime& runtime = all[index];
  runtime.loop_begin = range.start;
  runtime.loop_end = range.start + (range.size != 0 ? range.size : 1);
  runtime.text_begin = object.begin;
  runtime.text_end = object.end;
  runtime.read.store(read, std::memory_order_relaxed);
  count.store(index + 1, std::memory_order_release);
  return true;
}

RuntimeWalk::RuntimeWalk(Runtimes& runtimes) {
  count_ = runtimes.count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count_; ++i) {
    One& one = all_[i];
    one.runtime = &runtimes.all[i];
    one.read = one.runtime->read.load(std::memory_order_relaxed);
    read_next(one);
    is_active_ |= one.has_frame;
  }
}

void RuntimeWalk::read_next(One& one) {
  one.frame = {};
  const int got = one.read(one.state, &one.frame);
  one.has_frame = got > 0;
  is_cut_ |= got < 0;
}

std::uint32_t RuntimeWalk::take(One& one) {
  taken_ = one.frame;
  if (one.frame.mark == 0 && one.frame.goes_on == 0) one.is_open = false;
  one.has_taken = true;
  read_next(one);
  return taken_.block;
}

void RuntimeWalk::visit(std::uint64_t pc, std::uint64_t low, std::uint64_t high) {
  pc_ = pc;
  low_ = low;
  high_ = high;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Runtime& runtime = *all_[i].runtime;
    One& one = all_[i];
    one.is_above |= one.has_taken;
    one.has_taken = false;
    one.is_open = pc >= runtime.loop_begin && pc < runtime.loop_end;
  }
}

std::uint32_t RuntimeWalk::next_block() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    One& one = all_[i];
    while (one.has_frame) {
      const std::uint64_t mark = one.frame.mark;
      if (mark == 0 ? !one.is_open : mark < low_ || mark >= high_) break;
      if (const std::uint32_t block = take(one)) return block;
    }
  }
  return 0;
}

bool RuntimeWalk::hides() const {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const One& one = all_[i];
    const bool is_between = one.has_taken || (one.is_above && one.has_frame);
    if (is_between && pc_ >= one.runtime->text_begin && pc_ < one.runtime->text_end) return true;
  }
  return false;
}

bool RuntimeWalk::runs_in_loop(std::uint64_t sp, std::uint64_t* pc, std::uint64_t* loop_sp) const {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const One& one = all_[i];
    if (!one.has_frame || one.frame.goes_on != kInLoop || one.frame.mark < sp) continue;
    *pc = one.runtime->loop_begin;
    *loop_sp = one.frame.mark;
    return true;
  }
  return false;
}

bool RuntimeWalk::is_loop(std::uint64_t pc) const {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Runtime& runtime = *all_[i].runtime;
    if (pc >= runtime.loop_begin && pc < runtime.loop_end) return true;
  }
  return false;
}

std::uint32_t RuntimeWalk::rest() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    One& one = all_[i];
    while (one.has_frame) {
      if (const std::uint32_t block = take(one)) return block;
    }
  }
  return 0;
}

}  // namespace fbleprof::signal_safe
