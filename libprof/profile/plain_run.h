// The sampled run that stands behind a counted one in its file; see format/plain_run.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace fbleprof::profile {

// The whole file of the sampled run. None: there is no such run, or no such file.
std::optional<std::vector<std::byte>> plain_run_of(const std::string& path);

// Whether there is one.
bool has_plain_run(const std::string& path);

// Puts the sampled run behind the records of a whole file.
void append_plain_run(std::vector<std::byte>& file, const std::vector<std::byte>& plain_run);

}  // namespace fbleprof::profile
