// Parses and builds the address that a browser requests. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fbleprof::web {

struct Target {
  std::string path;                                             // decoded; begins with '/'
  std::vector<std::pair<std::string, std::string>> parameters;  // decoded, in order

  // The first parameter of that name; "" = there is none.
  std::string_view get(std::string_view name) const;
};

// Nothing: not a valid target (bad escapes, control characters, no path).
std::optional<Target> parse_target(std::string_view text);

// Everything except letters, digits and -._~:,* as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace fbleprof::web
