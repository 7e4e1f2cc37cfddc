// The recorder's C API as adapters find it, without a recorder: remembers what they register, enter
// and leave. While one of these exists, the adapters in the test's program use it.
#pragma once

#include <fbleprof/fbleprof.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fbleprof::adapters {

class FakeRecorder {
 public:
  struct Block {
    std::uint64_t key;
    std::string name, file, language;
    std::uint32_t line;
  };

  FakeRecorder();
  ~FakeRecorder();
  FakeRecorder(const FakeRecorder&) = delete;
  FakeRecorder& operator=(const FakeRecorder&) = delete;

  std::vector<Block> blocks;        // number 1 first
  std::vector<std::string> events;  // "enter f", "leave f", "switch to 1", ...
  bool has_space = true;            // for blocks
  bool has_contexts = true;
  bool resets_contexts = true;
  bool knows_loops = true;
  int (*reader)(void* state, fbleprof_frame* frame) = nullptr;  // that an adapter has given
  std::set<int> contexts;                                       // those that were not freed
  const std::uint64_t* registers = nullptr;
  std::vector<std::vector<const void*>> callers;  // what fbleprof_callers answers, call by call

  std::string name_of(fbleprof_block block) const {
    if (block == 0) return "none";
    return block <= blocks.size() ? blocks[block - 1].name : "unknown";
  }
  fbleprof_block block_named(const std::string& name) const;
  std::string take_events();  // one a line
};

// Runs a part of a test in a process of its own: what is looked up or begun there is done once in a
// process.
void in_child(const std::function<void()>& part);

}  // namespace fbleprof::adapters
