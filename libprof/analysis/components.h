// Strongly connected components of a graph of functions.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace fbleprof::analysis {

// `edges` from number to number below `count`. By number: its component; a component's number is
// greater than those that it leads to. Tarjan's algorithm with a stack of its own, since call
// graphs are deep.
std::vector<std::uint32_t> components(
    std::size_t count, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

}  // namespace fbleprof::analysis
