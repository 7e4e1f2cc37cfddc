// --edges: one row per pair of caller and callee: the call graph.
#include "analysis/tables.h"
#include "report/views/phrases.h"
#include "report/views/top_rows.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;
using analysis::PairRow;
using Kind = Column::Kind;

namespace {

std::vector<PairRow> first_rows(const Request& request, const std::vector<PairRow>& rows,
                                std::size_t shown) {
  const std::string& sort = request.look.sort;
  const bool by_caller = sort == "caller" || sort == "name", by_callee = sort == "callee";
  const bool by_calls = sort == "calls";
  std::vector<std::string> names(by_caller || by_callee ? request.profile().functions().count()
                                                        : 0);
  for (std::size_t f = 0; f < names.size(); ++f) {
    names[f] = display_name(request.profile(), FunctionId(f));
  }
  return top_rows(rows, shown, [&](const PairRow& a, const PairRow& b) {
    if (by_caller) return names[a.caller.index()] < names[b.caller.index()];
    if (by_callee) return names[a.callee.index()] < names[b.callee.index()];
    if (by_calls && a.calls != b.calls) return a.calls > b.calls;
    return a.cost != b.cost ? a.cost > b.cost : a.calls > b.calls;
  });
}

Result<Document> edges(const Request& request) {
  Document document = request.document("edges");
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  table.columns = {{"caller", "", Kind::kName},         {"callee", "", Kind::kName},
                   {"calls", "calls", Kind::kCount, 2}, {"cost", "cost", Kind::kCost},
                   {"", "%", Kind::kShare, 1},          {"", "per call", Kind::kCost, 3},
                   {"kind", "", Kind::kText},           {"cost_is_bound", "", Kind::kFlag},
                   {"by_tail_call", "", Kind::kFlag},   {"sampled", "", Kind::kFlag},
                   {"", "caller → callee", Kind::kName}};
  const std::vector<PairRow>& all = request.costs.tables().pairs();
  table.notes.push_back(kept_line(request));
  const std::size_t shown = rows_to_show(request.look, all.size(), table.notes);
  std::vector<FunctionId> named;
  bool any_bound = false;
  CallCells calls(request);
  for (const PairRow& row : first_rows(request, all, shown)) {
    any_bound |= row.cost_is_bound;
    named.push_back(row.caller);
    named.push_back(row.callee);
    Cell cost = number_cell(row.cost, row.cost_is_bound), share = cost;
    Cell average = calls.average(row.cost, row.calls, row.cost_is_bound, row.callee);
    if (row.is_tail) {
      cost = hidden(cost);
      share = hidden(share);
      average = hidden(average);
    }
    Pieces pair{{{}, row.caller}, {row.is_tail ? " ⇒ " : " → ", {}}, {{}, row.callee}};
    if (row.by_tail_call) pair.push_back({kThroughTailCall, {}});
    table.add({name_cell(row.caller), name_cell(row.callee),
               calls(row.calls, row.is_sampled, row.callee), cost, share, average,
               text_cell(row.is_tail ? "tail" : "call"), flag_cell(row.cost_is_bound),
               flag_cell(row.by_tail_call), flag_cell(row.is_sampled),
               name_cell(std::move(pair), {})});
  }
  if (any_bound) table.notes.push_back(kBoundNote);
  calls.add_notes(table.notes);
  if (request.look.format == Format::kText) document.names = document.names.marked(named);
  return document;
}

const Register kEdges({
    .name = "edges",
    .help = "the call graph: every pair of caller and callee with its cost and exact calls",
    .manual =
        "The call graph: every pair of caller and callee with its exact number of calls and its\n"
        "cost. Tail calls have separate rows.",
    .topic = View::Topic::kCalls,
    .sort_keys = "cost calls caller callee name",
    .limits = "top",
    .show = edges,
});

}  // namespace
}  // namespace fbleprof::report
