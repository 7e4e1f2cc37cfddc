#include "report/text/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "names/shorten.h"
#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr std::size_t kLongestDifference = 24;  // columns

std::string file_of(const Profile& profile, FunctionId function) {
  return std::string(base_name(profile.text(profile.functions().file[function.index()])));
}

// The last `count` names of a path.
std::string_view end_of_path(std::string_view path, std::size_t count) {
  std::size_t begin = path.size();
  for (std::size_t i = 0; i < count && begin != std::string_view::npos && begin > 0; ++i) {
    begin = path.rfind('/', begin - 1);
  }
  if (begin == std::string_view::npos) return path;
  return path.substr(path.substr(begin).starts_with('/') ? begin + 1 : begin);
}

// `path_names`: how much of the file's path is shown, of code that no module has.
std::string place_of(const Profile& profile, FunctionId function, std::size_t path_names) {
  const Functions& functions = profile.functions();
  const std::size_t f = function.index();
  const bool is_inlined = (functions.flags[f] & kFunctionInlined) != 0;
  const bool has_code =
      functions.kind[f] != FunctionKind::kBlock && functions.kind[f] != FunctionKind::kImported;
  if (is_inlined || !has_code) {
    const std::string_view file = end_of_path(profile.text(functions.file[f]), path_names);
    const std::string line = file.empty() ? "" : fmt::format("{}:{}", file, functions.line[f]);
    if (!is_inlined) return line;
    return line.empty() ? "inlined" : "inlined, " + line;
  }
  return place_in(profile, functions.module[f], functions.address[f]);
}

// The place of each. Files of one name ("__init__.py") are shown with as many directories as tell
// them apart.
std::vector<std::string> places_of(const Profile& profile, const std::vector<FunctionId>& same) {
  std::vector<std::string> places(same.size());
  std::vector<std::size_t> left(same.size());
  for (std::size_t i = 0; i < same.size(); ++i) left[i] = i;
  for (std::size_t names = 1; !left.empty(); ++names) {
    std::map<std::string, std::vector<std::size_t>> by_place;
    for (const std::size_t i : left) {
      places[i] = place_of(profile, same[i], names);
      by_place[places[i]].push_back(i);
    }
    left.clear();
    for (const auto& [place, those] : by_place) {
      const auto has_other_file = [&, first = those.front()](std::size_t i) {
        const auto& files = profile.functions().file;
        return files[same[i].index()] != files[same[first].index()];
      };
      const auto has_more = [&](std::size_t i) {
        return place_of(profile, same[i], names + 1) != places[i];
      };
      const bool can_differ = std::any_of(those.begin(), those.end(), has_other_file) &&
                              std::any_of(those.begin(), those.end(), has_more);
      if (can_differ) left.insert(left.end(), those.begin(), those.end());
    }
  }
  return places;
}

// Whether all in `same` differ; one may be empty.
template <class Of>
bool tells_apart(const Profile& profile, const std::vector<FunctionId>& same, Of of) {
  std::set<std::string> seen;
  return std::all_of(same.begin(), same.end(), [&](FunctionId function) {
    return seen.insert(of(profile, function)).second;
  });
}

// The part of each of `texts` that the others do not have: the stretch between the common beginning
// and the common end, in whole words.
std::vector<std::string> differences(const std::vector<std::string>& texts) {
  const std::string& first = texts.front();
  std::size_t prefix = first.size(), suffix = first.size();
  for (const std::string& text : texts) {
    const auto front = std::mismatch(first.begin(), first.end(), text.begin(), text.end());
    prefix = std::min(prefix, static_cast<std::size_t>(front.first - first.begin()));
    const auto back = std::mismatch(first.rbegin(), first.rend(), text.rbegin(), text.rend());
    suffix = std::min(suffix, static_cast<std::size_t>(back.first - first.rbegin()));
  }
  // Whole arguments and scopes, not parts of them.
  const auto is_border = [](char c) {
    return std::string_view("<>,:").find(c) != std::string_view::npos;
  };
  while (prefix > 0 && !is_border(first[prefix - 1])) --prefix;
  while (suffix > 0 && !is_border(first[first.size() - suffix])) --suffix;
  std::vector<std::string> result;
  for (const std::string& text : texts) {
    const std::size_t end = std::max(text.size() - std::min(suffix, text.size()), prefix);
    std::string stretch = text.substr(prefix, end - prefix);
    stretch.erase(0, stretch.find_first_not_of(' ') == std::string::npos
                         ? stretch.size()
                         : stretch.find_first_not_of(' '));
    result.push_back(cut(stretch, kLongestDifference));
  }
  return result;
}

}  // namespace

