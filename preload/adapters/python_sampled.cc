#include "adapters/python_sampled.h"

#include "adapters/python_exact.h"

namespace fbleprof::adapters::python {

namespace {

// Detects a list that leads back to an earlier place, which is possible while the list changes.
// Compares with the places at powers of two.
struct Progress {
  uint32_t steps, next_noted;
  Address noted;

  bool may_go_on(Address at) {
    constexpr uint32_t kMost = 1 << 20;
    if (at == noted || steps++ > kMost) return false;
    if (steps > next_noted) {
      next_noted = steps * 2;
      noted = at;
    }
    return true;
  }
};

constexpr unsigned kKnownCodes = 4;

// The reader's progress.
struct Reading {
  bool has_begun;
  Address cframe, frame, mark;
  Address codes[kKnownCodes];  // met before, and their blocks: recursion
  fbleprof_block blocks[kKnownCodes];
  Progress frames, cframes;

  fbleprof_block block_of(Address code) {
    const unsigned i = reinterpret_cast<uintptr_t>(code) / 64 % kKnownCodes;
    if (codes[i] != code) {
      blocks[i] = block_of_code(code);
      codes[i] = code;
    }
    return blocks[i];
  }
};
constexpr int kFrameBytes = 72;

bool is_entry(Address frame) {
  return layout->entry >= 0 && at<uint8_t>(frame, layout->entry) == layout->entry_value;
}

// 3.13 keeps the mark at the end of the frames that share it.
Address mark_of(Address frame) {
  char head[kFrameBytes];
  Progress frames{};
  while (frames.may_go_on(frame) && peek(frame, head, sizeof head)) {
    if (is_entry(head)) return frame;
    frame = at<Address>(head, layout->caller);
  }
  return nullptr;
}

// The function of a frame and its caller tell whether it is still there.
void describe_place(Address frame, Address head, fbleprof_frame* out) {
  const int fields[] = {layout->code, layout->caller};
  for (int i = 0; i < 2; ++i) {
    out->place[i] = reinterpret_cast<uint64_t>(frame + fields[i]);
    out->value[i] = at<uint64_t>(head, fields[i]);
  }
}

bool begin(Reading& reading, Address thread) {
  reading.has_begun = true;
  if (!thread) return false;
  Address& first = layout->has_cframes ? reading.cframe : reading.frame;
  if (!peek(thread + layout->thread_frames, &first, sizeof first)) return false;
  if (!layout->has_cframes && layout->is_entry_extra) reading.mark = mark_of(reading.frame);
  return true;
}

// Moves to the frames of the next outer invocation of the loop.
bool next_cframe(Reading& reading) {
  char head[24];
  if (!layout->has_cframes || !reading.cframes.may_go_on(reading.cframe)) return false;
  if (!peek(reading.cframe, head, sizeof head)) return false;
  reading.mark = reading.cframe;
  reading.frame = at<Address>(head, layout->newest);
  reading.cframe = at<Address>(head, layout->outer);
  return true;
}
static_assert(sizeof(Reading) <= 128);

enum class Running { kNothing, kFunctions, kOtherStructures };

// What the frames of a thread lead to. Other threads may change them meanwhile.
Running look_at(Address thread) {
  constexpr int kMostFrames = 8;
  Reading reading{};
  if (!begin(reading, thread)) return Running::kNothing;
  Running found = Running::kNothing;
  char head[kFrameBytes];
  for (int i = 0; i < kMostFrames; ++i) {
    if (!peek(reading.frame, head, sizeof head)) {
      if (!next_cframe(reading)) break;
      continue;
    }
    if (is_code(at<Address>(head, layout->code))) return Running::kFunctions;
    const bool is_extra = is_entry(head) && layout->is_entry_extra;
    if (!is_extra) found = Running::kOtherStructures;
    reading.frame = at<Address>(head, layout->caller);
  }
  return found;
}

}  // namespace

bool is_running_code_known() {
  constexpr int kTries = 16;
  constexpr uint32_t kMostThreads = 1000;
  Running found = Running::kNothing;
  for (int i = 0; i < kTries; ++i) {
    void* interpreter = python.main_interpreter();
    auto thread = static_cast<Address>(interpreter ? python.first_thread(interpreter) : nullptr);
    for (uint32_t n = 0; thread && n < kMostThreads; ++n) {
      const Running here = look_at(thread);
      if (here == Running::kFunctions) return true;
      if (here != Running::kNothing) found = here;
      if (!peek(thread + kThreadNext, &thread, sizeof thread)) break;
    }
    if (found == Running::kNothing) return true;
  }
  return false;
}

int read_frame(void* state, fbleprof_frame* out) {
  auto& reading = *static_cast<Reading*>(state);
  if (!reading.has_begun) {
    if (is_exact()) claim_this_thread();
    if (is_exact() || !begin(reading, static_cast<Address>(python.this_thread()))) return 0;
  }
  char head[kFrameBytes];
  for (;;) {
    if (!peek(reading.frame, head, sizeof head)) {
      if (!next_cframe(reading)) return 0;
      continue;
    }
    if (!reading.frames.may_go_on(reading.frame)) return 0;
    const Address frame = reading.frame;
    const bool enters = is_entry(head);
    const bool is_extra = enters && layout->is_entry_extra;
    reading.frame = at<Address>(head, layout->caller);
    out->mark = reinterpret_cast<uint64_t>(reading.mark);
    if (enters && layout->has_cframes) reading.frame = nullptr;
    if (is_extra && !layout->has_cframes) reading.mark = mark_of(reading.frame);
    if (is_extra) continue;
    out->block = reading.block_of(at<Address>(head, layout->code));
    if (out->block != 0) {
      describe_place(frame, head, out);
      return 1;
    }
    // After an invalid frame there are no valid ones.
    reading.frame = nullptr;
  }
}

}  // namespace fbleprof::adapters::python
