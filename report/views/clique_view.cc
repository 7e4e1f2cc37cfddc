// --cliques: recursion as a whole; --cliques=context: calls by the chain of cliques above the
// caller.
#include "analysis/clique_contexts.h"
#include "analysis/tables.h"

#include <fmt/format.h>

#include <limits>
#include <memory>

#include "base/capped.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/views/recursion.h"
#include "report/views/top_rows.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;
using analysis::Clique;
using analysis::CliqueCall;
using analysis::CliqueMember;
using analysis::Recursion;
using Kind = Column::Kind;

namespace {

constexpr std::size_t kMembersForPeople = 8;

std::string kind_text(const Clique& clique) {
  switch (clique.recursion) {
    case Recursion::kNone:
      return "no recursion";
    case Recursion::kSelf:
      return "calls itself";
    case Recursion::kSingle:
      return "single: calls itself once per call";
    case Recursion::kSeveral:
      return "several: calls itself more than once per call";
    case Recursion::kMutual:
      return fmt::format("mutual: {} functions", clique.members.size());
  }
  return {};
}

// One table for programs: one row per clique, then one per member.
Table flat_table(const Names& names, const std::vector<const Clique*>& shown) {
  Table table;
  table.key = "rows";
  table.columns = {{"clique", "", Kind::kNumber},
                   {"kind", "", Kind::kText},
                   {"name", "", Kind::kName},
                   {"recursion", "", Kind::kText},
                   {"members", ""},
                   {"cost", "", Kind::kCost},
                   {"self", "", Kind::kCost},
                   {"children", "", Kind::kCost},
                   {"entry_cost", "", Kind::kCost},
                   {"entries", ""},
                   {"inside_calls", ""},
                   {"depth", ""},
                   {"depth_is_bound", "", Kind::kFlag}};
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Clique& clique = *shown[i];
    const Cell recursion = text_cell(kind_name(clique.recursion));
    table.add(
        {number_cell(i), text_cell("clique"), raw_cell(raw_label(names, clique)), recursion,
         number_cell(clique.members.size()), number_cell(clique.cost), number_cell(clique.self),
         number_cell(clique.cost - std::min(clique.cost, clique.self)), number_cell(clique.cost),
         number_cell(clique.entries), number_cell(clique.inside_calls), number_cell(clique.depth),
         flag_cell(clique.depth_is_bound)});
    for (const CliqueMember& member : clique.members) {
      table.add({number_cell(i), text_cell("member"), name_cell(member.function), recursion,
                 number_cell(1), number_cell(member.self + member.children),
                 number_cell(member.self), number_cell(member.children),
                 number_cell(member.entry_cost), number_cell(member.entries),
                 number_cell(member.inside_calls), number_cell(clique.depth),
                 flag_cell(clique.depth_is_bound)});
    }
  }
  return table;
}

