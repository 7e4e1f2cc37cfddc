// --self and --dominated: one row per function.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/tables.h"
#include "report/views/diff_view.h"
#include "report/views/phrases.h"
#include "report/views/top_rows.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;
using analysis::FunctionRow;
using Kind = Column::Kind;

namespace {

// A note for a run with hardly any samples; "" for others.
std::string too_short(const Request& request) {
  const Metric* samples = request.profile().find_metric(Role::kSamples);
  if (request.metric().unit != "ns" || samples == nullptr ||
      request.costs.total() != request.total || request.profile().processes().empty()) {
    return {};
  }
  for (const Process& process : request.profile().processes()) {
    if (process.is_imported) return {};
  }
  const std::uint64_t taken = analysis::total(request.profile(), *samples);
  if (taken > 1) return {};
  return fmt::format(
      "too few samples for reliable figures: {} sample{} (fble-prof --rate takes more per second)",
      taken, taken == 1 ? "" : "s");
}

std::vector<FunctionRow> first_rows(const Request& request, const std::string& sort,
                                    std::size_t shown) {
  const std::vector<FunctionRow>& rows = request.costs.tables().functions();
  const auto key = [&](const FunctionRow& row) -> std::uint64_t {
    if (sort == "calls") return row.calls;
    if (sort == "self") return row.self;
    if (sort == "per-call") return shown_average(request, row.dominated, row.calls, row.function);
    return row.dominated;
  };
  if (sort == "name") {
    return top_rows(rows, shown, [&](const FunctionRow& a, const FunctionRow& b) {
      return display_name(request.profile(), a.function) <
             display_name(request.profile(), b.function);
    });
  }
  return top_rows(rows, shown, [&](const FunctionRow& a, const FunctionRow& b) {
    if (key(a) != key(b)) return key(a) > key(b);
    return a.dominated != b.dominated ? a.dominated > b.dominated : a.calls > b.calls;
  });
}

Result<Document> function_view(const Request& request, const char* name) {
  const std::string& sort = request.look.sort;
  Document document = request.document(name);
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  table.columns = {{"name", "name", Kind::kName}, {"self", "self", Kind::kCost},
                   {"", "%", Kind::kShare},       {"dominated", "dominated", Kind::kCost},
                   {"", "%", Kind::kShare},       {"calls", "calls", Kind::kCount},
                   {"", "per call", Kind::kCost}, {"dominated_is_bound", "", Kind::kFlag},
                   {"sampled", "", Kind::kFlag},  {"module", "", Kind::kText},
                   {"file", "", Kind::kText},     {"line", "", Kind::kNumber}};
  table.notes.push_back(kept_line(request));
  if (std::string hint = too_short(request); !hint.empty()) table.notes.push_back(std::move(hint));
  const std::size_t shown =
      rows_to_show(request.look, request.costs.tables().functions().size(), table.notes);
  std::vector<FunctionId> named;
  bool any_bound = false;
  CallCells calls(request);
  for (const FunctionRow& row : first_rows(request, sort.empty() ? name : sort, shown)) {
    const std::size_t f = row.function.index();
    const Functions& functions = request.profile().functions();
    const bool is_bound = row.dominated_is_bound;
    any_bound |= is_bound;
    named.push_back(row.function);
    table.add({name_cell(row.function), number_cell(row.self), number_cell(row.self),
               number_cell(row.dominated, is_bound), number_cell(row.dominated, is_bound),
               calls(row.calls, row.is_sampled, row.function),
               calls.average(row.dominated, row.calls, is_bound, row.function), flag_cell(is_bound),
               flag_cell(row.is_sampled), text_cell(module_of(request.profile(), row.function)),
               text_cell(request.profile().text(functions.file[f])),
               number_cell(functions.line[f])});
  }
  if (any_bound) table.notes.push_back(kBoundNote);
  calls.add_notes(table.notes);
  if (request.look.format == Format::kText) document.names = document.names.marked(named);
  return document;
}

constexpr std::string_view kSortKeys = "self dominated calls per-call name";
constexpr std::string_view kComparedSortKeys = "self dominated calls name";

const Register kSelf({
    .name = "self",
    .help = "functions by self cost",
    .sort_keys = kSortKeys,
    .compared_sort_keys = kComparedSortKeys,
    .limits = "top",
    .show = [](const Request& request) { return function_view(request, "self"); },
    .compare = [](const Request& request) { return diff_table(request, true); },
});

const Register kDominated({
    .name = "dominated",
    .help = "functions by the cost of all paths that contain them; a path counts once",
    .manual = "Functions by the cost of all paths that contain them.\n"
              "A path counts once, however often the function appears on it.",
    .sort_keys = kSortKeys,
    .compared_sort_keys = kComparedSortKeys,
    .limits = "top",
    .show = [](const Request& request) { return function_view(request, "dominated"); },
    .compare = [](const Request& request) { return diff_table(request, false); },
});

}  // namespace
}  // namespace fbleprof::report
