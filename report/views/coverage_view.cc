// --coverage: functions that were never entered.
//
// The profile knows which functions were entered; the files of its modules know which have a hook
// and would have been counted. The difference was never entered.
//
// With --exact there are no hooks in the files; then the profile names the functions whose calls
// are not counted, and why. Of all others of these modules the counts are exact.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/tables.h"
#include "format/format.h"
#include "names/linkage.h"
#include "plan/plan.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/views/view.h"
#include "transform/matcher.h"
#include "transform/suggest.h"

namespace fbleprof::report {

using namespace profile;
using Kind = Column::Kind;

namespace {

struct Row {
  FunctionId function;
  std::uint64_t calls = 0;
  bool entered = false;
};

// The entered functions, by place. Compilers make clones and parts of functions ("f.part.0"), which
// a merged profile holds under one of their addresses: those are matched by name, and by what tells
// static functions of that name apart.
class Entered {
 public:
  explicit Entered(const analysis::Costs& costs) : profile_(costs.profile()) {
    const Functions& functions = profile_.functions();
    for (const auto& row : costs.tables().functions()) {
      const std::size_t f = row.function.index();
      if (functions.kind[f] != FunctionKind::kNative || !functions.module[f]) continue;
      by_address_[{path_of(functions.module[f]), functions.address[f]}] = row.calls;
      Named& named = by_name_[name_of(functions, row.function)];
      named.calls += row.calls;
      named.is_part |= names::is_part(profile_.text(functions.linkage_name[f]));
    }
  }

  // Whether the function of `profile` was entered, and how often.
  Row look_up(const Profile& profile, FunctionId function) const {
    const Functions& functions = profile.functions();
    const std::size_t f = function.index();
    const auto here = by_address_.find({path_of(functions.module[f]), functions.address[f]});
    if (here != by_address_.end()) return {function, here->second, true};
    const auto named = by_name_.find(name_of(functions, function));
    const bool is_same =
        named != by_name_.end() && functions.name[f] &&
        (named->second.is_part || names::is_part(profile.text(functions.linkage_name[f])));
    return is_same ? Row{function, named->second.calls, true} : Row{function};
  }

 private:
  struct Named {
    std::uint64_t calls = 0;
    bool is_part = false;
  };

  using Name = std::tuple<StringId, StringId, StringId>;

  Name name_of(const Functions& functions, FunctionId function) const {
    const std::size_t f = function.index();
    return {path_of(functions.module[f]), functions.name[f], functions.distinction(function)};
  }

  StringId path_of(ModuleId module) const { return profile_.modules()[module.index()].path; }

  const Profile& profile_;
  std::map<std::pair<StringId, std::uint64_t>, std::uint64_t> by_address_;
  std::map<Name, Named> by_name_;
};

// The profile, with the functions that have hooks appended to its functions.
Profile with_hooked(const Profile& profile, const symbolize::Code& code) {
  StringInterner strings(profile.strings());
  auto functions = std::make_shared<Functions>(profile.functions());
  for (std::size_t m = 0; m < profile.modules().size(); ++m) {
    const symbolize::HookedFunctions hooked = code.hooked_functions(ModuleId(m));
    for (const symbolize::FunctionSymbol& symbol : hooked.functions) {
      functions->add(
          {.kind = FunctionKind::kNative,
           .module = ModuleId(m),
           .address = symbol.begin,
           .name = strings.intern(symbol.name),
           .file = strings.intern(symbol.file),
           .line = symbol.line,
           .size = static_cast<std::uint32_t>(std::min<std::uint64_t>(symbol.size, UINT32_MAX)),
           .linkage_name = strings.intern(symbol.linkage_name),
           .unit = symbol.unit.empty() ? StringId() : strings.intern(symbol.unit),
           .namesakes = symbol.namesakes});
    }
  }
  Parts parts = profile.parts();
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = std::move(functions);
  return Profile(std::move(parts));
}

// Never entered first; else by address: a file's functions side by side.
void sort_rows(const Profile& profile, const std::string& by, std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.entered < b.entered; });
  if (by == "calls") {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.calls > b.calls; });
  } else if (by == "name") {
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return display_name(profile, a.function) < display_name(profile, b.function);
    });
  }
}

// For a function that --exact does not count.
struct Uncounted {
  FunctionId function;
  plan::Reason reason;
  std::optional<std::uint64_t> since_ns;  // of a throttled one: since the start of the profile

  // Leaving out parts of functions, and stubs, loses nothing.
  bool is_function() const {
    return reason != plan::Reason::kPart && reason != plan::Reason::kNotAnEntry &&
           reason != plan::Reason::kStub && reason != plan::Reason::kUnreferenced;
  }
};

