// A folder of files that can be made again, which keeps below a size limit.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace fbleprof {

// Removes the files with this extension that were not written for longest until the others have at
// most `most_bytes` together. Who touches a file when reading it keeps it for longer. Also removes
// NAME.EXTENSION.* that is more than an hour old: a process was killed before it gave this file its
// name. `extension` begins with a dot. Ignores errors, and what other processes remove meanwhile.
inline void drop_oldest_files(const std::filesystem::path& folder, std::string_view extension,
                              std::uint64_t most_bytes) {
  namespace fs = std::filesystem;
  constexpr std::chrono::hours kLongestWrite(1);
  struct Kept {
    fs::path path;
    fs::file_time_type used;
    std::uint64_t size;
  };
  std::vector<Kept> all;
  std::uint64_t sum = 0;
  std::error_code bad;
  for (fs::directory_iterator it(folder, bad), end; !bad && it != end; it.increment(bad)) {
    std::error_code gone;
    const fs::path& path = it->path();
    const auto used = fs::last_write_time(path, gone);
    const std::uint64_t size = gone ? 0 : fs::file_size(path, gone);
    if (gone) continue;
    if (path.extension() == extension) {
      all.push_back({path, used, size});
      sum += size;
    } else if (path.stem().extension() == extension &&
               used < fs::file_time_type::clock::now() - kLongestWrite) {
      fs::remove(path, gone);
    }
  }
  std::sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& oldest : all) {
    if (sum <= most_bytes) break;
    fs::remove(oldest.path, bad);
    sum -= oldest.size;
  }
}

}  // namespace fbleprof
