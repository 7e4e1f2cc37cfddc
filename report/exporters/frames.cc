#include "report/exporters/frames.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "report/exporters/node_facts.h"
#include "report/text/escape.h"
#include "report/text/names.h"

namespace fbleprof::report {

using namespace profile;

namespace {

class FramesBuilder {
 public:
  explicit FramesBuilder(const Profile& profile)
      : profile_(profile),
        functions_(profile.functions()),
        nodes_(profile.nodes()),
        names_(Names(profile).marked(functions_of_their_own())) {}

  Frames build() {
    add_mappings();
    place_nodes();
    return std::move(frames_);
  }

 private:
  // Inlined copies and sampled addresses are parts of functions and have their names.
  std::vector<FunctionId> functions_of_their_own() const {
    std::vector<FunctionId> result;
    for (const FunctionId f : nodes_.function) {
      const bool is_part = functions_.kind[f.index()] == FunctionKind::kInstruction ||
                           (functions_.flags[f.index()] & kFunctionInlined) != 0;
      if (!is_part) result.push_back(f);
    }
    return result;
  }

  // The main program comes first: readers take the first mapping for it.
  void add_mappings() {
    mapping_of_.resize(profile_.modules().size());
    for (const bool main : {true, false}) {
      for (std::size_t m = 0; m < profile_.modules().size(); ++m) {
        const Module& module = profile_.modules()[m];
        if (((module.flags & format::kModuleIsMain) != 0) != main) continue;
        Frames::Mapping& mapping = frames_.mappings.emplace_back();
        mapping.path = escape(profile_.text(module.path));
        mapping.build_id = escape(profile_.text(module.build_id));
        mapping_of_[m] = frames_.mappings.size();
      }
    }
  }

  std::uint64_t mapping_of(FunctionId f) const {
    const ModuleId module = functions_.module[f.index()];
    return module ? mapping_of_[module.index()] : 0;
  }

  // The function's number, assigned on first use. Sampled addresses of one function share it.
  std::uint64_t number_of(FunctionId f) {
    const std::size_t i = f.index();
    // Readers identify a function by its name, file and mapping.
    const bool is_marked = names_.needs_place(f);
    const std::string name = is_marked ? names_.whole_marked(f) : names_.whole(f);
    const std::string file = escape(profile_.text(functions_.file[i]));
    const std::uint64_t mapping = mapping_of(f);
    const auto [at, added] =
        function_numbers_.try_emplace({name, file, mapping}, function_numbers_.size() + 1);
    if (added) {
      Frames::Function& function = frames_.functions.emplace_back();
      // Namesakes share a linkage name, which would merge them again.
      if (!is_marked) function.linkage_name = escape(profile_.text(functions_.linkage_name[i]));
      if (function.linkage_name == name) function.linkage_name.clear();
      function.name = name;
      function.file = file;
      if (functions_.kind[i] != FunctionKind::kInstruction) function.line = functions_.line[i];
    }
    if (mapping != 0) {
      Frames::Mapping& facts = frames_.mappings[mapping - 1];
      facts.has_functions |= functions_.name[i].valid();
      facts.has_lines |= functions_.line[i] != 0;
      facts.has_inlines |= (functions_.flags[i] & kFunctionInlined) != 0;
    }
    return at->second;
  }

  const Frames::Location& location_of(NodeId node) const {
    return frames_.locations[frames_.location_of_node[node.index()] - 1];
  }

  Frames::Location make_location(NodeId node) {
    const FunctionId f = nodes_.function[node.index()];
    const std::size_t i = f.index();
    if (is_place_in_parent(profile_, node)) {
      Frames::Location location = location_of(nodes_.parent[node.index()]);
      location.address = functions_.address[i];
      // Of inlined code whose function is not shown, the line is not in the function's file.
      const FunctionId around = nodes_.function[nodes_.parent[node.index()].index()];
      const bool is_in_its_file = functions_.file[i] == functions_.file[around.index()];
      if (functions_.line[i] != 0 && is_in_its_file) {
        location.lines.front().number = functions_.line[i];
      }
      return location;
    }
    const Frames::Line line{number_of(f), functions_.line[i]};
    if ((functions_.flags[i] & kFunctionInlined) != 0 && nodes_.depth[node.index()] > 1) {
      Frames::Location location = location_of(nodes_.parent[node.index()]);
      location.lines.insert(location.lines.begin(), line);
      return location;
    }
    return {mapping_of(f), has_address(f) ? functions_.address[i] : 0, {line}};
  }

  // Beside sampled addresses, that of a function would look like one: as if its first instruction
  // had been sampled. Readers need it only to name the function.
  bool has_address(FunctionId f) const {
    const FunctionKind kind = functions_.kind[f.index()];
    return kind == FunctionKind::kInstruction ||
           (kind == FunctionKind::kNative && !(has_places_ && functions_.name[f.index()]));
  }

  void place_nodes() {
    // Most nodes have their function's only location: found without building it.
    std::vector<std::uint64_t> plain(functions_.count());
    std::map<Frames::Location, std::uint64_t> index;
    frames_.location_of_node.resize(nodes_.count());
    for (std::size_t n = 0; n < nodes_.count() && !has_places_; ++n) {
      has_places_ = is_place_in_parent(profile_, NodeId(n));
    }
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      const std::size_t f = nodes_.function[n].index();
      const bool is_plain = functions_.kind[f] != FunctionKind::kInstruction &&
                            (functions_.flags[f] & kFunctionInlined) == 0;
      if (is_plain && plain[f] != 0) {
        frames_.location_of_node[n] = plain[f];
        continue;
      }
      Frames::Location location = make_location(NodeId(n));
      const auto [at, added] = index.try_emplace(location, frames_.locations.size() + 1);
      if (added) frames_.locations.push_back(std::move(location));
      frames_.location_of_node[n] = at->second;
      if (is_plain) plain[f] = at->second;
    }
  }

  const Profile& profile_;
  const Functions& functions_;
  const Nodes& nodes_;
  const Names names_;
  Frames frames_;
  bool has_places_ = false;                // sampled addresses in functions
  std::vector<std::uint64_t> mapping_of_;  // by module
  std::map<std::tuple<std::string, std::string, std::uint64_t>, std::uint64_t> function_numbers_;
};

}  // namespace

Frames frames(const Profile& profile) { return FramesBuilder(profile).build(); }

NodeId caller_on_stack(const Profile& profile, NodeId node) {
  const Nodes& nodes = profile.nodes();
  if (is_place_in_parent(profile, node)) node = nodes.parent[node.index()];
  return nodes.parent[physical_frame(profile, node).index()];
}

std::int64_t signed_value(std::uint64_t value) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
}

std::string unit_name(const std::string& unit) {
  return unit == "ns" ? "nanoseconds" : escape(unit);
}

}  // namespace fbleprof::report
