// Times as people write them: 500ms, 10s, 5m, 1h; a number alone is in seconds.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace fbleprof::launch {

// Nothing if the text is not such a time, or is longer than 1000 hours.
std::optional<std::chrono::milliseconds> read_time(const std::string& text);

// "1.5s", "12m 3s", for people.
std::string time_text(std::chrono::nanoseconds time);

// How often to take a snapshot, and how many to keep: "10s" or "10s,6".
struct Windows {
  std::chrono::milliseconds every{0};  // 0: none
  unsigned most = 12;                  // 1 to 1000
};
std::optional<Windows> read_windows(const std::string& text);

}  // namespace fbleprof::launch
