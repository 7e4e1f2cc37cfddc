// Strongly connected components of a graph of functions.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace fbleprof::analysis {

// `edges` lead from number to number, all below `count`. By number: its component; a component's
// number is greater than those of the components that it leads to. Tarjan's algorithm with an
// explicit stack, since call graphs are deep.
std::vector<std::uint32_t> components(
    std::size_t count, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

}  // namespace fbleprof::analysis
