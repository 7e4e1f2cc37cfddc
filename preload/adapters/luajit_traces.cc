#include "adapters/luajit_traces.h"

namespace fbleprof::adapters::luajit {

namespace {

struct RawTrace {
  Header header;
  Address unused, gc_list;
  Address code_of_compiler;  // constants are below the code; biased
  std::uint32_t lowest_constant, map_entries;
  Address snapshots, map;
  Address start_prototype, start;
  std::uint32_t start_code, machine_bytes;
  Address machine_code;
  std::uint32_t loop_offset;
  std::uint16_t children, stack_bytes;
  std::uint16_t number, link;
};
static_assert(offsetof(RawTrace, machine_code) == 88 && offsetof(RawTrace, number) == 104);

struct Snapshot {
  std::uint32_t first_entry;
  std::uint16_t reference;
  std::uint16_t machine_offset;  // where its code begins
  std::uint8_t slots, top_slot, entries, exits;
};
static_assert(sizeof(Snapshot) == 12);

// An entry of a snapshot's map tells from where a slot gets its value.
constexpr std::uint16_t kFirstVariable = 0x8000;  // references below are constants
constexpr std::uint8_t slot_of(std::uint32_t entry) { return entry >> 24; }
constexpr std::uint16_t reference_of(std::uint32_t entry) { return entry & 0xffff; }

// The values that a snapshot gives to slots, where they are constants.
class SlotValues {
 public:
  SlotValues(const RawTrace& trace, const Snapshot& snapshot)
      : trace_(trace),
        entries_(trace.map + snapshot.first_entry * sizeof(std::uint32_t)),
        count_(snapshot.entries) {}

  // 0: it is no constant.
  std::uint64_t of(std::uint32_t slot) const {
    for (std::uint32_t i = 0; i < count_; ++i) {
      std::uint32_t entry = 0;
      if (!peek(entries_ + i * sizeof entry, &entry) || slot_of(entry) > slot) return 0;
      if (slot_of(entry) == slot) return constant(reference_of(entry));
    }
    return 0;
  }

  // Behind the entries: where the newest function goes on, and how many slots its frame is above
  // the trace's first one.
  std::uint64_t newest_frame() const {
    std::uint64_t both = 0;
    return peek(entries_ + count_ * sizeof(std::uint32_t), &both) ? both & 0xff : 0;
  }

 private:
  std::uint64_t constant(std::uint16_t reference) const {
    std::uint64_t value = 0;
    if (reference >= kFirstVariable || reference < trace_.lowest_constant) return 0;
    // The first of two instructions is the type.
    return peek(trace_.code_of_compiler + (reference + 1u) * sizeof value, &value) ? value : 0;
  }

  const RawTrace& trace_;
  Address entries_;
  std::uint32_t count_;
};

bool contains(const RawTrace& trace, Address pc) {
  return pc >= trace.machine_code && pc - trace.machine_code < trace.machine_bytes;
}

// The newest return address on the stack that lies in the trace; 0: none.
Address return_address(const RawTrace& trace, Address low, Address high) {
  constexpr Address kMostBytes = 4096;
  if (high - low > kMostBytes) return 0;
  for (Address at = low; at < high; at += sizeof(Address)) {
    Address word = 0;
    if (!peek(at, &word)) return 0;
    if (contains(trace, word)) return word - 1;
  }
  return 0;
}

// The last snapshot whose code begins at or before the instruction.
bool snapshot_at(const RawTrace& trace, Address pc, Snapshot* found) {
  const Address offset = pc - trace.machine_code;
  const std::uint32_t count = trace.header.detail[0] | trace.header.detail[1] << 8;
  std::uint32_t first = 0, end = count;  // offsets grow
  while (end - first > 1) {
    const std::uint32_t middle = (first + end) / 2;
    Snapshot snapshot;
    if (!peek(trace.snapshots + middle * sizeof snapshot, &snapshot)) return false;
    (snapshot.machine_offset <= offset ? first : end) = middle;
  }
  return count != 0 && peek(trace.snapshots + first * sizeof *found, found);
}

}  // namespace

Address Traces::find(Address global, std::uint32_t number) {
  constexpr Address kMostBytes = 8192;
  constexpr std::uint32_t kMostTraces = 65536;
  struct Table {
    Address traces;
    std::uint32_t next_free, size;
  };
  const auto trace_in = [number](Address at) {
    Table table;
    RawTrace trace;
    Address found = 0;
    const bool is_it = peek(at, &table) && table.traces != 0 && table.size > number &&
                       table.size <= kMostTraces && peek(table.traces + number * 8, &found) &&
                       peek(found, &trace) && trace.header.kind == kIsTrace &&
                       trace.number == number;
    return is_it ? found : 0;
  };
  if (global_ == global && table_ != 0) return trace_in(table_);
  // The compiler's state is behind the global state, at a distance that depends on the version.
  for (Address at = global; at < global + kMostBytes; at += 8) {
    const Address found = trace_in(at);
    if (found == 0) continue;
    global_ = global;
    table_ = at;
    return found;
  }
  return 0;
}

void Traces::read(Address global, std::uint32_t number, Address pc, Address low, Address high,
                  InlinedFrames* frames) {
  frames->count = 0;
  frames->below = 0;
  RawTrace trace;
  Snapshot snapshot;
  if (!peek(find(global, number), &trace)) return;
  if (!contains(trace, pc)) pc = return_address(trace, low, high);
  if (pc == 0 || !snapshot_at(trace, pc, &snapshot)) return;
  const SlotValues values(trace, snapshot);
  frames->below = object_of(values.of(0));
  for (std::uint64_t slot = values.newest_frame(); slot != 0;) {
    if (frames->count == InlinedFrames::kMost) return;
    const std::uint64_t function = values.of(static_cast<std::uint32_t>(slot));
    const std::uint64_t link = values.of(static_cast<std::uint32_t>(slot) + 1);
    const std::uint64_t slots = distance_to_caller(link) / 8;
    if (slots == 0 || slots > slot) return;
    slot -= slots;
    if (type_of(link) == Link::kVarArgs) continue;  // the same function's own frame is the next
    const Address site = type_of(link) == Link::kFromLua ? link : 0;
    if (function != 0) frames->frames[frames->count++] = {object_of(function), site};
  }
}

}  // namespace fbleprof::adapters::luajit
