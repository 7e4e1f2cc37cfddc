#include "report/cli/missing_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "report/text/escape.h"
#include "report/text/names.h"
#include "symbolize/packages.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr double kLeastShare = 0.01;  // least share of the whole that is reported
constexpr std::size_t kMostModules = 3;

// The self cost of a module's functions without a name.
struct Unnamed {
  std::size_t module;
  std::uint64_t cost;
};

bool has_warning(const Profile& profile, std::size_t module) {
  const std::string start = fmt::format("{}: ", profile.text(profile.modules()[module].path));
  return std::any_of(profile.warnings().begin(), profile.warnings().end(),
                     [&](const std::string& warning) { return warning.starts_with(start); });
}

std::vector<Unnamed> unnamed_modules(const Profile& profile, const Metric& metric,
                                     std::uint64_t& total) {
  const Functions& functions = profile.functions();
  const auto lacks_name = [&](std::size_t f) {
    const bool is_code = functions.kind[f] == FunctionKind::kNative ||
                         functions.kind[f] == FunctionKind::kInstruction;
    return is_code && functions.address[f] != 0 && functions.module[f] &&
           profile.text(functions.name[f]).empty();
  };
  std::vector<std::uint8_t> unnamed(functions.count());
  for (std::size_t f = 0; f < unnamed.size(); ++f) unnamed[f] = lacks_name(f);
  if (std::find(unnamed.begin(), unnamed.end(), 1) == unnamed.end()) return {};
  std::vector<std::uint64_t> costs(profile.modules().size());
  const Nodes& nodes = profile.nodes();
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const std::uint64_t own = metric.value(NodeId(n));
    total += own;
    const std::size_t f = nodes.function[n].index();
    if (unnamed[f] != 0) costs[functions.module[f].index()] += own;
  }
  std::vector<Unnamed> found;
  for (std::size_t m = 0; m < costs.size(); ++m) {
    if (has_warning(profile, m)) continue;
    if (costs[m] != 0 && static_cast<double>(costs[m]) >= kLeastShare * static_cast<double>(total))
      found.push_back({m, costs[m]});
  }
  std::sort(found.begin(), found.end(),
            [](const Unnamed& a, const Unnamed& b) { return a.cost > b.cost; });
  if (found.size() > kMostModules) found.resize(kMostModules);
  return found;
}

}  // namespace

bool MissingNames::matter_in(std::string_view text) const {
  return std::any_of(modules.begin(), modules.end(), [&](const std::string& module) {
    return text.find(escape(module) + "+0x") != std::string_view::npos;
  });
}

MissingNames missing_names(const Profile& profile, const Metric& metric) {
  if (metric.aggregation != Aggregation::kSum) return {};
  std::uint64_t total = 0;
  const std::vector<Unnamed> found = unnamed_modules(profile, metric, total);
  if (found.empty()) return {};
  std::vector<std::string> paths, shares, install;
  for (const Unnamed& each : found) {
    paths.emplace_back(profile.text(profile.modules()[each.module].path));
    shares.push_back(fmt::format(
        "{:.0f} % of {} in {}", 100.0 * static_cast<double>(each.cost) / static_cast<double>(total),
        escape(metric.name), escape(base_name(paths.back()))));
  }
  bool any_own = false, any_other = false;
  const std::vector<std::string> packages = symbolize::packages_of(paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string& package = packages[i];
    const bool is_system = paths[i].starts_with("/usr/lib") || paths[i].starts_with("/lib");
    if (package.empty()) (is_system ? any_other : any_own) = true;
    const std::string debug = package.empty() ? "" : symbolize::debug_package_of(package);
    if (!debug.empty() && std::find(install.begin(), install.end(), debug) == install.end())
      install.push_back(debug);
  }
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  std::vector<std::string> remedies;
  if (!install.empty()) {
    remedies.push_back(fmt::format("install {}", fmt::join(install, " and ")));
    if (urls == nullptr || *urls == '\0') {
      remedies.emplace_back("set DEBUGINFOD_URLS=https://debuginfod.debian.net");
    }
  }
  if (any_other) remedies.emplace_back("install their debug symbols");
  if (any_own) remedies.emplace_back("keep the symbols of what you build (no strip, no -s)");
  MissingNames result;
  result.advice = fmt::format("functions without names take {}; to see their names, {}",
                              fmt::join(shares, ", "), fmt::join(remedies, ", or "));
  for (const std::string& path : paths) result.modules.emplace_back(base_name(path));
  return result;
}

}  // namespace fbleprof::report
