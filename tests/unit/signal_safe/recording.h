// A recorder without a program: a profile in memory, code that consists only of addresses, and a
// thread whose shadow stack the test moves. Recorded data is read back from the records, as a
// reader of the file would.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::test {

// Code: a mapped range that nobody runs, divided into functions of kBytes. Tests can write bytes to
// it that represent instructions.
class FakeCode {
 public:
  static constexpr std::uint64_t kBytes = 64;
  static constexpr std::uint32_t kFunctions = 4096;

  FakeCode();
  ~FakeCode();
  FakeCode(const FakeCode&) = delete;
  FakeCode& operator=(const FakeCode&) = delete;

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return begin_ + kFunctions * kBytes; }
  std::uint64_t start_of(std::uint32_t function) const { return begin_ + function * kBytes; }
  // What a hook of the function sees, and a return address in it.
  std::uint64_t hook_of(std::uint32_t function) const { return start_of(function) + 5; }
  std::uint64_t site_in(std::uint32_t function, std::uint32_t which = 0) const {
    return start_of(function) + 16 + which;
  }
  // Makes the return address `site` that of a direct call to `function`.
  void write_call(std::uint64_t site, std::uint32_t function);

  // Makes its first bytes those of an ELF file with that build-id.
  void write_build_id(const std::string& id);

  // Answers for the newest FakeCode.
  static signal_safe::CodeSource source();
  static std::uint64_t lookups();

 private:
  std::uint64_t begin_;
};

// A context as in the file.
struct ReadNode {
  format::Ref ref, parent;
  std::uint32_t function;  // its number in FakeCode, or a block's; kSpecial + kind for others
  std::uint64_t calls;
  std::uint8_t flags;
};
struct ReadEdge {
  format::Ref from, to;
  std::uint64_t calls;
  format::EdgeKind kind;
};

class Recording {
 public:
  static constexpr std::uint32_t kSpecial = 1u << 20;

  explicit Recording(const signal_safe::Options& options = {}, std::uint64_t cap_bytes = 64 << 20);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  FakeCode code;
  signal_safe::Session session;
  signal_safe::ThreadState thread;

  // For tests that change the tree directly: no handler interrupts in between.
  signal_safe::ThreadState nobody;
  signal_safe::BusyGuard guard{nobody};

  signal_safe::CallTree& tree() { return thread.tree; }
  format::Ref function(std::uint32_t number);

  // All records of the file, in order. Fails the test if the file breaks the format's rules.
  std::vector<ReadNode> nodes() const;
  std::vector<ReadEdge> edges() const;
  // Calls by (caller, callee), over all contexts.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> pairs() const;
  // Calls by "path from > path to", numbers joined by '/'.
  std::map<std::string, std::uint64_t> ways() const;

  // Makes the thread the current one for hooks of this test, until the next call.
  void attach();

 private:
  std::uint32_t number_of(format::Ref function) const;

  char* file_;
  std::uint64_t cap_bytes_;
  signal_safe::Slot* cache_;
  std::unique_ptr<signal_safe::Entry[]> shadow_;
  signal_safe::ForkCanary canary_{1, {}};
  signal_safe::LinkTable::Item first_links_[signal_safe::LinkTable::kFirstItems] = {};
  format::Thread record_{};
};

// A recording, and calls of hooked functions on a machine stack of its own.
class CallsOnStack {
 protected:
  explicit CallsOnStack(const signal_safe::Options& options) : recording(options) {}

  std::uint64_t frame_at(std::uint64_t depth) {
    return reinterpret_cast<std::uint64_t>(stack + 1000 - depth * 8);
  }
  void call(std::uint32_t caller, std::uint32_t callee, std::uint64_t depth);
  void know_the_stack() {
    recording.thread.main_stack.low = reinterpret_cast<std::uint64_t>(stack);
    recording.thread.main_stack.high = reinterpret_cast<std::uint64_t>(stack + 1024);
  }

  std::uint64_t stack[1024] = {};
  Recording recording;
};

}  // namespace fbleprof::test