std::string whole_name(const Profile& profile, FunctionId function) {
  return escape(display_name(profile, function));
}

std::string module_of(const Profile& profile, FunctionId function) {
  const ModuleId module = profile.functions().module[function.index()];
  return module ? std::string(base_name(profile.text(profile.modules()[module.index()].path))) : "";
}

std::string place_in(const Profile& profile, ModuleId module, std::uint64_t address) {
  const std::string name =
      module ? std::string(base_name(profile.text(profile.modules()[module.index()].path))) : "";
  return name.empty() ? fmt::format("0x{:x}", address) : fmt::format("{}+0x{:x}", name, address);
}

Names Names::marked(std::vector<FunctionId> shown) const {
  std::sort(shown.begin(), shown.end());
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  std::map<std::string, std::vector<FunctionId>> by_name;
  for (const FunctionId function : shown) {
    by_name[display_name(*profile_, function)].push_back(function);
  }
  Names result = *this;
  result.marks_.clear();
  result.placed_.clear();
  result.shown_ = shown;
  for (const auto& [name, same] : by_name) {
    if (same.size() < 2) continue;
    const auto of = tells_apart(*profile_, same, module_of) ? module_of
                    : tells_apart(*profile_, same, file_of) ? file_of
                                                            : nullptr;
    const std::vector<std::string> places =
        of == nullptr ? places_of(*profile_, same) : std::vector<std::string>();
    for (std::size_t i = 0; i < same.size(); ++i) {
      const std::string mark = escape(of == nullptr ? places[i] : of(*profile_, same[i]));
      if (mark.empty()) continue;
      result.marks_[same[i]] = " [" + mark + "]";
      if (of == nullptr) result.placed_.insert(same[i]);
    }
  }
  return result;
}

Names Names::marked_too(std::vector<FunctionId> more) const {
  more.insert(more.end(), shown_.begin(), shown_.end());
  return marked(std::move(more));
}

std::map<FunctionId, std::string> Names::differences(std::vector<FunctionId> functions) const {
  std::sort(functions.begin(), functions.end());
  functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
  std::map<FunctionId, std::string> result;
  if (functions.size() < 2) return result;
  std::vector<std::string> labels;
  for (const FunctionId f : functions) labels.push_back(label(f));
  const std::vector<std::string> parts = report::differences(labels);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (!parts[i].empty()) result[functions[i]] = " [" + parts[i] + "]";
  }
  return result;
}

std::string Names::mark_of(FunctionId function) const {
  const auto mark = marks_.find(function);
  return mark != marks_.end() ? mark->second : std::string();
}

std::string Names::source_line(FunctionId function) const {
  const Functions& functions = profile_->functions();
  const std::string_view file = profile_->text(functions.file[function.index()]);
  // A script's function has no other place: namesakes differ in file and line.
  const bool is_of_script = functions.language[function.index()] != StringId{};
  if ((!lines_ && !is_of_script) || file.empty()) return {};
  const std::uint32_t line = functions.line[function.index()];
  const std::string name = escape(base_name(file));
  return line == 0 ? fmt::format("  {}", name) : fmt::format("  {}:{}", name, line);
}

std::string Names::label(FunctionId function) const {
  return escape(names::tidy(display_name(*profile_, function))) + mark_of(function) +
         source_line(function);
}

