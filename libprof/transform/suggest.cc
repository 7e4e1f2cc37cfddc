#include "transform/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "names/parts.h"
#include "transform/matcher.h"

namespace fbleprof::transform {

using namespace profile;
using names::unqualified;
using names::without_parameters;

namespace {

constexpr std::size_t kMost = 3;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

std::string likely_meant(const Profile& profile, std::span<const FunctionId> candidates,
                         const std::string& pattern, std::string otherwise) {
  const std::string wanted = lower(without_parameters(pattern));
  if (wanted.empty() || !is_exact(pattern)) return otherwise;

  std::set<std::tuple<int, std::size_t, std::string>> found;  // the best first
  std::vector<std::uint8_t> seen(profile.functions().count());
  for (const FunctionId function : candidates) {
    if (seen[function.index()]++ != 0) continue;
    const std::string_view name = profile.text(profile.functions().name[function.index()]);
    if (name.empty()) continue;
    const std::string whole = lower(without_parameters(name)), last = lower(unqualified(name));
    const int rank = whole == wanted || last == wanted         ? 0
                     : last.find(wanted) != std::string::npos  ? 1
                     : whole.find(wanted) != std::string::npos ? 2
                                                               : 3;
    if (rank == 3) continue;
    found.emplace(rank, name.size(), name);
    if (found.size() > kMost) found.erase(std::prev(found.end()));
  }
  if (found.empty()) return otherwise;
  std::string text = "did you mean ";
  std::size_t i = 0;
  for (const auto& [rank, size, name] : found) {
    text += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == found.size() ? " or " : ", ", name);
    ++i;
  }
  return text + "?";
}

std::string likely_meant(const Profile& profile, const std::string& pattern,
                         std::string otherwise) {
  return likely_meant(profile, profile.nodes().function, pattern, std::move(otherwise));
}

}  // namespace fbleprof::transform
