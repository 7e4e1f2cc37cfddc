#include "transform/same_module.h"

#include <set>

namespace fbleprof::transform {

using namespace profile;

namespace {

// The base name of the main program, "" if there are several or none is known.
std::string only_program(const Profile& profile) {
  std::set<std::string_view> names;
  for (const Module& module : profile.modules()) {
    if ((module.flags & format::kModuleIsMain) != 0) {
      names.insert(base_name(profile.text(module.path)));
    }
  }
  return names.size() == 1 ? std::string(*names.begin()) : std::string();
}

}  // namespace

Profile mark_twins(const Profile& profile) {
  std::map<std::string_view, std::set<std::string_view>> paths;  // by base name
  for (const Module& module : profile.modules()) {
    const std::string_view path = profile.text(module.path);
    paths[base_name(path)].insert(path);
  }
  auto modules = std::make_shared<std::vector<Module>>(profile.modules());
  bool any = false;
  for (Module& module : *modules) {
    if (paths[base_name(profile.text(module.path))].size() < 2) continue;
    module.flags |= kModuleHasTwin;
    any = true;
  }
  if (!any) return profile;
  Parts parts = profile.parts();
  parts.modules = std::move(modules);
  return Profile(std::move(parts));
}

ModuleAliases renamed_program(const Profile& base, const Profile& now) {
  const std::string before = only_program(base), after = only_program(now);
  if (before.empty() || after.empty() || before == after) return {};
  // If the base has a module of the new name, that is another one.
  for (const Module& module : base.modules()) {
    if (base_name(base.text(module.path)) == after) return {};
  }
  return {{before, after}};
}

std::vector<std::string> module_identities(const Profile& profile, const ModuleAliases& aliases) {
  std::set<std::string_view> twins;
  for (const Module& module : profile.modules()) {
    if ((module.flags & kModuleHasTwin) != 0) twins.insert(base_name(profile.text(module.path)));
  }
  std::map<std::string_view, std::string> by_build;
  std::vector<std::string> identities;
  for (const Module& module : profile.modules()) {
    const std::string_view path = profile.text(module.path), name = base_name(path);
    std::string& identity = identities.emplace_back(path);
    if (twins.contains(name)) continue;
    const auto alias = aliases.find(name);
    identity = alias != aliases.end() ? alias->second : std::string(name);
    const std::string_view build = profile.text(module.build_id);
    if (!build.empty()) identity = by_build.try_emplace(build, identity).first->second;
  }
  return identities;
}

}  // namespace fbleprof::transform
