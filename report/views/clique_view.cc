#include "report/views/clique_view.h"

#include <fmt/format.h>

#include "analysis/cliques.h"
#include "base/capped.h"
#include "report/text/escape.h"
#include "report/text/namesakes.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "report/views/tables.h"
#include "report/views/top_rows.h"

namespace fbleprof::report {

using namespace profile;
using analysis::Clique;
using analysis::CliqueCall;
using analysis::CliqueMember;
using analysis::Recursion;

namespace {

constexpr auto kLeft = Column::Align::kLeft;
constexpr auto kRight = Column::Align::kRight;
constexpr std::size_t kNamedMembers = 3;
constexpr std::size_t kNamedForPrograms = 8;
constexpr std::size_t kMembersForPeople = 8;

std::string kind_name(Recursion recursion) {
  switch (recursion) {
    case Recursion::kNone:
      return "none";
    case Recursion::kSelf:
      return "self";
    case Recursion::kSingle:
      return "single";
    case Recursion::kSeveral:
      return "several";
    case Recursion::kMutual:
      return "mutual";
  }
  return "none";
}

std::string kind_text(const Clique& clique) {
  switch (clique.recursion) {
    case Recursion::kNone:
      return "no recursion";
    case Recursion::kSelf:
      return "calls itself";
    case Recursion::kSingle:
      return "single: calls itself once a call";
    case Recursion::kSeveral:
      return "several: calls itself more than once a call";
    case Recursion::kMutual:
      return fmt::format("mutual: {} functions", clique.members.size());
  }
  return {};
}

// "fib*", "(parse, expr, term, +2)*", "main".
std::string clique_label(const Input& input, const Clique& clique, std::size_t width) {
  std::string names;
  const std::size_t count = clique.members.size();
  const std::size_t each =
      width == 0 ? 0
                 : std::max<std::size_t>(width / std::min<std::size_t>(count, kNamedMembers), 12);
  for (std::size_t i = 0; i < count; ++i) {
    if (i == kNamedMembers) {
      names += fmt::format(", +{}", count - i);
      break;
    }
    const FunctionId function = clique.members[i].function;
    names += (i == 0 ? "" : ", ") +
             (each == 0 ? label(input, function) : short_label(input, function, each));
  }
  if (count > 1) return "(" + names + ")*";
  return clique.recursion == Recursion::kNone ? names : names + "*";
}

// For programs: whole names, but not a thousand of them in each row.
std::string raw_label(const Input& input, const Clique& clique) {
  std::string names;
  for (std::size_t i = 0; i < clique.members.size(); ++i) {
    if (i == kNamedForPrograms) {
      names += fmt::format(", +{}", clique.members.size() - i);
      break;
    }
    names += (i == 0 ? "" : ", ") + escape(display_name(input.profile, clique.members[i].function));
  }
  if (clique.members.size() > 1) return "(" + names + ")*";
  return clique.recursion == Recursion::kNone ? names : names + "*";
}

std::string depth_text(const Clique& clique) {
  return (clique.depth_is_bound ? "≥" : "") + count(clique.depth);
}

// One table for programs: a row a clique, then a row a member.
Table flat_table(const Input& input, const std::vector<const Clique*>& shown) {
  Table table;
  table.columns = {{"clique", ""},        {"kind", ""},    {"name", ""},         {"recursion", ""},
                   {"members", ""},       {"cost", ""},    {"self", ""},         {"children", ""},
                   {"entry_cost", ""},    {"entries", ""}, {"inside_calls", ""}, {"depth", ""},
                   {"depth_is_bound", ""}};
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Clique& clique = *shown[i];
    const Cell recursion = text_cell(kind_name(clique.recursion));
    table.add({count_cell(i),
               text_cell("clique"),
               {.text = {}, .number = {}, .raw = raw_label(input, clique)},
               recursion,
               count_cell(clique.members.size()),
               count_cell(clique.cost),
               count_cell(clique.self),
               count_cell(clique.cost - std::min(clique.cost, clique.self)),
               count_cell(clique.cost),
               count_cell(clique.entries),
               count_cell(clique.inside_calls),
               count_cell(clique.depth),
               flag_cell(clique.depth_is_bound)});
    for (const CliqueMember& member : clique.members) {
      table.add({count_cell(i), text_cell("member"), name_cell(input, member.function), recursion,
                 count_cell(1), count_cell(member.self + member.children), count_cell(member.self),
                 count_cell(member.children), count_cell(member.entry_cost),
                 count_cell(member.entries), count_cell(member.inside_calls),
                 count_cell(clique.depth), flag_cell(clique.depth_is_bound)});
    }
  }
  return table;
}

void put_clique(const Input& input, const Clique& clique, std::string& out) {
  const auto value = [&](std::uint64_t v) {
    return quantity(v, input.metric.unit, input.look.unit);
  };
  const auto line = [&](Ink ink, const std::string& text) {
    out +=
        paint(input.look, ink, input.look.width == 0 ? text : cut(text, input.look.width)) + "\n";
  };
  line(Ink::kBold, clique_label(input, clique, input.look.width));
  std::string facts =
      fmt::format("{} ({})   self {} ({})", value(clique.cost), percent(clique.cost, input.kept),
                  value(clique.self), percent(clique.self, input.kept));
  if (clique.entries != 0) {
    facts += fmt::format("   entered {}, {} each", count(clique.entries),
                         value(rounded_quotient(clique.cost, clique.entries)));
  }
  line(Ink::kPlain, facts);
  if (clique.recursion == Recursion::kNone) return;
  facts = kind_text(clique) + ", depth " + depth_text(clique);
  if (clique.inside_calls != 0) {
    facts += fmt::format("; {} calls inside", count(clique.inside_calls));
    if (clique.entries != 0) {
      const double each =
          static_cast<double>(clique.inside_calls) / static_cast<double>(clique.entries);
      facts += each >= 100 ? fmt::format(", {} an entry", count(static_cast<std::uint64_t>(each)))
                           : fmt::format(", {:.2g} an entry", each);
    }
  }
  line(Ink::kDim, facts);
  if (clique.members.size() < 2) return;
  Table table;
  table.columns = {{"", "self", kRight},    {"", "own children", kRight}, {"", "%", kRight},
                   {"", "entered", kRight}, {"", "inside", kRight},       {"", "member", kLeft}};
  std::size_t shown = clique.members.size();
  if (!input.look.all) shown = std::min(shown, kMembersForPeople);
  std::vector<FunctionId> named;
  for (std::size_t i = 0; i < shown; ++i) named.push_back(clique.members[i].function);
  const Input marked = with_marks(input, std::move(named));
  for (std::size_t i = 0; i < shown; ++i) {
    const CliqueMember& member = clique.members[i];
    table.add({cost_cell(input, member.self), cost_cell(input, member.children),
               percent_cell(member.self + member.children, input.kept), count_cell(member.entries),
               count_cell(member.inside_calls), name_cell(marked, member.function)});
  }
  if (shown < clique.members.size()) {
    table.notes.push_back(fmt::format("… {} more members (--all)", clique.members.size() - shown));
  }
  out += text_of(table, input.look);
}

}  // namespace

