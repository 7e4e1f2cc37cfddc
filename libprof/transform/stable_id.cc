#include "transform/stable_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace fbleprof::transform {

using namespace profile;

namespace {

constexpr std::uint64_t kBits = 48;  // twelve digits: two of a million functions meet in 1 of 500

std::uint64_t hash(std::uint64_t from, std::string_view text) {
  for (const char c : text) {
    from = (from ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return (from ^ 0xff) * 0x100000001b3u;  // ends the text
}

// What tells a function from others of its name that the profile need not hold; "" = nothing does.
std::string_view home_of(const Profile& profile, std::size_t function) {
  const Functions& functions = profile.functions();
  switch (functions.kind[function]) {
    case FunctionKind::kBlock:
    case FunctionKind::kScript:
    case FunctionKind::kJit:
      return base_name(profile.text(functions.file[function]));
    default:
      return functions.namesakes[function] > Namesakes::kNone
                 ? profile.text(functions.unit[function])
                 : std::string_view();
  }
}

}  // namespace

std::vector<std::uint64_t> stable_ids(const Profile& profile) {
  const Functions& functions = profile.functions();
  std::vector<std::uint64_t> of_module;
  for (const Module& module : profile.modules()) {
    of_module.push_back(hash(0xcbf29ce484222325u, base_name(profile.text(module.path))));
  }
  std::vector<std::uint64_t> ids(functions.count());
  for (std::size_t f = 0; f < ids.size(); ++f) {
    std::uint64_t id = functions.module[f] ? of_module[functions.module[f].index()] : 0;
    const std::string_view linkage = profile.text(functions.linkage_name[f]);
    id = hash(id, linkage.empty() ? display_name(profile, FunctionId(f)) : linkage);
    const std::string_view home = home_of(profile, f);
    if (!home.empty()) id = hash(id, home);
    ids[f] = (id ^ id >> kBits) & ((std::uint64_t{1} << kBits) - 1);
  }
  std::vector<std::uint32_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (ids[a] != ids[b]) return ids[a] < ids[b];
    return std::tie(functions.address[a], functions.line[a], a) <
           std::tie(functions.address[b], functions.line[b], b);
  });
  for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
    if (ids[order[i]] != ids[order[first]]) {
      first = i;
      continue;
    }
    ids[order[i]] += i - first;
  }
  return ids;
}

std::string id_text(std::uint64_t id) { return fmt::format("{}{:012x}", kIdPrefix, id); }

}  // namespace fbleprof::transform
