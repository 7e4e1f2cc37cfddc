// mlmon.out -> Profile.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "base/progress.h"
#include "base/result.h"
#include "profile/file_image.h"
#include "profile/profile.h"
#include "profile/records.h"

namespace fbleprof::profile {

struct ReadOptions {
  Progress* progress = nullptr;
  // Ask this machine whether a process without a recorded end is still running, and look beside the
  // file for the program that followed an exec. Off: the first is kUnknown, the second is not
  // known.
  bool look_for_process = true;
};

// A profile and what had to be left out of it.
struct ReadResult {
  Profile profile;
  Damage damage;
  // Nodes whose depth is not one more than their parent's.
  std::uint64_t wrong_depths = 0;
  bool is_truncated = false;
  // Records of a newer minor version that were skipped: how many of each kind.
  std::map<std::uint16_t, std::uint64_t> skipped;
};

// Reads a file of a program that is running, ended or was killed, whole or cut short. Reads as much
// as possible: a profile of a damaged or truncated file has one warning that says what is missing,
// and one of a newer minor version one that says what was skipped. Fails, with one line, only if
// the header shows that nothing can be read.
Result<ReadResult> read_file(const std::string& path, const ReadOptions& options = {});
Result<ReadResult> read_bytes(std::span<const std::byte> bytes, std::string name,
                              const ReadOptions& options = {});
ReadResult read_image(const FileImage& image, const ReadOptions& options = {});

}  // namespace fbleprof::profile
