// --threads: one row per thread, or chain of threads that shared a tree.
#include "analysis/run_facts.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;
using analysis::node_count_of;
using analysis::reached_hz;
using analysis::RunFacts;
using analysis::tree_total;
using Kind = Column::Kind;

namespace {

Result<Document> threads(const Request& request) {
  const Profile& profile = request.runs;
  Document document("threads", Names(profile));
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  table.columns = {{"tid", "tid", Kind::kNumber},
                   {"process", profile.processes().size() > 1 ? "pid" : "", Kind::kNumber},
                   {"threads", "threads"},
                   {"start_ns", "start", Kind::kTime},
                   {"end_ns", "end", Kind::kTime},
                   {"cpu_ns", "cpu", Kind::kTime},
                   {"wall_ns", "wall", Kind::kTime},
                   {"overhead_ns", "own cost", Kind::kTime},
                   {"samples", "samples"},
                   {"rate_reached_hz", "Hz"},
                   {"dropped", ""},
                   {"calls", "calls"},
                   {"lost_calls", ""},
                   {"nodes", "contexts"},
                   {"hooked", "", Kind::kFlag},
                   {"name", "name", Kind::kText}};
  std::vector<const Tree*> tree_of(profile.threads().size());
  for (const Tree& tree : profile.trees()) {
    if (tree.thread) tree_of[tree.thread.index()] = &tree;
  }
  for (std::size_t t = 0; t < profile.threads().size(); ++t) {
    const Thread& thread = profile.threads()[t];
    const auto sum = [&](Role role) -> std::uint64_t {
      return tree_of[t] == nullptr ? 0
                                   : tree_total(profile, profile.find_metric(role), *tree_of[t]);
    };
    RunFacts own;
    own.samples = thread.samples;
    own.cpu_ns = thread.cpu_ns;
    own.is_imported = thread.process && profile.processes()[thread.process.index()].is_imported;
    Cell end = number_cell(thread.end_ns);
    if ((thread.flags & format::kThreadRunning) != 0) {
      const bool live = thread.process &&
                        profile.processes()[thread.process.index()].state == ProcessState::kLive;
      end = shown_as(end, live ? "running" : "with it");  // with its process
    }
    const std::uint64_t nodes = tree_of[t] == nullptr ? 0 : node_count_of(*tree_of[t]);
    const std::uint32_t pid = thread.process ? profile.processes()[thread.process.index()].pid : 0;
    table.add({number_cell(thread.tid), number_cell(pid), number_cell(thread.threads_served),
               number_cell(thread.start_ns), end, number_cell(thread.cpu_ns),
               number_cell(thread.wall_ns), number_cell(sum(Role::kOwnCost)),
               number_cell(thread.samples), number_cell(reached_hz(own)),
               number_cell(thread.dropped), number_cell(sum(Role::kCalls)),
               number_cell(thread.lost_calls), number_cell(nodes),
               flag_cell((thread.flags & format::kThreadHooked) != 0),
               text_cell(profile.text(thread.name))});
  }
  return document;
}

const Register kThreads({
    .name = "threads",
    .help = "one row per thread",
    .topic = View::Topic::kRuns,
    .subject = View::Subject::kRuns,
    .show = threads,
});

}  // namespace
}  // namespace fbleprof::report