std::string clique_view(const Input& input) {
  const analysis::Cliques cliques = analysis::find_cliques(input.profile, input.metric);
  std::vector<const Clique*> wanted;
  for (const Clique& clique : cliques.cliques) {
    if (input.look.all || clique.recursion != Recursion::kNone) wanted.push_back(&clique);
  }
  std::vector<std::string> notes;
  const std::size_t shown = rows_to_show(input.look, wanted.size(), notes);
  wanted.resize(shown);
  if (input.look.format != Format::kText) {
    return render_table(input, flat_table(input, wanted), "cliques");
  }
  std::string out;
  for (const Clique* clique : wanted) {
    if (!out.empty()) out += "\n";
    put_clique(input, *clique, out);
  }
  out += wanted.empty() ? "no recursion: no function calls itself, directly or by way of others\n"
                        : "\n";
  notes.push_back("a clique's cost is that of the paths that enter it: its entry's");
  for (const Clique* clique : wanted) {
    if (!clique->depth_is_bound) continue;
    notes.push_back("≥ at least: deeper recursion is folded");
    break;
  }
  notes.push_back(kept_line(input));
  for (const std::string& note : notes) out += paint(input.look, Ink::kDim, note) + "\n";
  return out;
}

std::string clique_context_view(const Input& input) {
  const analysis::CallPairs pairs(input.profile);
  const analysis::Cliques cliques = analysis::find_cliques(input.profile, input.metric, pairs);
  analysis::CliqueContexts contexts =
      analysis::clique_contexts(input.profile, input.metric, cliques, pairs);
  const auto chain_of = [&](std::uint32_t at) {
    std::vector<const Clique*> chain;
    for (; at != analysis::kNoClique; at = contexts.chains[at].parent) {
      chain.insert(chain.begin(), &cliques.cliques[contexts.chains[at].clique]);
    }
    return chain;
  };
  Table table;
  table.columns = {{"chain", "", kLeft},     {"caller", "", kLeft},      {"callee", "", kLeft},
                   {"calls", "", kRight},    {"cost", "", kRight},       {"kind", "", kLeft},
                   {"", "cost", kRight},     {"", "%", kRight},          {"", "calls", kRight},
                   {"", "per call", kRight}, {"", "chain | call", kLeft}};
  table.notes.push_back(kept_line(input));
  const std::size_t shown = rows_to_show(input.look, contexts.calls.size(), table.notes);
  const auto dearer = [](const CliqueCall& a, const CliqueCall& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.calls > b.calls;
  };
  const std::vector<CliqueCall> top = top_rows(contexts.calls, shown, dearer);
  std::vector<FunctionId> named;
  for (const CliqueCall& call : top) {
    named.push_back(call.caller);
    named.push_back(call.callee);
  }
  const Input marked = with_marks(input, std::move(named));
  for (const CliqueCall& call : top) {
    const std::vector<const Clique*> chain = chain_of(call.chain);
    std::string raw;
    for (const Clique* clique : chain) {
      if (input.look.format == Format::kText) break;
      raw += (raw.empty() ? "" : " → ") + raw_label(input, *clique);
    }
    const std::size_t width =
        input.look.width == 0 ? 0 : std::max<std::size_t>(input.look.width, 60) - 40;
    const std::size_t third = width / 3;
    const auto name = [&](FunctionId function) {
      return width == 0 ? label(marked, function) : short_label(marked, function, third);
    };
    const std::string what = name(call.caller) + (call.is_tail ? " ⇒ " : " → ") + name(call.callee);
    // From the caller outwards, for as long as there is room.
    std::string above;
    std::size_t left = chain.size();
    while (left > 0) {
      const std::string with = clique_label(input, *chain[left - 1], width == 0 ? 0 : third) +
                               (above.empty() ? "" : " → " + above);
      if (width != 0 && !above.empty() && width_of(with) + width_of(what) + 6 > width) break;
      above = with;
      --left;
    }
    if (left > 0) above = "… → " + above;
    const char* kind = call.is_tail ? "tail" : call.is_inside ? "inside" : "call";
    Cell cost = cost_cell(input, call.cost), share = percent_cell(call.cost, input.kept);
    Cell average = average_cell(input, call.cost, call.calls);
    if (call.is_tail || call.is_inside) cost.text = share.text = average.text = "";
    table.add({{.text = {}, .number = {}, .raw = raw},
               name_cell(input, call.caller),
               name_cell(input, call.callee),
               count_cell(call.calls),
               count_cell(call.cost),
               text_cell(kind),
               cost,
               share,
               count_cell(call.calls),
               average,
               {.text = above + " | " + what, .number = {}, .raw = {}}});
  }
  table.notes.push_back("(…)* is recursion; calls inside it cost what its entry costs");
  return render_table(input, table, "cliques-context");
}

std::vector<RecursionLine> recursion_lines(const Input& input, std::size_t limit) {
  const analysis::Cliques cliques = analysis::find_cliques(input.profile, input.metric);
  std::vector<RecursionLine> lines;
  for (const Clique& clique : cliques.cliques) {
    if (clique.recursion == Recursion::kNone || lines.size() == limit) continue;
    lines.push_back({clique_label(input, clique, 24), kind_name(clique.recursion),
                     depth_text(clique), clique.cost});
  }
  return lines;
}

}  // namespace fbleprof::report
