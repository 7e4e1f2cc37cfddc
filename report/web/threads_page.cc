// Threads: when each ran, and how long it computed.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/run_facts.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/web/bodies.h"
#include "report/web/document_html.h"
#include "report/web/html.h"
#include "report/web/view_document.h"

namespace fbleprof::web {

using namespace profile;

namespace {

constexpr std::size_t kThreads = 200;

// One line per thread: from its start to its end, filled in proportion to its CPU time.
std::string timeline(const Page& page) {
  const Profile& runs = page.data.source().loaded.runs;
  std::uint64_t end = 1;
  for (const Process& process : runs.processes()) end = std::max(end, process.duration_ns);
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < runs.threads().size(); ++t) {
    end = std::max(end, runs.threads()[t].end_ns);
    order.push_back(t);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return runs.threads()[a].cpu_ns > runs.threads()[b].cpu_ns;
  });
  const std::size_t shown = std::min(order.size(), kThreads);
  std::string out = fmt::format(
      "<section class=\"card wide\"><h2>Timeline <small>0 to {}; the fuller, the busier</small>"
      "</h2><div class=scroll><table class=\"data timeline\"><thead><tr><th scope=col class=text>"
      "thread<th scope=col class=num>CPU<th scope=col class=num>busy<th scope=col class=text>from "
      "start to end</tr></thead><tbody>",
      report::quantity(end, "ns"));
  for (std::size_t i = 0; i < shown; ++i) {
    const Thread& thread = runs.threads()[order[i]];
    const Process* process = thread.process ? &runs.processes()[thread.process.index()] : nullptr;
    std::uint64_t last = thread.end_ns;
    if (last == 0 && process != nullptr) last = process->duration_ns;
    last = std::max(last, thread.start_ns);
    const double begin_part =
        100.0 * static_cast<double>(thread.start_ns) / static_cast<double>(end);
    const double length = std::max(
        0.3, 100.0 * static_cast<double>(last - thread.start_ns) / static_cast<double>(end));
    const double busy = last == thread.start_ns
                            ? 0
                            : std::min(1.0, static_cast<double>(thread.cpu_ns) /
                                                static_cast<double>(last - thread.start_ns));
    std::string name = report::escape(runs.text(thread.name));
    if (name.empty()) name = "thread";
    if (runs.processes().size() > 1 && process != nullptr) {
      name = fmt::format("{} of {}", name, process->pid);
    }
    out += fmt::format(
        "<tr><td class=name>{} <small>{}</small><td class=num>{}<td class=num>{:.0f}%<td "
        "class=span><svg viewBox=\"0 0 100 1\" preserveAspectRatio=none aria-hidden=true><rect "
        "class=alive x={:.2f} width={:.2f} height=1 /><rect class=busy x={:.2f} width={:.2f} "
        "height=1 /></svg></tr>",
        html_text(name), thread.tid, report::quantity(thread.cpu_ns, "ns"), 100 * busy, begin_part,
        length, begin_part, length * busy);
  }
  out += "</tbody></table></div>";
  if (shown < order.size()) {
    out += fmt::format("<p class=note>… {} more threads below</p>", order.size() - shown);
  }
  return out + fmt::format(
                   "<p class=note><a href=\"{}\">Costs by thread</a>, in the metric of the "
                   "other pages</p></section>",
                   page.href("by", "thread"));
}

}  // namespace

std::string threads_body(const Page& page) {
  const auto made = view_document(page, *report::find_view("threads"), "", report::Format::kText);
  if (!made) return failure_html(made.error());
  return timeline(page) + document_html(page, made->document);
}

}  // namespace fbleprof::web