std::string Names::fit(FunctionId function, std::size_t width) const {
  std::string whole = label(function);
  if (width == 0 || width_of(whole) <= width) return whole;
  // The part that tells a name from others is worth more than the name's end. So is the source
  // line, but it is not worth more than the name.
  std::string behind = mark_of(function);
  if (width_of(behind) * 3 > width * 2) behind.clear();
  if (const std::string line = source_line(function); width_of(behind + line) * 2 < width) {
    behind += line;
  }
  const std::size_t name_width = width - width_of(behind);
  // Escaping can make a name longer again: then it is cut.
  return cut(escape(names::shorten(display_name(*profile_, function), name_width)), name_width) +
         behind;
}

std::string Names::fit_parts(const Pieces& parts, std::size_t width,
                             const std::map<FunctionId, std::string>& different) const {
  std::size_t fixed = 0, names = 0;
  std::vector<std::string> whole;
  for (const Piece& part : parts) {
    whole.push_back(part.function ? label(part.function) : part.text);
    if (part.function) {
      ++names;
      if (const auto it = different.find(part.function); it != different.end()) {
        fixed += width_of(it->second);
      }
    } else {
      fixed += width_of(part.text);
    }
  }
  // Each name has an equal share of the width; the others share what a short one leaves.
  std::size_t room = width > fixed ? width - fixed : 0;
  std::vector<std::size_t> widths(parts.size());
  std::size_t left = names;
  for (bool any = true; any && left > 0;) {
    any = false;
    const std::size_t share = room / left;
    for (std::size_t i = 0; i < parts.size() && left > 0; ++i) {
      if (!parts[i].function || widths[i] != 0 || width_of(whole[i]) > share) continue;
      widths[i] = std::max<std::size_t>(width_of(whole[i]), 1);
      room -= std::min(room, widths[i]);
      --left;
      any = true;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].function) {
      text += parts[i].text;
      continue;
    }
    if (width != 0 && widths[i] == 0) widths[i] = std::max<std::size_t>(room / left, 1);
    text += width == 0 ? whole[i] : fit(parts[i].function, widths[i]);
    if (const auto it = different.find(parts[i].function); it != different.end()) {
      text += it->second;
    }
  }
  return width == 0 ? text : cut(text, width);
}

std::vector<std::string> Names::fit(const std::vector<Pieces>& lines, std::size_t width) const {
  std::vector<std::string> texts;
  std::map<std::string, std::vector<std::size_t>> same;
  const auto functions_of = [&](std::size_t i) {
    std::vector<FunctionId> functions;
    for (const Piece& part : lines[i]) {
      if (part.function) functions.push_back(part.function);
    }
    return functions;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    texts.push_back(fit_parts(lines[i], width, {}));
    same[texts[i]].push_back(i);
  }
  for (const auto& [text, places] : same) {
    std::map<std::vector<FunctionId>, std::vector<std::size_t>> different;
    for (const std::size_t i : places) {
      if (!functions_of(i).empty()) different[functions_of(i)].push_back(i);
    }
    if (different.size() < 2) continue;
    // Show what tells their names apart, beginning with the first function that differs.
    std::map<FunctionId, std::string> shown;
    const std::size_t count = different.begin()->first.size();
    for (std::size_t p = 0; p < count && shown.empty(); ++p) {
      std::vector<FunctionId> functions;
      for (const auto& [list, rows] : different) {
        if (p < list.size()) functions.push_back(list[p]);
      }
      shown = differences(std::move(functions));
    }
    std::set<std::string> taken;
    std::size_t number = 1;
    for (const auto& [list, rows] : different) {
      std::string fitted = fit_parts(lines[rows.front()], width, shown);
      // As a last resort they are numbered.
      while (!taken.insert(fitted).second) {
        const std::string mark = fmt::format(" #{}", ++number);
        fitted = fit_parts(lines[rows.front()], width > mark.size() ? width - mark.size() : 1, {}) +
                 mark;
      }
      for (const std::size_t i : rows) texts[i] = fitted;
    }
  }
  return texts;
}

}  // namespace fbleprof::report
