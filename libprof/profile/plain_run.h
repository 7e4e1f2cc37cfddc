// The sampled run that follows a counted one in its file; see format/plain_run.h.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fbleprof::profile {

// The whole file of the sampled run. None: there is no such run, or no such file.
std::optional<std::vector<std::byte>> plain_run_of(const std::string& path);

// Whether there is a sampled run.
bool has_plain_run(const std::string& path);

// The same of a file in memory. Refers to it; empty: none.
std::span<const std::byte> plain_run_in(std::span<const std::byte> file);

// Appends the sampled run to the records of a whole file.
void append_plain_run(std::vector<std::byte>& file, const std::vector<std::byte>& plain_run);

}  // namespace fbleprof::profile
