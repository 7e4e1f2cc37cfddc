#include "transform/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "transform/rebuild.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

// What tells one module's code from another's: its build, else its name.
struct ModuleKeys {
  std::vector<std::string> identity;  // by module; equal for builds of one program
  std::vector<std::string> build;     // by module; equal where addresses mean the same
};

ModuleKeys module_keys(const Profile& profile, const ModuleAliases& aliases) {
  ModuleKeys keys{module_identities(profile, aliases), {}};
  for (std::size_t m = 0; m < keys.identity.size(); ++m) {
    const Module& module = profile.modules()[m];
    const std::string_view build = profile.text(module.build_id);
    keys.build.push_back(fmt::format("{}\n{}", keys.identity[m], build));
  }
  return keys;
}

// A function of its own in the machine code, with a name.
bool is_named_native(const Profile& profile, std::size_t f) {
  const Functions& functions = profile.functions();
  return functions.kind[f] == FunctionKind::kNative &&
         (functions.flags[f] & kFunctionInlined) == 0 && !profile.text(functions.name[f]).empty();
}

// What tells named functions of one module and name apart: several static functions may share one.
// By function: its place among those of the same name, by address; 0 for the first. A part that the
// compiler split off ("f.cold") belongs to the first. Source files would tell as well, but are
// known only where somebody asked for lines: what is one function must not depend on that.
std::vector<std::uint32_t> namesakes(const Profile& profile, const ModuleKeys& modules) {
  const Functions& functions = profile.functions();
  std::map<std::pair<std::string_view, StringId>, std::vector<std::uint32_t>> by_name;
  for (std::size_t f = 0; f < functions.count(); ++f) {
    const bool is_part =
        profile.text(functions.linkage_name[f]).find('.') != std::string_view::npos;
    if (is_named_native(profile, f) && functions.module[f] && !is_part) {
      by_name[{modules.build[functions.module[f].index()], functions.name[f]}].push_back(
          static_cast<std::uint32_t>(f));
    }
  }
  std::vector<std::uint32_t> place(functions.count());
  for (auto& [name, same] : by_name) {
    // Imports know no address, but the source file.
    const auto where = [&](std::uint32_t f) {
      const std::uint64_t address = functions.address[f];
      return std::pair(address, address == 0 ? profile.text(functions.file[f]) : "");
    };
    std::sort(same.begin(), same.end(),
              [&](std::uint32_t a, std::uint32_t b) { return where(a) < where(b); });
    std::uint32_t at = 0;
    for (std::size_t i = 0; i < same.size(); ++i) {
      at += i > 0 && where(same[i]) != where(same[i - 1]);
      place[same[i]] = at;
    }
  }
  return place;
}

// By name of a native function: the module it is in, if that is one alone.
std::map<StringId, std::string_view> only_homes(const Profile& profile, const ModuleKeys& modules) {
  const Functions& functions = profile.functions();
  std::map<StringId, std::string_view> homes;
  for (std::size_t f = 0; f < functions.count(); ++f) {
    const ModuleId module = functions.module[f];
    if (!module || !is_named_native(profile, f)) continue;
    const std::string_view identity = modules.identity[module.index()];
    const auto [it, added] = homes.try_emplace(functions.name[f], identity);
    if (!added && it->second != identity) it->second = {};
  }
  return homes;
}

// By function: the first that is the same to people.
std::vector<FunctionId> classes(const Profile& profile, const ModuleAliases& aliases) {
  const Functions& functions = profile.functions();
  const ModuleKeys modules = module_keys(profile, aliases);
  const std::vector<std::uint32_t> place = namesakes(profile, modules);
  const std::map<StringId, std::string_view> homes = only_homes(profile, modules);
  using Key = std::tuple<FunctionKind, std::string_view, StringId, StringId, std::uint64_t,
                         std::uint16_t, bool>;
  std::map<Key, FunctionId> index;
  std::vector<FunctionId> class_of(functions.count());
  for (std::size_t f = 0; f < functions.count(); ++f) {
    const ModuleId module = functions.module[f];
    const FunctionKind kind = functions.kind[f];
    const auto inlined = static_cast<std::uint16_t>(functions.flags[f] & kFunctionInlined);
    Key key{kind,
            module ? std::string_view(modules.identity[module.index()]) : "",
            {},
            {},
            0,
            inlined,
            functions.group[f].valid()};
    auto& [k, home, name, file, number, i, is_group] = key;
    if (kind == FunctionKind::kInstruction || profile.text(functions.name[f]).empty()) {
      number = functions.address[f];
      if (module) home = modules.build[module.index()];
    } else {
      name = functions.name[f];
      // What the program names is known by its place too: one name may stand at several lines.
      const bool is_named = kind == FunctionKind::kBlock || kind == FunctionKind::kScript;
      if (is_named || inlined != 0) file = functions.file[f];
      number = is_named ? functions.line[f] : place[f];
      if (home.empty() && is_named_native(profile, f)) {
        if (const auto it = homes.find(name); it != homes.end()) home = it->second;
      }
    }
    class_of[f] = index.try_emplace(key, FunctionId(f)).first->second;
  }
  return class_of;
}

// By node: 1 = a context for what overflows into which nothing did. Every tree has one in store.
std::vector<std::uint8_t> idle_overflows(const Profile& profile) {
  const Nodes& nodes = profile.nodes();
  std::vector<std::uint8_t> idle(nodes.count());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    idle[n] = profile.functions().kind[nodes.function[n].index()] == FunctionKind::kOverflow &&
              nodes.subtree_end[n] == n + 1 &&
              std::all_of(profile.metrics().begin(), profile.metrics().end(),
                          [&](const Metric& metric) { return metric.value(NodeId(n)) == 0; });
  }
  return idle;
}

}  // namespace

Profile with_sites_apart(const Profile& profile) {
  Parts parts = profile.parts();
  parts.sites_apart = true;
  return Profile(std::move(parts));
}

Profile merge(const Profile& profile, const MergeOptions& options) {
  StringInterner strings(profile.strings());
  auto functions = std::make_shared<Functions>(profile.functions());
  Rebuilding how;
  how.root = functions->add({.kind = FunctionKind::kRoot, .name = strings.intern("[root]")});
  GroupMaker groups(profile, options.splits, strings, *functions);
  for (const Tree& tree : profile.trees()) how.groups.push_back(groups.above(tree));

  Parts parts = profile.parts();
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = functions;
  parts.groups = groups.take();
  const Profile extended{parts};
  how.class_of = classes(extended, options.aliases);
  for (std::vector<FunctionId>& groups : how.groups) {
    for (FunctionId& group : groups) group = how.class_of[group.index()];
  }
  how.folded.resize(functions->count());
  for (std::size_t f = 0; f < functions->count(); ++f) {
    how.folded[f] = !options.keep_leaves && functions->kind[f] == FunctionKind::kInstruction;
    functions->flags[how.class_of[f].index()] |= functions->flags[f];
  }
  how.folded_node = idle_overflows(extended);
  return rebuild(extended, how);
}

}  // namespace fbleprof::transform
