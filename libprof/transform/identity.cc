#include "transform/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/safe_text.h"
#include "names/linkage.h"
#include "profile/folded_name.h"
#include "transform/namesakes.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

// Tells one module's code from another's: its build-id, else its name.
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

// A name as every format can express it. A recorded name equals the same name exported and read
// back, which is escaped already: nothing in it is escaped again.
std::string plain_name(std::string_view name) { return folded_name(escape(name)); }

// In whole names of files and directories.
bool is_end_of_path(std::string_view path, std::string_view end) {
  return path.ends_with(end) &&
         (path.size() == end.size() || path[path.size() - end.size() - 1] == '/');
}

class Identities {
 public:
  Identities(const Profile& profile, const ModuleAliases& aliases)
      : profile_(profile),
        functions_(profile.functions()),
        modules_(module_keys(profile, aliases)),
        class_of_(functions_.count()) {}

  std::vector<FunctionId> find() {
    std::vector<std::uint32_t> imported;
    find_homes();
    place_namesakes();
    // A class is known by the first function that is not a part, so that it has the linkage name
    // and the address of a whole function.
    std::vector<FunctionId*> classes(functions_.count());
    for (std::uint32_t f = 0; f < functions_.count(); ++f) {
      if (functions_.kind[f] == FunctionKind::kImported) {
        imported.push_back(f);
        continue;
      }
      FunctionId& known_as = recorded_.try_emplace(key_of(f), FunctionId(f)).first->second;
      if (is_part(known_as.index()) && !is_part(f)) known_as = FunctionId(f);
      classes[f] = &known_as;
    }
    for (std::uint32_t f = 0; f < functions_.count(); ++f) {
      if (classes[f] != nullptr) class_of_[f] = *classes[f];
    }
    if (imported.empty()) return std::move(class_of_);
    find_classes_in_trees();
    for (std::uint32_t f = 0; f < functions_.count(); ++f) {
      if (class_of_[f] == FunctionId(f)) add_candidate(f);
    }
    // Functions of which most is known come first, so that the others are matched with them.
    const auto facts = [&](std::uint32_t f) {
      return (functions_.module[f] ? 2 : 0) + (functions_.file[f] ? 1 : 0);
    };
    std::stable_sort(imported.begin(), imported.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return facts(a) > facts(b); });
    for (const std::uint32_t f : imported) {
      class_of_[f] = meaning_of(f);
      if (class_of_[f] == FunctionId(f)) add_candidate(f);
    }
    return std::move(class_of_);
  }

  std::vector<FunctionId> untold() && { return std::move(untold_); }

 private:
  using Key = std::tuple<FunctionKind, std::string_view, std::string_view, StringId, std::uint64_t,
                         std::uint16_t, bool, std::string_view>;

  static constexpr std::string_view kNoBuild = "\n";  // no module is called so

  bool is_inlined(std::size_t f) const { return (functions_.flags[f] & kFunctionInlined) != 0; }

  // A separate function in the machine code, with a name.
  bool is_named_native(std::size_t f) const {
    return functions_.kind[f] == FunctionKind::kNative && !is_inlined(f) &&
           !profile_.text(functions_.name[f]).empty();
  }

  // The linkage name, without the suffix of a part or a clone.
  std::string_view linkage_name(std::size_t f) const {
    const std::string_view name = profile_.text(functions_.linkage_name[f]);
    if (name.empty()) return profile_.text(functions_.name[f]);
    return names::split_linkage_name(name).function;
  }

  bool is_part(std::size_t f) const {
    return names::is_part(profile_.text(functions_.linkage_name[f]));
  }

  std::string_view identity_of(std::size_t f) const {
    const ModuleId module = functions_.module[f];
    return module ? std::string_view(modules_.identity[module.index()]) : "";
  }

  std::string_view build_of(std::size_t f) const {
    const ModuleId module = functions_.module[f];
    return module ? std::string_view(modules_.build[module.index()]) : kNoBuild;
  }

  void place_namesakes() {
    std::vector<NamedCode> code;
    for (std::uint32_t f = 0; f < functions_.count(); ++f) {
      if (!is_named_native(f)) continue;
      const std::string_view name = linkage_name(f);
      code.push_back({FunctionId(f), home_of(f, name), build_of(f), name});
    }
    Distinctions told = distinguish(profile_, code);
    distinction_.resize(functions_.count());
    for (std::size_t i = 0; i < code.size(); ++i) {
      distinction_[code[i].function.index()] = told.of_code[i];
    }
    untold_ = std::move(told.untold);
  }

  // By name of a recorded function: its module, if only one module has that name.
  void find_homes() {
    for (std::size_t f = 0; f < functions_.count(); ++f) {
      if (!functions_.module[f] || !is_named_native(f)) continue;
      const auto [it, added] = homes_.try_emplace(linkage_name(f), identity_of(f));
      if (!added && it->second != identity_of(f)) it->second = {};
    }
  }

  // The module of a function, whose name is given.
  std::string_view home_of(std::size_t f, std::string_view name) const {
    if (functions_.module[f]) return identity_of(f);
    const auto it = homes_.find(name);
    return it != homes_.end() ? it->second : std::string_view();
  }

  Key key_of(std::size_t f) const {
    const FunctionKind kind = functions_.kind[f];
    const auto variant = static_cast<std::uint16_t>(functions_.flags[f] &
                                                    (kFunctionInlined | format::kFunctionStandIn));
    Key key{kind, identity_of(f), {}, {}, 0, variant, functions_.group[f].valid(), {}};
    auto& [k, home, name, file, number, i, is_group, unit] = key;
    if (kind == FunctionKind::kInstruction || profile_.text(functions_.name[f]).empty()) {
      number = functions_.address[f];
      home = build_of(f);
      return key;
    }
    // What the program names is also told apart by file and line: several lines may share a name.
    const bool is_named =
        kind == FunctionKind::kBlock || kind == FunctionKind::kScript || kind == FunctionKind::kJit;
    name = is_named ? profile_.text(functions_.name[f]) : linkage_name(f);
    if (is_named || variant != 0) file = functions_.file[f];
    if (is_named) number = functions_.line[f];
    if (!is_named_native(f)) return key;
    const Distinction& told = distinction_[f];
    home = told.is_of_build ? build_of(f) : home_of(f, name);
    number = told.address;
    unit = told.unit;
    return key;
  }

  // --- imports

  void find_classes_in_trees() {
    is_in_tree_.resize(functions_.count());
    for (const FunctionId f : profile_.nodes().function) {
      const FunctionId known_as = class_of_[f.index()];
      is_in_tree_[(known_as ? known_as : f).index()] = true;
    }
  }

  void add_candidate(std::uint32_t f) {
    if (functions_.kind[f] == FunctionKind::kInstruction || functions_.group[f]) return;
    const std::string name = plain_name(display_name(profile_, FunctionId(f)));
    const std::string linkage = plain_name(profile_.text(functions_.linkage_name[f]));
    by_name_[name].push_back(f);
    if (!linkage.empty() && linkage != name) by_name_[linkage].push_back(f);
  }

  std::vector<std::uint32_t> named(std::string_view name) const {
    const auto found = by_name_.find(plain_name(name));
    return found != by_name_.end() ? found->second : std::vector<std::uint32_t>();
  }

  bool has_name(std::uint32_t f, StringId name) const {
    return functions_.name[f] == name || functions_.linkage_name[f] == name;
  }

  // What an export's name means: the functions of just this name if there are any, else those whose
  // name it can be, changed. One file changes all of its names or none, so two of them that differ
  // are two functions.
  std::vector<std::uint32_t> named(std::uint32_t f, StringId name) {
    const std::string_view text = profile_.text(name);
    if (text.empty()) return {};
    std::vector<std::uint32_t> candidates = named(text);
    const auto is_just_this = [&](std::uint32_t c) { return has_name(c, name); };
    if (!keep_if_any(candidates, is_just_this)) {
      std::erase_if(candidates, [&](std::uint32_t c) { return share_a_file(c, f); });
    }
    return candidates;
  }

  // Whether a profile that was read holds both functions.
  bool share_a_file(std::uint32_t a, std::uint32_t b) {
    if (files_.empty()) place_in_files();
    return std::any_of(files_[a].begin(), files_[a].end(), [&](std::uint64_t file) {
      return std::find(files_[b].begin(), files_[b].end(), file) != files_[b].end();
    });
  }

  void place_in_files() {
    files_.resize(functions_.count());
    const Nodes& nodes = profile_.nodes();
    for (std::size_t t = 0; t < profile_.trees().size(); ++t) {
      const Tree& tree = profile_.trees()[t];
      // Trees that were merged have no process any more.
      const std::uint64_t file = tree.process
                                     ? profile_.processes()[tree.process.index()].file.index()
                                     : std::uint64_t{1} << 32 | t;
      for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
        std::vector<std::uint64_t>& files = files_[nodes.function[n].index()];
        // A file's trees follow each other.
        if (files.empty() || files.back() != file) files.push_back(file);
      }
    }
  }

  template <class Is>
  static bool keep_if_any(std::vector<std::uint32_t>& candidates, Is is) {
    if (std::none_of(candidates.begin(), candidates.end(), is)) return false;
    std::erase_if(candidates, [&](std::uint32_t c) { return !is(c); });
    return true;
  }

  // Our exports mark namesakes by their modules, or by their files if modules do not tell them
  // apart. The one that has none is not marked.
  void keep_unmarked(std::vector<std::uint32_t>& candidates) const {
    std::set<std::string_view> modules;
    const bool is_by_module =
        std::all_of(candidates.begin(), candidates.end(),
                    [&](std::uint32_t c) { return modules.insert(module_name(c)).second; });
    keep_if_any(candidates, [&](std::uint32_t c) {
      return is_by_module ? !functions_.module[c] : !functions_.file[c];
    });
    if (!is_by_module) {
      keep_if_any(candidates, [&](std::uint32_t c) { return !functions_.module[c]; });
    }
  }

  std::string_view module_name(std::uint32_t f) const {
    const ModuleId module = functions_.module[f];
    return module ? base_name(profile_.text(profile_.modules()[module.index()].path))
                  : std::string_view();
  }

  // The recorded function that the imported one must be; the imported one itself if none is known.
  FunctionId meaning_of(std::uint32_t f) {
    std::vector<std::uint32_t> candidates = named(f, functions_.linkage_name[f]);
    if (candidates.empty()) candidates = named(f, functions_.name[f]);
    if (candidates.empty()) candidates = marked(profile_.text(functions_.name[f]));
    const auto same_file = [&](std::uint32_t c) {
      return functions_.file[c] && functions_.file[c] == functions_.file[f];
    };
    // Names from different modules are different functions. A function without a module is in none
    // (a block), or in one that the format does not tell.
    std::erase_if(candidates, [&](std::uint32_t c) {
      return functions_.module[f] && functions_.module[c] && identity_of(c) != identity_of(f);
    });
    // Two functions of one file at different lines are different.
    std::erase_if(candidates, [&](std::uint32_t c) {
      return functions_.kind[c] == FunctionKind::kImported && functions_.file[c] &&
             functions_.file[f] && build_of(c) == build_of(f) &&
             (!same_file(c) || functions_.line[c] != functions_.line[f]);
    });
    if (candidates.empty()) return FunctionId(f);
    keep_if_any(candidates, [&](std::uint32_t c) { return is_inlined(c) == is_inlined(f); });
    const bool is_placed =
        keep_if_any(candidates, same_file) && keep_if_any(candidates, [&](std::uint32_t c) {
          return functions_.line[c] == functions_.line[f];
        });
    if (functions_.module[f]) {
      keep_if_any(candidates, [&](std::uint32_t c) { return build_of(c) == build_of(f); });
    }
    // The recorder knows functions that are in no tree, so that no export has them: stubs that
    // calls named.
    keep_if_any(candidates, [&](std::uint32_t c) { return is_in_tree_[c]; });
    if (is_placed || candidates.size() == 1) return FunctionId(candidates.front());
    if (!functions_.module[f]) {
      keep_unmarked(candidates);
      const bool is_one_module = std::all_of(
          candidates.begin(), candidates.end(),
          [&](std::uint32_t c) { return identity_of(c) == identity_of(candidates.front()); });
      // Several libraries have this function: nobody can tell which one it is.
      if (!is_one_module) return FunctionId(f);
    }
    // Namesakes that only their order tells apart.
    std::uint32_t& next = met_[{build_of(f), functions_.name[f]}];
    return FunctionId(candidates[std::min<std::size_t>(next++, candidates.size() - 1)]);
  }

  // "helper [libfoo.so]": exports without modules mark namesakes by what tells them apart.
  std::vector<std::uint32_t> marked(std::string_view name) const {
    if (!name.ends_with(']')) return {};
    const std::size_t bracket = name.rfind(" [");
    if (bracket == std::string_view::npos) return {};
    const std::string mark = plain_name(name.substr(bracket + 2, name.size() - bracket - 3));
    std::vector<std::uint32_t> candidates = named(name.substr(0, bracket));
    const bool is_known = keep_if_any(candidates, [&](std::uint32_t c) {
      const std::string library = plain_name(module_name(c));
      const std::string path = plain_name(profile_.text(functions_.file[c]));
      return mark == library || (!path.empty() && mark == base_name(path)) ||
             is_end_of_path(fmt::format("{}:{}", path, functions_.line[c]), mark) ||
             mark == fmt::format("{}+0x{:x}", library, functions_.address[c]);
    });
    return is_known ? candidates : std::vector<std::uint32_t>();
  }

  const Profile& profile_;
  const Functions& functions_;
  const ModuleKeys modules_;
  std::vector<FunctionId> class_of_;
  std::vector<Distinction> distinction_;  // by function
  std::vector<FunctionId> untold_;
  std::vector<bool> is_in_tree_;  // by function that a class is known by
  std::map<std::string_view, std::string_view> homes_;
  std::map<Key, FunctionId> recorded_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_name_;  // as plain_name()
  std::vector<std::vector<std::uint64_t>> files_;  // by function: made when first asked for
  std::map<std::pair<std::string_view, StringId>, std::uint32_t> met_;
};

}  // namespace

std::vector<FunctionId> same_functions(const Profile& profile, const ModuleAliases& aliases,
                                       std::vector<FunctionId>* untold) {
  Identities identities(profile, aliases);
  std::vector<FunctionId> same = identities.find();
  if (untold != nullptr) *untold = std::move(identities).untold();
  return same;
}

}  // namespace fbleprof::transform
