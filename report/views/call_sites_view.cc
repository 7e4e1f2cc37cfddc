// --call-sites: calls by their place in the code. The merged tree keeps its call sites apart.
#include "analysis/call_sites.h"

#include <fmt/format.h>

#include "report/views/phrases.h"
#include "report/views/top_rows.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;
using analysis::CallSiteRow;
using Kind = Column::Kind;

namespace {

// "libfoo.so+0x12": the instruction after the call.
std::string address_of(const Profile& profile, SiteId site) {
  if (!site) return {};
  return place_in(profile, profile.sites().module[site.index()],
                  profile.sites().address[site.index()]);
}

// The place for people: file:line, or what else is known.
std::string place_of(const Profile& profile, const CallSiteRow& row) {
  if (!row.site) return "?";
  const std::string_view file = profile.text(profile.sites().file[row.site.index()]);
  if (file.empty()) return address_of(profile, row.site);
  return fmt::format("{}:{}", base_name(file), profile.sites().line[row.site.index()]);
}

std::vector<CallSiteRow> first_rows(const Request& request, const std::vector<CallSiteRow>& rows,
                                    std::size_t shown) {
  const std::string& by = request.look.sort;
  const auto name = [&](FunctionId f) { return display_name(request.profile(), f); };
  const auto average = [&](const CallSiteRow& row) {
    return shown_average(request, row.cost, row.calls, row.callee);
  };
  return top_rows(rows, shown, [&](const CallSiteRow& a, const CallSiteRow& b) {
    if (by == "caller" || by == "name") return name(a.caller) < name(b.caller);
    if (by == "callee") return name(a.callee) < name(b.callee);
    if (by == "calls" && a.calls != b.calls) return a.calls > b.calls;
    if (by == "per-call" && average(a) != average(b)) return average(a) > average(b);
    return a.cost != b.cost ? a.cost > b.cost : a.calls > b.calls;
  });
}

Result<Document> call_sites(const Request& request) {
  const Profile& profile = request.profile();
  std::vector<CallSiteRow> rows = analysis::call_site_table(request.costs);
  std::erase_if(rows, [](const CallSiteRow& row) { return !row.site && row.calls == 0; });
  if (!request.value.empty()) {
    auto matches = named_functions(request, request.value);
    // "*" is the option's default; in an empty profile it matches nothing.
    if (!matches && request.value != "*") return matches.error();
    if (matches) {
      std::erase_if(rows, [&](const CallSiteRow& row) {
        return (*matches)[row.caller.index()] == 0 && (*matches)[row.callee.index()] == 0;
      });
    }
  }
  Document document = request.document("call-sites");
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  table.columns = {{"caller", "", Kind::kName},         {"callee", "", Kind::kName},
                   {"file", "", Kind::kText},           {"line", "", Kind::kNumber},
                   {"", "site", Kind::kText},           {"site", "", Kind::kText},
                   {"calls", "calls", Kind::kCount, 2}, {"cost", "cost", Kind::kCost},
                   {"", "%", Kind::kShare, 1},          {"", "per call", Kind::kCost, 3},
                   {"kind", "", Kind::kText},           {"cost_is_bound", "", Kind::kFlag},
                   {"by_tail_call", "", Kind::kFlag},   {"first_site_only", "", Kind::kFlag},
                   {"sampled", "", Kind::kFlag},        {"", "caller → callee", Kind::kName}};
  table.notes.push_back(kept_line(request));
  const std::size_t shown = rows_to_show(request.look, rows.size(), table.notes);
  std::vector<FunctionId> named;
  CallCells calls(request);
  bool any_bound = false, any_first = false, any_unknown = false;
  for (const CallSiteRow& row : first_rows(request, rows, shown)) {
    any_bound |= row.cost_is_bound;
    any_first |= row.is_first_only;
    any_unknown |= !row.site;
    named.push_back(row.caller);
    named.push_back(row.callee);
    Cell cost = number_cell(row.cost, row.cost_is_bound), share = cost;
    Cell average = calls.average(row.cost, row.calls, row.cost_is_bound, row.callee);
    if (row.is_tail) {
      cost = hidden(cost);
      share = hidden(share);
      average = hidden(average);
    }
    const std::string_view file =
        row.site ? profile.text(profile.sites().file[row.site.index()]) : std::string_view();
    table.add(
        {name_cell(row.caller), name_cell(row.callee), text_cell(file),
         number_cell(row.site ? profile.sites().line[row.site.index()] : 0),
         text_cell(place_of(profile, row) + (row.is_first_only ? " +" : "")),
         text_cell(address_of(profile, row.site)), calls(row.calls, row.is_sampled, row.callee),
         cost, share, average, text_cell(row.is_tail ? "tail" : "call"),
         flag_cell(row.cost_is_bound), flag_cell(row.by_tail_call), flag_cell(row.is_first_only),
         flag_cell(row.is_sampled),
         name_cell({{{}, row.caller}, {row.is_tail ? " ⇒ " : " → ", {}}, {{}, row.callee}}, {})});
  }
  if (any_first) {
    table.notes.push_back(
        "+ the first call in this caller, which stands for all of its calls of this callee "
        "(record with fble-prof --callsites to separate them)");
  }
  if (any_unknown) table.notes.push_back("? the place of the call was not recorded");
  if (any_bound) table.notes.push_back(kBoundNote);
  calls.add_notes(table.notes);
  if (request.look.format == Format::kText) document.names = document.names.marked(named);
  return document;
}

const Register kCallSites({
    .name = "call-sites",
    .value = "[=NAME]",
    .implied = "*",
    .words = "re: module: file:",
    .help = "every call site, with file:line, calls and cost (record with fble-prof "
            "--callsites); with =NAME only calls of and by NAME",
    .manual =
        "Every call site, with file:line, calls, cost and cost per call; with\n"
        ".I NAME\n"
        "only calls of and by that function.\n"
        "Profiles recorded with fble-prof \\-\\-callsites have all call sites. In others, one row\n"
        "at the first call site stands for all calls of a callee by one caller. It is marked\n"
        ".BR + .",
    .topic = View::Topic::kCalls,
    .sort_keys = "cost calls per-call caller callee name",
    .limits = "top",
    .needs = [](const std::string&) { return Needs{.splits = {}, .sites = true, .lines = true}; },
    .show = call_sites,
});

}  // namespace
}  // namespace fbleprof::report
