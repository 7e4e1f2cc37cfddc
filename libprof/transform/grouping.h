// The groups that keep trees apart in a merge: they stand between the root and the contents of each
// tree.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "transform/counterparts.h"

namespace fbleprof::transform {

struct Split {
  profile::Axis axis = profile::Axis::kProcess;
  std::string label;  // the key, of kLabel

  friend bool operator==(const Split&, const Split&) = default;
};

// Reads "process", "thread", "host", "file" or "label:KEY".
Result<Split> parse_split(const std::string& text);

// Makes the groups that splits ask for, each once. Groups that `profile` already has are found
// again by their display names. Where different processes would have one name (their ids are of
// several containers or hosts), the later ones' names also tell the file.
class GroupMaker {
 public:
  // New functions and strings are added to those given, which must outlive this.
  GroupMaker(const profile::Profile& profile, const std::vector<Split>& splits,
             profile::StringInterner& strings, profile::Functions& functions);

  // The groups above the contents of `tree`, outermost first. A merged tree that belongs to no
  // single process has none: its nodes are below their groups already.
  // Those of a process or thread with a counterpart are the counterpart's.
  std::vector<profile::FunctionId> above(const profile::Tree& tree,
                                         const Counterparts& counterparts = {});

  // All groups, for the profile that the functions belong to.
  std::shared_ptr<const std::vector<profile::Group>> take();

 private:
  profile::Group group(const profile::Tree& tree, const Split& split);
  std::string name_of(const profile::Group& group, const profile::Tree& tree) const;
  // The function of that group: found, or made under a name of its own.
  profile::FunctionId function_of(const profile::Group& group, const profile::Tree& tree);
  bool is_group(profile::FunctionId function, const profile::Group& group) const;

  const profile::Profile& profile_;
  const std::vector<Split>& splits_;
  profile::StringInterner& strings_;
  profile::Functions& functions_;
  std::vector<profile::Group> groups_;
  std::map<std::string, profile::FunctionId> by_name_;
};

}  // namespace fbleprof::transform
