#include "transform/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

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

// How many letters were left out, added, replaced or swapped with the next, at most `most` + 1.
std::size_t slips(std::string_view a, std::string_view b, std::size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// A name of one or two letters resembles too many others.
bool is_like(std::string_view wanted, std::string_view name) {
  const std::size_t most = wanted.size() < 4 ? 0 : wanted.size() < 8 ? 1 : 2;
  return most != 0 && name.size() <= 256 && slips(wanted, name, most) <= most;
}

}  // namespace

std::string likely_meant(const Profile& profile, std::span<const FunctionId> candidates,
                         const std::string& pattern, std::string otherwise) {
  const std::string wanted = lower(without_parameters(pattern));
  if (wanted.empty() || !is_exact(pattern)) return otherwise;

  std::set<std::tuple<int, std::size_t, std::string>> found;  // the best first
  std::vector<std::uint8_t> seen(profile.functions().count());
  for (const FunctionId function : candidates) {
    if (seen[function.index()] != 0) continue;
    seen[function.index()] = 1;
    const std::string_view name = profile.text(profile.functions().name[function.index()]);
    if (name.empty()) continue;
    const std::string whole = lower(without_parameters(name)), last = lower(unqualified(name));
    const int rank = whole == wanted || last == wanted         ? 0
                     : last.find(wanted) != std::string::npos  ? 1
                     : whole.find(wanted) != std::string::npos ? 2
                     : is_like(wanted, last)                   ? 3
                                                               : 4;
    if (rank == 4) continue;
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
