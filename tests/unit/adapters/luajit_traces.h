// A trace of LuaJIT, laid out in a test's memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "luajit_memory.h"

namespace fbleprof::adapters::luajit {

class Trace {
 public:
  static constexpr std::uint16_t kFirstConstant = 0x7f00;
  static constexpr std::size_t kMachineBytes = 256;

  explicit Trace(std::uint16_t number) {
    raw_.put(9, std::uint8_t{kIsTrace})
        .put(32, constants_.address() - (kFirstConstant + 1) * 8)
        .put(40, std::uint32_t{kFirstConstant})
        .put(48, snapshots_.address())
        .put(56, map_.address())
        .put(84, std::uint32_t{kMachineBytes})
        .put(88, machine_.address())
        .put(104, number);
  }

  Raw& raw() { return raw_; }
  Address address() { return raw_.address(); }
  Address machine(std::size_t offset) { return machine_.address() + offset; }
  Raw& snapshots() { return snapshots_; }

  // A snapshot from this offset of the machine code on: what slots have, and where the newest
  // frame is.
  void add_snapshot(std::uint16_t offset, std::uint8_t newest,
                    const std::vector<std::pair<std::uint8_t, std::uint64_t>>& slots) {
    snapshots_.put(12 * count_, static_cast<std::uint32_t>(used_ / 4))
        .put(12 * count_ + 6, offset)
        .put(12 * count_ + 10, static_cast<std::uint8_t>(slots.size()));
    raw_.put(10, ++count_);
    for (const auto& [slot, value] : slots) add_entry(slot, reference_of(value));
    map_.put(used_, std::uint64_t{newest});
    used_ += 8;
  }
  void add_entry(std::uint8_t slot, std::uint16_t reference) {
    map_.put(used_, static_cast<std::uint32_t>(slot << 24 | reference));
    used_ += 4;
  }
  std::uint16_t reference_of(std::uint64_t value) {
    constants_.put(8 * constant_count_, value);
    return static_cast<std::uint16_t>(kFirstConstant + constant_count_++);
  }

 private:
  Raw raw_, constants_{8 * 512}, snapshots_{12 * 64}, map_{64 * 1024}, machine_{kMachineBytes};
  std::uint16_t count_ = 0, constant_count_ = 0;
  std::size_t used_ = 0;
};

// Puts the table of traces into LuaJIT's global state.
class TraceTable {
 public:
  TraceTable(Raw& global, std::size_t offset) : global_(global), offset_(offset) { set_size(16); }
  void set(std::uint16_t number, Address trace) { traces_.put(8 * number, trace); }
  void set_size(std::uint32_t size) {
    global_.put(offset_, traces_.address()).put(offset_ + 12, size);
  }
  void forget() { global_.put(offset_, Address{0}); }

 private:
  Raw& global_;
  std::size_t offset_;
  Raw traces_{8 * 64};
};

}  // namespace fbleprof::adapters::luajit
