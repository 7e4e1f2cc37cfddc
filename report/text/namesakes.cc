#include "report/text/namesakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

namespace {

// "" where there is none.
std::string module_of(const Profile& profile, FunctionId function) {
  const ModuleId module = profile.functions().module[function.index()];
  return module ? std::string(base_name(profile.text(profile.modules()[module.index()].path))) : "";
}

std::string file_of(const Profile& profile, FunctionId function) {
  return std::string(base_name(profile.text(profile.functions().file[function.index()])));
}

std::string place_of(const Profile& profile, FunctionId function) {
  const Functions& functions = profile.functions();
  const std::size_t f = function.index();
  const bool is_inlined = (functions.flags[f] & kFunctionInlined) != 0;
  if (is_inlined || functions.kind[f] == FunctionKind::kBlock) {
    const std::string file = file_of(profile, function);
    const std::string line = file.empty() ? "" : fmt::format("{}:{}", file, functions.line[f]);
    if (!is_inlined) return line;
    return line.empty() ? "inlined" : "inlined, " + line;
  }
  const std::string module = module_of(profile, function);
  const std::uint64_t address = profile.functions().address[function.index()];
  return module.empty() ? fmt::format("0x{:x}", address)
                        : fmt::format("{}+0x{:x}", module, address);
}

// Whether no two of `same` have the same; one may have none.
template <class Of>
bool tells_apart(const Profile& profile, const std::vector<FunctionId>& same, Of of) {
  std::set<std::string> seen;
  return std::all_of(same.begin(), same.end(), [&](FunctionId function) {
    return seen.insert(of(profile, function)).second;
  });
}

NameMarks name_marks(const Profile& profile, std::vector<FunctionId> shown) {
  std::sort(shown.begin(), shown.end());
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  std::map<std::string, std::vector<FunctionId>> by_name;
  for (const FunctionId function : shown) {
    by_name[display_name(profile, function)].push_back(function);
  }
  NameMarks marks;
  for (const auto& [name, same] : by_name) {
    if (same.size() < 2) continue;
    const auto of = tells_apart(profile, same, module_of) ? module_of
                    : tells_apart(profile, same, file_of) ? file_of
                                                          : place_of;
    for (const FunctionId function : same) {
      const std::string mark = escape(of(profile, function));
      if (!mark.empty()) marks[function] = " [" + mark + "]";
    }
  }
  return marks;
}

}  // namespace

Input with_marks(const Input& input, std::vector<FunctionId> shown) {
  Input result = input;
  if (input.look.format == Format::kText) {
    result.marks = name_marks(input.profile, std::move(shown));
  }
  return result;
}

}  // namespace fbleprof::report
