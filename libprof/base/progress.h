// How long steps report their progress. The front end decides whether to show it.
#pragma once

#include <cstdint>
#include <string_view>

namespace fbleprof {

class Progress {
 public:
  virtual ~Progress() = default;
  // `done` of `total` units of `step`; called often, from one thread.
  virtual void update(std::string_view step, std::uint64_t done, std::uint64_t total) = 0;
};

}  // namespace fbleprof