// Each function once, also if its module was loaded several times, or if its start and its rest are
// two entries, of which one tells more.
std::vector<Uncounted> uncounted_of(const Profile& profile,
                                    const std::vector<std::uint8_t>& wanted) {
  const Functions& functions = profile.functions();
  std::map<std::pair<ModuleId, std::uint64_t>, std::size_t> known;
  std::vector<Uncounted> found;
  for (std::size_t f = 0; f < functions.count(); ++f) {
    if (!(functions.flags[f] & format::kFunctionNotCounted) || wanted[f] == 0) continue;
    const bool is_left_out = (functions.flags[f] & format::kFunctionLeftOut) != 0;
    const auto reason =
        static_cast<plan::Reason>(functions.flags[f] >> format::kFunctionReasonShift);
    std::optional<std::uint64_t> since_ns;
    if (reason == plan::Reason::kThrottled) since_ns = functions.unhooked_ns[f];
    const Uncounted uncounted{FunctionId(f), is_left_out ? plan::Reason::kLeftOut : reason,
                              since_ns};
    if (functions.module[f]) {
      const auto [place, is_new] =
          known.try_emplace({functions.module[f], functions.address[f]}, found.size());
      if (!is_new) {
        Uncounted& same = found[place->second];
        if (!same.is_function() && uncounted.is_function()) same = uncounted;
        continue;
      }
    }
    found.push_back(uncounted);
  }
  return found;
}

// Functions that a filter leaves out may have been entered, and so may those that were throttled
// before.
void drop_unknown(const Functions& functions, const std::vector<Uncounted>& uncounted,
                  std::vector<Row>& rows) {
  const auto place_of = [&](FunctionId function) {
    return std::pair(functions.module[function.index()], functions.address[function.index()]);
  };
  std::set<std::pair<ModuleId, std::uint64_t>> unknown;
  for (const Uncounted& each : uncounted) {
    if (each.reason == plan::Reason::kLeftOut || each.reason == plan::Reason::kThrottled) {
      unknown.insert(place_of(each.function));
    }
  }
  std::erase_if(rows, [&](const Row& row) {
    return row.calls == 0 && unknown.count(place_of(row.function)) != 0;
  });
}

std::vector<std::string> exact_lines(const Profile& profile,
                                     const std::vector<Uncounted>& uncounted) {
  std::vector<std::string> lines;
  for (std::size_t m = 0; m < profile.modules().size(); ++m) {
    if (!(profile.modules()[m].flags & format::kModuleIsExact)) continue;
    std::size_t lost = 0, parts = 0;
    for (const Uncounted& each : uncounted) {
      if (profile.functions().module[each.function.index()] != ModuleId(m)) continue;
      ++(each.is_function() ? lost : parts);
    }
    const std::string path(profile.text(profile.modules()[m].path));
    std::string line = escape(path.substr(path.rfind('/') + 1)) + ": counted exactly";
    if (lost != 0) line += ", except " + counted(lost, "function");
    if (parts != 0) line += fmt::format(" ({} parts, stubs or unused ones left out)", count(parts));
    lines.push_back(std::move(line));
  }
  return lines;
}

// One line per module; an explanation if there is nothing to report.
std::vector<std::string> counts_of(const Profile& profile, const std::vector<Row>& rows) {
  struct Counts {
    std::size_t hooked = 0, entered = 0;
  };
  std::map<std::string, Counts> modules;
  for (const Row& row : rows) {
    Counts& counts = modules[module_of(profile, row.function)];
    ++counts.hooked;
    counts.entered += row.entered;
  }
  std::vector<std::string> lines;
  for (const auto& [module, counts] : modules) {
    lines.push_back(fmt::format("{}: {} of {} functions with hooks were entered ({})",
                                escape(module), count(counts.entered), count(counts.hooked),
                                percent(counts.entered, counts.hooked)));
  }
  return lines;
}

std::string why_there_is_nothing(const Profile& profile) {
  if (const auto languages = counted_languages(profile); !languages.empty()) {
    return fmt::format(
        "the calls of {} functions were counted by the interpreter; no function of machine code "
        "has a hook",
        fmt::join(languages, " and "));
  }
  return "no function has a hook: build with -fpatchable-function-entry=5, -pg -mfentry or "
         "-finstrument-functions, or record with --exact";
}

