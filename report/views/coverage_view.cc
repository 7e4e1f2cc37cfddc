// The profile knows what was entered; the files of its modules know what has a hook, that is, what
// would have been counted. The difference was never entered.
#include "report/views/coverage_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/functions.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "report/views/tables.h"
#include "symbolize/hooked_functions.h"
#include "symbolize/symbolize_profile.h"
#include "transform/matcher.h"
#include "transform/suggest.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr auto kLeft = Column::Align::kLeft;
constexpr auto kRight = Column::Align::kRight;

struct Row {
  FunctionId function;
  std::uint64_t calls = 0;
  bool entered = false;
};

// What was entered, by where it is. A compiler makes clones and parts of functions ("f.part.0"),
// which a merged profile holds under one of their addresses: those are known by name.
class Entered {
 public:
  explicit Entered(const Input& input) : profile_(input.profile) {
    const Functions& functions = profile_.functions();
    for (const auto& row : analysis::function_table(profile_, input.metric)) {
      const std::size_t f = row.function.index();
      if (functions.kind[f] != FunctionKind::kNative || !functions.module[f]) continue;
      by_address_[{path_of(functions.module[f]), functions.address[f]}] = row.calls;
      Named& named = by_name_[{path_of(functions.module[f]), functions.name[f]}];
      named.calls += row.calls;
      named.is_part |= is_part(profile_.text(functions.linkage_name[f]));
    }
  }

  static bool is_part(std::string_view linkage_name) {
    return linkage_name.find('.') != std::string_view::npos;
  }

  // Whether the function of `profile` was, and how often.
  Row look_up(const Profile& profile, FunctionId function) const {
    const Functions& functions = profile.functions();
    const std::size_t f = function.index();
    const StringId path = path_of(functions.module[f]);
    const auto here = by_address_.find({path, functions.address[f]});
    if (here != by_address_.end()) return {function, here->second, true};
    const auto named = by_name_.find({path, functions.name[f]});
    const bool is_same =
        named != by_name_.end() && functions.name[f] &&
        (named->second.is_part || is_part(profile.text(functions.linkage_name[f])));
    return is_same ? Row{function, named->second.calls, true} : Row{function};
  }

 private:
  struct Named {
    std::uint64_t calls = 0;
    bool is_part = false;
  };

  StringId path_of(ModuleId module) const { return profile_.modules()[module.index()].path; }

  const Profile& profile_;
  std::map<std::pair<StringId, std::uint64_t>, std::uint64_t> by_address_;
  std::map<std::pair<StringId, StringId>, Named> by_name_;
};

// The profile, and behind its functions those that have hooks.
Profile with_hooked(const Profile& profile) {
  StringInterner strings(profile.strings());
  auto functions = std::make_shared<Functions>(profile.functions());
  symbolize::Options how;
  how.lines = true;
  how.recorded_ns = symbolize::start_of_earliest(profile);
  for (std::size_t m = 0; m < profile.modules().size(); ++m) {
    const symbolize::HookedFunctions hooked =
        symbolize::hooked_functions(symbolize::module_file(profile, ModuleId(m)), how);
    for (const symbolize::FunctionSymbol& symbol : hooked.functions) {
      functions->add(
          {.kind = FunctionKind::kNative,
           .module = ModuleId(m),
           .address = symbol.begin,
           .name = strings.intern(symbol.name),
           .file = strings.intern(symbol.file),
           .line = symbol.line,
           .size = static_cast<std::uint32_t>(std::min<std::uint64_t>(symbol.size, UINT32_MAX)),
           .linkage_name = strings.intern(symbol.linkage_name)});
    }
  }
  Parts parts = profile.parts();
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = std::move(functions);
  return Profile(std::move(parts));
}

std::string module_name(const Profile& profile, FunctionId function) {
  const ModuleId module = profile.functions().module[function.index()];
  return std::string(base_name(profile.text(profile.modules()[module.index()].path)));
}

Table table_of(const Input& input, const std::vector<Row>& rows) {
  const Functions& functions = input.profile.functions();
  Table table;
  table.columns = {{"name", "", kLeft},   {"module", "", kLeft},       {"address", "", kRight},
                   {"bytes", "", kRight}, {"file", "", kLeft},         {"line", "", kRight},
                   {"calls", "", kRight}, {"entered", "", kRight},     {"", "bytes", kRight},
                   {"", "module", kLeft}, {"", "never entered", kLeft}};
  for (const Row& row : rows) {
    const std::size_t f = row.function.index();
    const Cell name = name_cell(input, row.function), bytes = count_cell(functions.size[f]);
    const Cell module = text_cell(module_name(input.profile, row.function));
    table.add({name, module, count_cell(functions.address[f]), bytes,
               text_cell(std::string(input.profile.text(functions.file[f]))),
               count_cell(functions.line[f]), count_cell(row.calls), flag_cell(row.entered), bytes,
               module, name});
  }
  return table;
}

}  // namespace

Result<std::string> coverage_view(const Input& input, const std::string& pattern) {
  const Profile profile = with_hooked(input.profile);
  const Functions& functions = profile.functions();
  std::vector<std::uint8_t> wanted(functions.count(), 1);
  if (!pattern.empty() && pattern != "*") {
    auto matches = transform::match(profile, pattern);
    if (!matches) return matches.error();
    wanted = std::move(*matches);
  }
  const Entered entered(input);
  std::vector<Row> rows;
  const std::size_t first = input.profile.functions().count();
  for (std::size_t f = first; f < functions.count(); ++f) {
    if (wanted[f] != 0) rows.push_back(entered.look_up(profile, FunctionId(f)));
  }
  if (rows.empty() && first < functions.count()) {
    std::vector<FunctionId> hooked;
    for (std::size_t f = first; f < functions.count(); ++f) hooked.emplace_back(f);
    return Error{"", std::nullopt, "no function with a hook is called " + pattern,
                 transform::likely_meant(profile, hooked, pattern, "--coverage alone shows all")};
  }

  struct Counts {
    std::size_t hooked = 0, entered = 0;
  };
  std::map<std::string, Counts> modules;
  for (const Row& row : rows) {
    Counts& counts = modules[module_name(profile, row.function)];
    ++counts.hooked;
    counts.entered += row.entered;
  }
  // Never entered first; else as the code lies: a file's functions side by side.
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.entered < b.entered; });
  if (input.look.sort == "calls") {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.calls > b.calls; });
  } else if (input.look.sort == "name") {
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return display_name(profile, a.function) < display_name(profile, b.function);
    });
  }
  const bool for_people = input.look.format == Format::kText;
  if (for_people) std::erase_if(rows, [](const Row& row) { return row.entered; });
  std::vector<std::string> notes;
  rows.resize(rows_to_show(input.look, rows.size(), notes));
  const Input shown{profile,     input.metric,        input.kept,
                    input.total, input.kept_is_bound, input.look};
  Table table = table_of(shown, rows);
  table.notes = std::move(notes);
  if (!for_people) return render_table(shown, table, "coverage");

  std::string out;
  for (const auto& [module, counts] : modules) {
    out += fmt::format("{}: {} of {} functions with hooks were entered ({})\n", escape(module),
                       count(counts.entered), count(counts.hooked),
                       percent(counts.entered, counts.hooked));
  }
  if (modules.empty()) {
    return std::string(
        "no function has a hook: build with -pg -mfentry or -finstrument-functions\n");
  }
  return rows.empty() ? out : out + "\n" + text_of(table, input.look);
}

}  // namespace fbleprof::report