void put_clique(const Request& request, const Look& look, const Clique& clique, std::string& out) {
  const std::uint64_t kept = request.costs.total();
  const auto value = [&](std::uint64_t v) { return request.amount(v); };
  const auto line = [&](Ink ink, const std::string& text) {
    out += paint(look, ink, look.width == 0 ? text : cut(text, look.width)) + "\n";
  };
  line(Ink::kBold, clique_label(request.names(), clique, look.width));
  std::string facts =
      fmt::format("{} ({})   self {} ({})", value(clique.cost), percent(clique.cost, kept),
                  value(clique.self), percent(clique.self, kept));
  const bool is_some = counts_some_calls(request.profile(), clique);
  const std::string_view bound = is_some ? "≥" : "";
  if (clique.entries != 0) facts += fmt::format("   entered {}{}", bound, count(clique.entries));
  if (clique.entries != 0 && !is_some && request.costs.is_sum()) {
    facts += fmt::format(", {} each", value(rounded_quotient(clique.cost, clique.entries)));
  }
  line(Ink::kPlain, facts);
  if (clique.recursion == Recursion::kNone) return;
  facts = kind_text(clique) + ", depth " + depth_text(clique);
  if (clique.inside_calls != 0) {
    facts += fmt::format("; {}{} inside", bound, counted(clique.inside_calls, "call"));
    if (clique.entries != 0 && !is_some) {
      const double each =
          static_cast<double>(clique.inside_calls) / static_cast<double>(clique.entries);
      facts += each >= 100 ? fmt::format(", {} an entry", count(static_cast<std::uint64_t>(each)))
                           : fmt::format(", {:.2g} an entry", each);
    }
  }
  line(Ink::kDim, facts);
  if (clique.members.size() < 2) return;
  Table table;
  table.columns = {{"", "self", Kind::kCost},    {"", "own children", Kind::kCost},
                   {"", "%", Kind::kShare},      {"", "entered", Kind::kCount},
                   {"", "inside", Kind::kCount}, {"", "member", Kind::kName}};
  std::size_t shown = clique.members.size();
  if (!look.all) shown = std::min(shown, kMembersForPeople);
  std::vector<FunctionId> named;
  for (std::size_t i = 0; i < shown; ++i) {
    const CliqueMember& member = clique.members[i];
    named.push_back(member.function);
    const bool is_some_of = counts_some_calls(request.profile(), member.function);
    table.add({number_cell(member.self), number_cell(member.children),
               number_cell(member.self + member.children),
               number_cell(member.entries, is_some_of && member.entries != 0),
               number_cell(member.inside_calls, is_some_of && member.inside_calls != 0),
               name_cell(member.function)});
  }
  if (shown < clique.members.size()) {
    table.notes.push_back(fmt::format("… {} more {} (--all)", clique.members.size() - shown,
                                      plural(clique.members.size() - shown, "member")));
  }
  out += text_of(table, look, request.names().marked(named), request.measure());
}

std::string clique_text(const Request& request, const Look& look,
                        const std::vector<const Clique*>& wanted, std::vector<std::string> notes) {
  std::string out;
  for (const Clique* clique : wanted) {
    if (!out.empty()) out += "\n";
    put_clique(request, look, *clique, out);
  }
  out += wanted.empty() ? "no recursion: no function calls itself, directly or through others\n"
                        : "\n";
  notes.push_back("the cost of a clique is the cost of the paths that enter it");
  for (const Clique* clique : wanted) {
    if (!clique->depth_is_bound) continue;
    notes.push_back("≥ at least: deeper recursion is folded");
    break;
  }
  notes.push_back(kept_line(request));
  for (const std::string& note : notes) out += paint(look, Ink::kDim, note) + "\n";
  return out;
}

Document whole_cliques(const Request& request) {
  const analysis::Cliques& cliques = request.costs.tables().cliques();
  std::vector<const Clique*> wanted;
  for (const Clique& clique : cliques.cliques) {
    if (request.look.all || clique.recursion != Recursion::kNone) wanted.push_back(&clique);
  }
  std::vector<std::string> notes;
  wanted.resize(rows_to_show(request.look, wanted.size(), notes));
  Document document = request.document("cliques");
  document.tables = {flat_table(document.names, wanted)};
  document.text = [request, wanted, notes](const Look& look) {
    return clique_text(request, look, wanted, notes);
  };
  return document;
}

// The chain of cliques above a call, as far as there is room, and the call.
Pieces chain_and_call(const Names& names, const std::vector<const Clique*>& chain,
                      const CliqueCall& call, std::size_t width) {
  const std::size_t third = width / 3;
  const std::size_t call_width = std::min(
      width_of(names.fit(call.caller, 0)) + width_of(names.fit(call.callee, 0)) + 3, 2 * third + 3);
  const std::size_t between = 7;  // "… → " and " | "
  const std::size_t room = std::max(width, call_width + between + third) - call_width - between;
  // From the caller outwards.
  std::string above;
  std::size_t left = chain.size();
  while (left > 0) {
    const std::string with = clique_label(names, *chain[left - 1], width == 0 ? 0 : room) +
                             (above.empty() ? "" : " → " + above);
    if (width != 0 && !above.empty() && width_of(with) > room) break;
    above = with;
    --left;
  }
  if (left > 0) above = "… → " + above;
  return {{above + " | ", {}},
          {{}, call.caller},
          {call.is_tail ? " ⇒ " : " → ", {}},
          {{}, call.callee}};
}

