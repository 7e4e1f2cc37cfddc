// The display names of functions: the one place that decides them, for text, tables and exports.
//
// Programs get the whole name. People get a tidied name, shortened by meaning if space is short:
// parameters first, then template arguments, then scopes (names/shorten.h). Functions that would
// then look the same in one list are told apart, as two libraries can each have a static `helper`,
// and two templates can differ in an argument that was left out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::report {

// The whole name, escaped, for CSV, JSON and exports.
std::string whole_name(const profile::Profile& profile, profile::FunctionId function);

// "libfoo.so": the module of a function without its folders, not escaped; "" if it has none.
std::string module_of(const profile::Profile& profile, profile::FunctionId function);
// "libfoo.so+0x12", or "0x12" without a module. Not escaped.
std::string place_in(const profile::Profile& profile, profile::ModuleId module,
                     std::uint64_t address);

// A piece of a line: text, or a function whose name is cut to the width available.
struct Piece {
  std::string text;  // escaped; not of functions
  profile::FunctionId function = {};
};
using Pieces = std::vector<Piece>;

class Names {
 public:
  // With `lines` the source line follows each name.
  explicit Names(const profile::Profile& profile, bool lines = false)
      : profile_(&profile), lines_(lines) {}

  const profile::Profile& profile() const { return *profile_; }

  // Marks functions of one name for a list that shows these: after their names comes the module, if
  // it tells them apart, else the source file, else module and address.
  Names marked(std::vector<profile::FunctionId> shown) const;
  // The same for a list that shows `more` as well.
  Names marked_too(std::vector<profile::FunctionId> more) const;

  // The part of each function's name that tells it from the others, as " [int]".
  std::map<profile::FunctionId, std::string> differences(
      std::vector<profile::FunctionId> functions) const;

  std::string whole(profile::FunctionId function) const { return whole_name(*profile_, function); }
  // The same, followed by the suffix from marked().
  std::string whole_marked(profile::FunctionId function) const {
    return whole(function) + mark_of(function);
  }
  // Whether neither module nor file tells it from others of its name.
  bool needs_place(profile::FunctionId function) const { return placed_.count(function) != 0; }
  // For people, in at most `width` columns; 0 = no limit.
  std::string fit(profile::FunctionId function, std::size_t width) const;

  // Lines of a list, each in at most `width` columns (0 = no limit). No two are the same unless
  // their parts are.
  std::vector<std::string> fit(const std::vector<Pieces>& lines, std::size_t width) const;

 private:
  std::string label(profile::FunctionId function) const;
  std::string source_line(profile::FunctionId function) const;
  std::string mark_of(profile::FunctionId function) const;
  std::string fit_parts(const Pieces& parts, std::size_t width,
                        const std::map<profile::FunctionId, std::string>& differences) const;

  const profile::Profile* profile_;
  bool lines_;
  std::vector<profile::FunctionId> shown_;  // of marked()
  std::map<profile::FunctionId, std::string> marks_;
  std::set<profile::FunctionId> placed_;  // of marks_: by address or line
};

}  // namespace fbleprof::report
