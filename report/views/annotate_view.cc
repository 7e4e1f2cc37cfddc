// --annotate: the cost of a function by source line and by instruction.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "analysis/call_sites.h"
#include "base/hex.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/annotate_text.h"
#include "report/views/phrases.h"

namespace fbleprof::report {

using namespace profile;
using analysis::LineRow;
using analysis::Place;
using Kind = Column::Kind;

namespace {

constexpr std::size_t kFunctionsForPeople = 5;

Table line_table(const Annotated& one) {
  Table table;
  table.key = "lines";
  table.columns = {{"depth", "", Kind::kNumber}, {"name", "", Kind::kText},
                   {"file", "", Kind::kText},    {"line", "", Kind::kNumber},
                   {"cost", "", Kind::kCost},    {"own", "", Kind::kCost},
                   {"total", "", Kind::kCost},   {"text", "", Kind::kText}};
  for (const LineRow& row : one.lines) {
    const auto source = one.sources.find(row.place.file);
    table.add({number_cell(row.depth), text_cell(row.place.function), text_cell(row.place.file),
               number_cell(row.place.line), number_cell(row.cost), number_cell(row.own),
               number_cell(row.total),
               text_cell(source == one.sources.end()
                             ? std::string()
                             : std::string(source->second.line(row.place.line)))});
  }
  return table;
}

Table instruction_table(const Annotated& one) {
  Table table;
  table.key = "instructions";
  table.columns = {
      {"address", "", Kind::kNumber}, {"cost", "", Kind::kCost}, {"total", "", Kind::kCost},
      {"name", "", Kind::kText},      {"file", "", Kind::kText}, {"line", "", Kind::kNumber},
      {"bytes", "", Kind::kText},     {"text", "", Kind::kText}, {"target", "", Kind::kText}};
  std::size_t next = 0;
  const auto& sampled = one.costs.instructions;
  for (std::size_t i = 0; i < one.code.size(); ++i) {
    const symbolize::Instruction& at = one.code[i];
    const Figures cost = figures_of(one, at, next);
    const Place& place = one.chains[i].back();
    const auto name = at.target ? one.names.find(*at.target) : one.names.end();
    table.add({number_cell(at.address), number_cell(cost.self), number_cell(cost.total),
               text_cell(place.function), text_cell(place.file), number_cell(place.line),
               text_cell(hex(at.bytes)), text_cell(at.text),
               text_cell(name == one.names.end() ? std::string() : name->second)});
  }
  // Without the file only the addresses are known.
  for (; next < sampled.size(); ++next) {
    table.add({number_cell(sampled[next].address), number_cell(sampled[next].cost),
               number_cell(sampled[next].total), text_cell(one.name), text_cell(""), number_cell(0),
               text_cell(""), text_cell(""), text_cell("")});
  }
  return table;
}

// CSV has nothing but these rows: one more has what they lack.
Table flat_table(const Annotated& one, AnnotateBy by) {
  Table rows = by == AnnotateBy::kInstructions ? instruction_table(one) : line_table(one);
  const auto [total, self] = figures_elsewhere(one);
  const std::string words = words_elsewhere(total, one.costs.without_address);
  if (words.empty()) return rows;
  if (by == AnnotateBy::kInstructions) {
    rows.add({number_cell(0), number_cell(self), number_cell(total), text_cell(one.name),
              text_cell(""), number_cell(0), text_cell(""), text_cell(words), text_cell("")});
  } else {
    rows.add({number_cell(0), text_cell(one.name), text_cell(""), number_cell(0), number_cell(self),
              number_cell(self), number_cell(total), text_cell(words)});
  }
  return rows;
}

// Self time in code without hooks below the function.
Table outside_table(const Profile& profile, const Annotated& one) {
  Table table;
  table.key = "outside";
  table.columns = {
      {"name", "", Kind::kName}, {"module", "", Kind::kText}, {"cost", "", Kind::kCost}};
  for (const auto& other : one.costs.outside) {
    const ModuleId module = profile.functions().module[other.leaf.index()];
    table.add({other.begin == 0 ? name_cell(other.leaf)
                                : text_cell(place_in(profile, module, other.begin)),
               text_cell(module ? profile.text(profile.modules()[module.index()].path) : ""),
               number_cell(other.cost)});
  }
  return table;
}

Section section_of(const Profile& profile, const Annotated& one, AnnotateBy by) {
  Section section;
  const std::string_view module =
      one.range.module ? profile.text(profile.modules()[one.range.module.index()].path)
                       : std::string_view();
  section.fields = {{"name", text_cell(one.name)},
                    {"module", text_cell(module)},
                    {"begin", number_cell(one.range.begin)},
                    {"end", number_cell(one.range.end)},
                    {"file", text_cell(one.file)},
                    {"total", number_cell(one.costs.total)},
                    {"self", number_cell(one.costs.self())},
                    {"in_code", number_cell(one.costs.in_code)},
                    {"of_callers", number_cell(one.costs.of_callers)},
                    {"without_address", number_cell(one.costs.without_address)},
                    {"elsewhere", number_cell(figures_elsewhere(one).total)}};
  section.tables = {outside_table(profile, one)};
  if (by != AnnotateBy::kInstructions) section.tables.push_back(line_table(one));
  if (by != AnnotateBy::kSource) section.tables.push_back(instruction_table(one));
  std::vector<std::string> notes;
  for (const std::string& note : one.notes) notes.push_back(escape(note));
  section.lists.emplace_back("notes", std::move(notes));
  std::vector<std::string> callers;
  for (const std::string& caller : one.inlined_into) callers.push_back(escape(caller));
  section.lists.emplace_back("inlined_into", std::move(callers));
  return section;
}

// All functions that the pattern names, the most expensive first. CSV has one kind of rows: lines,
// or with --asm instructions.
Result<Document> annotate(const Request& request) {
  const bool source = request.has("source"), code = request.has("asm");
  const AnnotateBy by = source == code ? AnnotateBy::kBoth
                        : source       ? AnnotateBy::kSource
                                       : AnnotateBy::kInstructions;
  std::size_t most = request.look.top;
  const bool for_people = request.look.format == Format::kText && !request.look.all;
  if (most == 0) most = for_people ? kFunctionsForPeople : SIZE_MAX;
  auto made = annotated_functions(request, most);
  if (!made) return made.error();
  const auto found = std::make_shared<const AnnotatedFunctions>(std::move(*made));

  Document document = request.document("annotate");
  document.parts_key = "functions";
  for (const Annotated& one : found->functions) {
    document.parts.push_back(section_of(request.profile(), one, by));
    Table rows = flat_table(one, by);
    if (!document.flat) {
      document.flat = std::move(rows);
    } else {
      for (const auto& row : rows.rows()) document.flat->add(row);
    }
  }
  document.text = [request, found, by](const Look& look) {
    std::string out;
    for (const Annotated& one : found->functions) {
      out += (out.empty() ? "" : "\n") + annotated_text(request, look, one, by);
    }
    out += "\n" + paint(look, Ink::kDim, kept_line(request)) + "\n";
    if (!analysis::has_call_sites(request.profile())) {
      out +=
          paint(look, Ink::kDim,
                "total: if several lines call a function, all of its cost is shown at the first of "
                "them (record with fble-prof --callsites to separate them)") +
          "\n";
    }
    if (found->left_out == 0) return out;
    return out +
           paint(look, Ink::kDim,
                 fmt::format("… {} more {} (--top N, --all)", found->left_out,
                             plural(found->left_out, "function"))) +
           "\n";
  };
  return document;
}

const Register kAnnotate({
    .name = "annotate",
    .value = "NAME",
    .words = "re: module: file:",
    .example = "*",
    .help = "the cost of a function by source line and by instruction, with inlined functions "
            "(record with fble-prof --leaves)",
    .manual =
        "The cost of a function by source line and by instruction, with and without the cost of\n"
        "the functions called there.\n"
        "Inlined functions are shown below the line of their call. A NAME that was inlined is\n"
        "also shown by line.\n"
        "Percentages refer to the function's total.\n"
        "A last row has what no line has: the cost of code without hooks that the function\n"
        "called, and of what that called (qsort\\[aq]s comparisons).\n"
        "A note names each source file that is missing.\n"
        "The profile must be recorded with fble-prof \\-\\-leaves. With\n"
        "\\-\\-callsites as well, calls of one function from several lines are separate.\n"
        ".B \\-\\-source\n"
        "shows only lines,\n"
        ".B \\-\\-asm\n"
        "only instructions.",
    .topic = View::Topic::kCode,
    .limits = "top",
    .options = {{"source", "with --annotate: lines only"},
                {"asm", "with --annotate: instructions only"}},
    .needs = [](const std::string&) { return Needs{.splits = {}, .leaves = true, .sites = true}; },
    .show = annotate,
});

}  // namespace
}  // namespace fbleprof::report
