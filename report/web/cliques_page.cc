// Recursion: functions that call each other in a circle are one entry that contains its members.
#include <fmt/format.h>

#include <algorithm>

#include "base/capped.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/views/recursion.h"
#include "report/web/bodies.h"
#include "report/web/document_html.h"
#include "report/web/function_names.h"
#include "report/web/html.h"
#include "report/web/view_document.h"

namespace fbleprof::web {

using namespace profile;
using analysis::Clique;
using report::count;

namespace {

constexpr std::size_t kCliques = 20, kMembers = 12;

std::string clique_card(const Page& page, const Clique& clique, const FunctionNames& names,
                        std::size_t members) {
  const report::Names plain(page.data.profile());
  std::string out =
      fmt::format("<section class=\"card wide\"><h2>{} <small>{}, depth {}</small></h2>",
                  html_text(report::clique_label(plain, clique, 90)),
                  report::kind_name(clique.recursion), report::depth_text(clique));
  out +=
      fmt::format("<p class=note><b class=num>{}</b> ({}), self {} ({})", page.share(clique.cost),
                  page.amount(clique.cost), page.share(clique.self), page.amount(clique.self));
  const Profile& profile = page.data.profile();
  const bool is_some = report::counts_some_calls(profile, clique);
  const std::string_view bound = is_some ? "≥" : "";
  if (clique.entries != 0) out += fmt::format("; entered {}{} times", bound, count(clique.entries));
  if (clique.entries != 0 && !is_some && page.data.costs().is_sum()) {
    out += fmt::format(", {} each", page.amount(rounded_quotient(clique.cost, clique.entries)));
  }
  if (clique.inside_calls != 0) {
    out += fmt::format("; {}{} calls inside", bound, count(clique.inside_calls));
  }
  out +=
      "</p><div class=scroll><table class=data><thead><tr><th scope=col class=num>%<th scope=col "
      "class=num>self<th scope=col class=num>own children<th scope=col class=num>entered<th "
      "scope=col class=num>inside<th scope=col class=text>member</tr></thead><tbody>";
  for (std::size_t i = 0; i < clique.members.size() && i < members; ++i) {
    const analysis::CliqueMember& member = clique.members[i];
    const std::uint64_t cost = member.self + member.children;
    const std::string bound_of = report::counts_some_calls(profile, member.function) ? "≥" : "";
    out += fmt::format(
        "<tr{}><td class=\"num share\">{}{}<td class=num>{}<td class=num>{}<td class=num>{}<td "
        "class=num>{}<td class=name>{}{}</tr>",
        names.row(member.function), bar(page.percent(cost)), page.share(cost),
        page.amount(member.self), page.amount(member.children),
        member.entries == 0 ? "" : bound_of + count(member.entries),
        member.inside_calls == 0 ? "" : bound_of + count(member.inside_calls),
        names.link(member.function), names.buttons(member.function));
  }
  out += "</tbody></table></div>";
  if (clique.members.size() > members) {
    out += notes_html(page,
                      {fmt::format("… {} more members (--all)", clique.members.size() - members)});
  }
  return out + "</section>";
}

}  // namespace

std::string cliques_body(const Page& page) {
  if (page.query.value == "context") {
    const auto made =
        view_document(page, *report::find_view("cliques"), "context", report::Format::kText);
    return made ? document_html(page, made->document) : failure_html(made.error());
  }
  const std::size_t members = std::max(kMembers, page.query.rows);
  std::vector<const Clique*> shown;
  std::vector<FunctionId> named;
  for (const Clique& clique : page.data.costs().tables().cliques().cliques) {
    if (clique.recursion == analysis::Recursion::kNone || shown.size() == kCliques) continue;
    shown.push_back(&clique);
    for (std::size_t i = 0; i < clique.members.size() && i < members; ++i) {
      named.push_back(clique.members[i].function);
    }
  }
  if (shown.empty()) return "<p class=empty>No function calls itself, directly or by others.</p>";
  const FunctionNames names(page, named);
  std::string out = fmt::format(
      "<p class=lead>Functions that call each other in a circle. What a circle costs belongs to "
      "its "
      "entry. {}</p>",
      page.site.is_file ? ""
                        : fmt::format("<a href=\"{}\">Calls by the circles above them</a>",
                                      page.href("cliques", "context")));
  for (const Clique* clique : shown) out += clique_card(page, *clique, names, members);
  return out;
}

}  // namespace fbleprof::web
