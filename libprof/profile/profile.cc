#include "profile/profile.h"

#include <fmt/format.h>

namespace fbleprof::profile {
namespace {

template <class T>
void fill_in(std::shared_ptr<const T>& part) {
  if (!part) part = std::make_shared<const T>();
}

}  // namespace

FunctionId Functions::add(const FunctionKey& row) {
  kind.push_back(row.kind);
  flags.push_back(row.flags);
  module.push_back(row.module);
  address.push_back(row.address);
  size.push_back(row.size);
  name.push_back(row.name);
  linkage_name.push_back(row.linkage_name);
  file.push_back(row.file);
  line.push_back(row.line);
  column.push_back(row.column);
  language.push_back(row.language);
  group.push_back(row.group);
  unit.push_back(row.unit);
  namesakes.push_back(row.namesakes);
  first_met_ns.push_back(row.first_met_ns);
  map_bytes.push_back(row.map_bytes);
  unhooked_ns.push_back(row.unhooked_ns);
  return FunctionId(count() - 1);
}

Profile::Profile() : Profile(Parts{}) {}

Profile::Profile(Parts parts) : parts_(std::move(parts)) {
  fill_in(parts_.strings);
  fill_in(parts_.processes);
  fill_in(parts_.threads);
  fill_in(parts_.modules);
  fill_in(parts_.functions);
  fill_in(parts_.sites);
  fill_in(parts_.trees);
  fill_in(parts_.nodes);
  fill_in(parts_.edges);
  fill_in(parts_.label_sets);
  if (parts_.snapshots && !parts_.snapshots->is_of(parts_.nodes.get(), parts_.edges.get())) {
    parts_.snapshots = nullptr;
  }
  fill_in(parts_.snapshots);
  fill_in(parts_.groups);
  for (const Process& process : processes()) {
    lacks_callees_ |= process.calls_without_callee != 0 || process.lost_many_calls;
  }
}

const Metric* Profile::find_metric(std::string_view name) const {
  for (const Metric& metric : parts_.metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

const Metric* Profile::find_metric(Role role) const {
  for (const Metric& metric : parts_.metrics) {
    if (metric.role == role && !metric.is_baseline) return &metric;
  }
  return nullptr;
}

const Metric* Profile::find_baseline(Role role) const {
  for (const Metric& metric : parts_.metrics) {
    if (metric.role == role && metric.is_baseline) return &metric;
  }
  return nullptr;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string display_name(const Profile& profile, FunctionId function) {
  const Functions& functions = profile.functions();
  const std::size_t i = function.index();
  if (const std::string_view name = profile.text(functions.name[i]); !name.empty()) {
    return std::string(name);
  }
  if (functions.kind[i] == FunctionKind::kBlock) {
    return fmt::format("[block {}]", functions.address[i]);
  }
  if (functions.kind[i] == FunctionKind::kScript) {
    return fmt::format("[script {}]", functions.address[i]);
  }
  const ModuleId module = functions.module[i];
  if (!module) return fmt::format("0x{:x}", functions.address[i]);
  const std::string_view path = profile.text(profile.modules()[module.index()].path);
  return fmt::format("{}+0x{:x}", path.empty() ? "?" : base_name(path), functions.address[i]);
}

}  // namespace fbleprof::profile
