// Instructions that lead elsewhere.
#pragma once

#include <vector>

#include "rewrite/decoder.h"

namespace fbleprof::rewrite {

struct Branch {
  Address target, from;
  Instruction::Kind kind;  // kCall, kJump, kBranch or kUnmovable
  std::uint8_t length;

  bool operator<(const Branch& other) const {
    return target != other.target ? target < other.target : from < other.from;
  }
};

struct IndirectJump {
  Address at;
  bool reads_table;  // its target is in a table at a fixed place

  bool operator<(const IndirectJump& other) const { return at < other.at; }
};

}  // namespace fbleprof::rewrite
