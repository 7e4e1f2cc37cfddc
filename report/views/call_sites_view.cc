#include "report/views/call_sites_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/call_sites.h"
#include "report/text/escape.h"
#include "report/text/namesakes.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "report/views/tables.h"
#include "report/views/top_rows.h"
#include "transform/matcher.h"
#include "transform/suggest.h"

namespace fbleprof::report {

using namespace profile;
using analysis::CallSiteRow;

namespace {

constexpr auto kLeft = Column::Align::kLeft;
constexpr auto kRight = Column::Align::kRight;

// "libfoo.so+0x12": the instruction after the call.
std::string address_of(const Profile& profile, SiteId site) {
  if (!site) return {};
  const ModuleId module = profile.sites().module[site.index()];
  const std::uint64_t address = profile.sites().address[site.index()];
  if (!module) return fmt::format("0x{:x}", address);
  return fmt::format("{}+0x{:x}", base_name(profile.text(profile.modules()[module.index()].path)),
                     address);
}

// Where people look: file:line, or what else is known.
std::string place_of(const Profile& profile, const CallSiteRow& row) {
  if (!row.site) return "?";
  const std::string_view file = profile.text(profile.sites().file[row.site.index()]);
  if (file.empty()) return address_of(profile, row.site);
  return fmt::format("{}:{}", base_name(file), profile.sites().line[row.site.index()]);
}

Status keep_named(const Profile& profile, const std::string& pattern,
                  std::vector<CallSiteRow>& rows) {
  if (pattern.empty()) return {};
  auto matches = transform::match(profile, pattern);
  if (!matches) return matches.error();
  std::erase_if(rows, [&](const CallSiteRow& row) {
    return (*matches)[row.caller.index()] == 0 && (*matches)[row.callee.index()] == 0;
  });
  if (!rows.empty()) return {};
  return Error{"", std::nullopt,
               fmt::format("\"{}\" names no function of this profile", escape(pattern)),
               transform::likely_meant(profile, pattern,
                                       "see --self for the names; globs and re:... do as well")};
}

std::vector<CallSiteRow> top(const Input& input, const std::vector<CallSiteRow>& rows,
                             std::size_t shown) {
  const std::string& by = input.look.sort;
  const auto name = [&](FunctionId f) { return display_name(input.profile, f); };
  const auto average = [](const CallSiteRow& row) {
    return row.calls == 0 ? 0 : row.cost / row.calls;
  };
  return top_rows(rows, shown, [&](const CallSiteRow& a, const CallSiteRow& b) {
    if (by == "caller" || by == "name") return name(a.caller) < name(b.caller);
    if (by == "callee") return name(a.callee) < name(b.callee);
    if (by == "calls" && a.calls != b.calls) return a.calls > b.calls;
    if (by == "per-call" && average(a) != average(b)) return average(a) > average(b);
    return a.cost != b.cost ? a.cost > b.cost : a.calls > b.calls;
  });
}

}  // namespace

Result<std::string> call_sites_view(const Input& input, const std::string& pattern) {
  const Profile& profile = input.profile;
  std::vector<CallSiteRow> rows = analysis::call_site_table(profile, input.metric);
  std::erase_if(rows, [](const CallSiteRow& row) { return !row.site && row.calls == 0; });
  if (Status bad = keep_named(profile, pattern, rows)) return *bad;

  Table table;
  table.columns = {{"caller", "", kLeft},
                   {"callee", "", kLeft},
                   {"file", "", kLeft},
                   {"line", "", kRight},
                   {"site", "", kLeft},
                   {"calls", "", kRight},
                   {"cost", "", kRight},
                   {"kind", "", kLeft},
                   {"cost_is_bound", "", kRight},
                   {"by_tail_call", "", kRight},
                   {"first_site_only", "", kRight},
                   {"", "cost", kRight},
                   {"", "%", kRight},
                   {"", "calls", kRight},
                   {"", "per call", kRight},
                   {"", "site", kLeft},
                   {"", "caller → callee", kLeft}};
  table.notes.push_back(kept_line(input));
  const std::size_t shown = rows_to_show(input.look, rows.size(), table.notes);
  rows = top(input, rows, shown);
  std::vector<FunctionId> named;
  for (const CallSiteRow& row : rows) {
    named.push_back(row.caller);
    named.push_back(row.callee);
  }
  const Input marked = with_marks(input, std::move(named));
  bool any_bound = false, any_first = false, any_unknown = false;
  for (std::size_t i = 0; i < shown; ++i) {
    const CallSiteRow& row = rows[i];
    any_bound |= row.cost_is_bound;
    any_first |= row.is_first_only;
    any_unknown |= !row.site;
    Cell cost = cost_cell(input, row.cost, row.cost_is_bound);
    Cell share = percent_cell(row.cost, input.kept, row.cost_is_bound);
    Cell average = average_cell(input, row.cost, row.calls, row.cost_is_bound);
    if (row.is_tail) cost.text = share.text = average.text = "";
    const std::string place = place_of(profile, row) + (row.is_first_only ? " +" : "");
    const std::string arrow = row.is_tail ? " ⇒ " : " → ";
    Cell pair = text_cell("");
    if (input.look.width == 0) {
      pair.text = label(marked, row.caller) + arrow + label(marked, row.callee);
    } else {
      const std::size_t half = input.look.width < 90 ? 15 : (input.look.width - 60) / 2;
      pair.text =
          short_label(marked, row.caller, half) + arrow + short_label(marked, row.callee, half);
    }
    const std::string_view file =
        row.site ? profile.text(profile.sites().file[row.site.index()]) : std::string_view();
    table.add(
        {name_cell(input, row.caller), name_cell(input, row.callee), text_cell(std::string(file)),
         count_cell(row.site ? profile.sites().line[row.site.index()] : 0),
         text_cell(address_of(profile, row.site)), count_cell(row.calls),
         cost_cell(input, row.cost), text_cell(row.is_tail ? "tail" : "call"),
         flag_cell(row.cost_is_bound), flag_cell(row.by_tail_call), flag_cell(row.is_first_only),
         cost, share, count_cell(row.calls), average, text_cell(place), pair});
  }
  if (any_first) {
    table.notes.push_back(
        "+ the first place that called: others of the caller are counted there too "
        "(FBLEPROF_CALLSITES=1 keeps them apart)");
  }
  if (any_unknown) table.notes.push_back("? the place of the call was not recorded");
  if (any_bound) table.notes.push_back(bound_note());
  return render_table(input, table, "call-sites");
}

}  // namespace fbleprof::report