Document cliques_by_context(const Request& request) {
  const analysis::PairIndex& pairs = request.costs.tables().pair_index();
  const analysis::Cliques& cliques = request.costs.tables().cliques();
  std::vector<std::string> notes;
  const std::size_t most =
      rows_to_show(request.look, std::numeric_limits<std::size_t>::max(), notes);
  const analysis::CliqueContexts contexts =
      analysis::clique_contexts(request.costs, cliques, pairs, most);
  const auto chain_of = [&](std::uint32_t at) {
    std::vector<const Clique*> chain;
    for (; at != analysis::kNoClique; at = contexts.chains[at].parent) {
      chain.insert(chain.begin(), &cliques.cliques[contexts.chains[at].clique]);
    }
    return chain;
  };
  Document document = request.document("cliques-context");
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  table.columns = {{"chain", "", Kind::kName},       {"caller", "", Kind::kName},
                   {"callee", "", Kind::kName},      {"calls", "calls", Kind::kCount, 2},
                   {"cost", "cost", Kind::kCost},    {"", "%", Kind::kShare, 1},
                   {"", "per call", Kind::kCost, 3}, {"kind", "", Kind::kText},
                   {"", "chain | call", Kind::kName}};
  table.notes.push_back(kept_line(request));
  rows_to_show(request.look, contexts.count, table.notes);
  const bool for_people = request.look.format == Format::kText;
  std::vector<FunctionId> named;
  for (const CliqueCall& call : contexts.calls) {
    named.push_back(call.caller);
    named.push_back(call.callee);
  }
  if (for_people) document.names = document.names.marked(std::move(named));
  const std::size_t width =
      request.look.width == 0 ? 0 : std::max<std::size_t>(request.look.width, 60) - 40;
  CallCells calls(request);
  for (const CliqueCall& call : contexts.calls) {
    const std::vector<const Clique*> chain = chain_of(call.chain);
    std::string raw;
    for (const Clique* clique : chain) {
      if (for_people) break;
      raw += (raw.empty() ? "" : " → ") + raw_label(document.names, *clique);
    }
    Cell cost = number_cell(call.cost), share = cost;
    Cell average = calls.average(call.cost, call.calls, false, call.callee);
    if (call.is_tail || call.is_inside) {
      cost = hidden(cost);
      share = hidden(share);
      average = hidden(average);
    }
    table.add(
        {raw_cell(raw), name_cell(call.caller), name_cell(call.callee),
         calls(call.calls, false, call.callee), cost, share, average,
         text_cell(call.is_tail     ? "tail"
                   : call.is_inside ? "inside"
                                    : "call"),
         for_people ? name_cell(chain_and_call(document.names, chain, call, width), {}) : Cell()});
  }
  table.notes.push_back("(…)* is recursion; calls inside it cost what its entry costs");
  calls.add_notes(table.notes);
  return document;
}

Result<Document> cliques(const Request& request) {
  return request.value == "context" ? cliques_by_context(request) : whole_cliques(request);
}

const Register kCliques({
    .name = "cliques",
    .value = "[=context]",
    .implied = "whole",
    .words = "context",
    .help = "recursion: functions that call each other as one entry, with its members; "
            "=context: calls by the chain of cliques above them",
    .manual =
        "Recursion, one entry per clique.\n"
        "Functions that can all call each other, directly or through others, are a clique. Each\n"
        "member is listed with its self cost, the cost of what it calls outside the clique, and\n"
        "its calls from outside and inside.\n"
        "The cost of a clique is the cost of the paths that enter it, and is exact.\n"
        "Kinds of recursion:\n"
        ".B single\n"
        "(calls itself once per call),\n"
        ".B several\n"
        "(more than once: a tree of calls),\n"
        ".B mutual\n"
        "(several functions), and\n"
        ".B self\n"
        "(calls itself; calls were not counted).\n"
        ".B \\-\\-all\n"
        "also shows functions without recursion.\n"
        ".B =context\n"
        "shows one row per call and chain of cliques above the caller, with its cost per call.",
    .topic = View::Topic::kCalls,
    .limits = "top",
    .check =
        [](const std::string& value) {
          return value == "whole" || value == "context"
                     ? std::string()
                     : "--cliques=" + value + ": expected context, or no value";
        },
    .show = cliques,
});

}  // namespace
}  // namespace fbleprof::report