Result<Document> coverage(const Request& request) {
  const auto held = std::make_shared<const Profile>(with_hooked(request.profile(), *request.code));
  const Profile& profile = *held;
  const Functions& functions = profile.functions();
  std::vector<std::uint8_t> wanted(functions.count(), 1);
  if (!request.value.empty() && request.value != "*") {
    auto matches = transform::match(profile, request.value);
    if (!matches) return matches.error();
    wanted = std::move(*matches);
  }
  const Entered entered(request.costs);
  std::vector<Row> rows;
  const std::size_t first = request.profile().functions().count();
  for (std::size_t f = first; f < functions.count(); ++f) {
    if (wanted[f] != 0) rows.push_back(entered.look_up(profile, FunctionId(f)));
  }
  if (rows.empty() && first < functions.count()) {
    std::vector<FunctionId> hooked;
    for (std::size_t f = first; f < functions.count(); ++f) hooked.emplace_back(f);
    return Error{
        "", std::nullopt, "no function with a hook is called " + request.value,
        transform::likely_meant(profile, hooked, request.value, "--coverage alone shows all")};
  }

  Document document("coverage", Names(profile, request.look.lines));
  document.held = held;
  document.measure = request.measure();
  const std::vector<Uncounted> uncounted = uncounted_of(profile, wanted);
  drop_unknown(functions, uncounted, rows);
  std::vector<std::string> heads = counts_of(profile, rows);
  for (std::string& line : exact_lines(profile, uncounted)) heads.push_back(std::move(line));
  for (const std::string& note : remarks_on_exact(profile)) heads.push_back(escape(note));
  if (heads.empty()) heads.push_back(why_there_is_nothing(profile));
  sort_rows(profile, request.look.sort, rows);
  const bool for_people = request.look.format == Format::kText;
  if (for_people) std::erase_if(rows, [](const Row& row) { return row.entered; });
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  table.columns = {{"name", "never entered", Kind::kName, 1},
                   {"module", "module", Kind::kText},
                   {"address", "", Kind::kNumber},
                   {"bytes", "bytes"},
                   {"file", "", Kind::kText},
                   {"line", "", Kind::kNumber},
                   {"calls", ""},
                   {"entered", "", Kind::kFlag}};
  rows.resize(rows_to_show(request.look, rows.size(), table.notes));
  for (const Row& row : rows) {
    const std::size_t f = row.function.index();
    table.add({name_cell(row.function), text_cell(module_of(profile, row.function)),
               number_cell(functions.address[f]), number_cell(functions.size[f]),
               text_cell(profile.text(functions.file[f])), number_cell(functions.line[f]),
               number_cell(row.calls), flag_cell(row.entered)});
  }
  const bool any_throttled =
      std::any_of(uncounted.begin(), uncounted.end(),
                  [](const Uncounted& each) { return each.since_ns.has_value(); });
  Table not_counted;
  not_counted.key = "not_counted";
  not_counted.columns = {{"name", "not counted", Kind::kName, 1},
                         {"module", "module", Kind::kText},
                         {"address", "", Kind::kNumber},
                         {"bytes", "bytes"},
                         {"since", any_throttled ? "since" : "", Kind::kTime},
                         {"reason", "because", Kind::kText}};
  for (const Uncounted& each : uncounted) {
    if (for_people && !each.is_function()) continue;
    const std::size_t f = each.function.index();
    not_counted.add({name_cell(each.function), text_cell(module_of(profile, each.function)),
                     number_cell(functions.address[f]), number_cell(functions.size[f]),
                     Cell{.number = each.since_ns}, text_cell(plan::explain(each.reason))});
  }
  document.text = [heads, table, not_counted, names = document.names, held](const Look& look) {
    std::string out;
    for (const std::string& line : heads) out += line + "\n";
    for (const Table& each : {table, not_counted}) {
      if (each.size() != 0) out += "\n" + text_of(each, look, names, {});
    }
    return out;
  };
  if (not_counted.size() != 0) document.tables.push_back(std::move(not_counted));
  return document;
}

const Register kCoverage({
    .name = "coverage",
    .value = "[=NAME]",
    .implied = "*",
    .words = "re: module: file:",
    .help = "functions with a hook that were never entered; CSV and JSON list all with a hook",
    .manual =
        "Functions that have a hook in the files of the loaded modules and were never entered.\n"
        "CSV and JSON list all functions with a hook, with their calls. With\n"
        ".I NAME\n"
        "only functions of that name.",
    .topic = View::Topic::kCode,
    .subject = View::Subject::kWholeTree,
    .sort_keys = "calls name",
    .limits = "top",
    .wants_symbols = true,
    .show = coverage,
});

}  // namespace
}  // namespace fbleprof::report
