// What a truncated file still holds but no longer refers to.
//
// Lists run from the newest record to the oldest, so cutting off a file's end cuts off their heads:
// the edges of a node, the threads of the header. The records themselves point backwards, to things
// that are there. So the rest of the file is searched for records that can be nothing else: an edge
// whose two nodes know each other, a thread whose root is a root.
#pragma once

#include <span>
#include <vector>

#include "profile/records.h"

namespace fbleprof::profile {

class Salvage {
 public:
  // Nothing to salvage: the file is whole.
  Salvage() = default;
  // Searches all of the file; one pass over its units.
  explicit Salvage(const Records& records);

  // Units that hold an edge that leaves `node`; those on the node's list are among them.
  std::span<const format::Ref> edges_of(format::Ref node) const;
  // Units that hold a thread.
  const std::vector<format::Ref>& threads() const { return threads_; }

 private:
  struct Orphan {
    format::Ref from, edge;
  };
  std::vector<format::Ref> from_;  // sorted; edges_[i] leaves from_[i]
  std::vector<format::Ref> edges_;
  std::vector<format::Ref> threads_;
};

}  // namespace fbleprof::profile
