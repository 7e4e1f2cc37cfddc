// Measures how long a user of a large profile waits: for loading it, then for each view.
//
//     report_scale generate NODES THREADS FILE [EVERY]   one of EVERY contexts has time: 4
//     report_scale measure FILE
//
// `measure` prints, in TSV: what, milliseconds, milliseconds of CPU time (the truer figure on a
// busy machine: all of this is one thread), and the peak of resident memory so far in MB. Each view
// is taken three times; the shortest counts.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/annotate.h"
#include "analysis/costs.h"
#include "base/big_arrays.h"
#include "profile/reader.h"
#include "report/exporters/exporter.h"
#include "report/views/view.h"
#include "symbolize/code.h"
#include "tests/bench/report_scale/generate.h"
#include "transform/baseline.h"
#include "transform/filter.h"
#include "transform/join.h"
#include "transform/merge.h"
#include "transform/outline.h"

namespace {

using namespace fbleprof;
using Clock = std::chrono::steady_clock;

double peak_mb() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Took {
  double wall_ms = 0, cpu_ms = 0;
};

Took timed(const std::function<void()>& work) {
  const auto start = Clock::now();
  const std::clock_t cpu = std::clock();
  work();
  return {std::chrono::duration<double, std::milli>(Clock::now() - start).count(),
          static_cast<double>(std::clock() - cpu) * 1000 / CLOCKS_PER_SEC};
}

void tell(std::string_view what, Took took) {
  fmt::print("{}\t{:.1f}\t{:.1f}\t{:.0f}\n", what, took.wall_ms, took.cpu_ms, peak_mb());
  std::fflush(stdout);
}

// Makes and writes a view, sums included.
void show(const profile::Profile& profile, std::string_view name, std::string value = {},
          bool compare = false, report::Format format = report::Format::kText) {
  const analysis::Costs costs(profile, *profile.find_metric("cpu"));
  const symbolize::ModuleCode code(profile);
  report::Request request{.costs = costs, .runs = profile};
  request.total = costs.total();
  request.look.format = format;
  request.value = std::move(value);
  request.code = &code;
  const report::View& view = *report::find_view(name);
  const auto document = compare ? view.compare(request) : view.show(request);
  if (document) (void)report::render(*document, request.look);
}

using Views = std::vector<std::pair<std::string, std::function<void()>>>;

void measure_views(const Views& views) {
  for (const auto& [name, view] : views) {
    Took best = timed(view);
    for (int i = 0; i < 2; ++i) {
      const Took again = timed(view);
      best = {std::min(best.wall_ms, again.wall_ms), std::min(best.cpu_ms, again.cpu_ms)};
    }
    tell(name, best);
  }
}

// Steps on the profile as read, and merged forms that only one view needs.
void measure_unmerged(const profile::Profile& profile) {
  const auto of_runs = [&](std::string_view view) {
    const profile::Profile runs = transform::outline(profile);
    show(runs, view);
  };
  measure_views({
      {"summary", [&] { of_runs("summary"); }},
      {"threads", [&] { of_runs("threads"); }},
  });
  profile::Profile merged;
  tell("merge, sites apart",
       timed([&] { merged = transform::merge(transform::with_sites_apart(profile)); }));
  measure_views({{"call-sites, apart", [&] { show(merged, "call-sites"); }}});
  merged = {};
  tell("merge, by thread", timed([&] {
         merged =
             transform::merge(profile, {.splits = {{profile::Axis::kThread, {}}}, .aliases = {}});
       }));
  measure_views({{"by thread", [&] { show(merged, "by", "thread"); }}});
}

void measure_filters(const profile::Profile& profile) {
  const std::string hottest = display_name(profile, profile.nodes().function[1]);
  const auto filtered = [&](const transform::Filter& how) {
    auto result = transform::filter(profile, how);
    if (!result) return;
    show(result->profile, "tree");
  };
  const auto kept = [&](const std::string& query) {
    return [&filtered, query] { filtered({.keep = {query}, .metric = "cpu"}); };
  };
  measure_views({
      {"tree --exclude", [&] { filtered({.exclude = {"*method_5*"}}); }},
      {"tree --select re:", [&] { filtered({.select = {"re:method_1.*int"}}); }},
      {"tree --select", [&] { filtered({.select = {"*method_1*"}}); }},
      {"tree --select one", [&] { filtered({.select = {hottest}}); }},
      {"tree --fold", [&] { filtered({.fold = {"*method_3*"}}); }},
      {"tree --keep not", kept("not *method_7* and total > 0.01%")},
      {"tree --keep from", kept("from(*method_11*)")},
      {"tree --keep to", kept("to(*method_11*)")},
      {"tree --keep succ", kept("succ(*method_1*) or pred(*method_2*)")},
      {"tree --keep path", kept("path(*method_1*..*method_2*)")},
      {"tree --keep dominated", kept("dominated > 0.1% and calls > 10")},
  });
}

void measure_diff(const profile::Profile& profile) {
  profile::Profile both;
  tell("diff, load", timed([&] {
         both = transform::merge(transform::join({profile, transform::as_baseline(profile)}));
       }));
  measure_views({
      {"diff", [&] { show(both, "tree", {}, true); }},
      {"diff --self", [&] { show(both, "self", {}, true); }},
  });
}

int measure(const std::string& file) {
  profile::Profile profile;
  bool readable = true;
  const Took read_took = timed([&] {
    auto read = profile::read_file(file);
    readable = read.ok();
    if (read) profile = std::move(read->profile);
  });
  if (!readable) {
    fmt::print(stderr, "{} cannot be read\n", file);
    return 2;
  }
  tell("read", read_took);
  measure_unmerged(profile);
  const Took merge_took = timed([&] { profile = transform::merge(profile); });
  tell("merge", merge_took);
  tell("load (read and merge)",
       {read_took.wall_ms + merge_took.wall_ms, read_took.cpu_ms + merge_took.cpu_ms});
  fmt::print("contexts\t{}\t\t\n", profile.nodes().count());

  const profile::Metric& metric = *profile.find_metric("cpu");
  const std::string hottest = display_name(profile, profile.nodes().function[1]);
  const std::string other = display_name(profile, profile.nodes().function[2]);
  const std::vector<profile::FunctionId> annotated = {profile.nodes().function[1]};
  const analysis::Costs costs(profile, metric);
  measure_views({
      {"tree", [&] { show(profile, "tree"); }},
      {"tree, JSON", [&] { show(profile, "tree", {}, false, report::Format::kJson); }},
      {"self", [&] { show(profile, "self"); }},
      {"dominated", [&] { show(profile, "dominated"); }},
      {"edges", [&] { show(profile, "edges"); }},
      {"block", [&] { show(profile, "block", hottest); }},
      {"path", [&] { show(profile, "path", hottest + "," + other); }},
      {"hot", [&] { show(profile, "hot"); }},
      {"cliques", [&] { show(profile, "cliques", "whole"); }},
      {"cliques=context", [&] { show(profile, "cliques", "context"); }},
      {"overview", [&] { show(profile, "overview"); }},
      {"call-sites", [&] { show(profile, "call-sites"); }},
      {"by module", [&] { show(profile, "by", "module"); }},
      {"by file", [&] { show(profile, "by", "file"); }},
      {"by namespace", [&] { show(profile, "by", "namespace"); }},
      {"by class", [&] { show(profile, "by", "class"); }},
      {"annotate, its sums",
       [&] {
         const auto charges = analysis::charges(costs);
         (void)analysis::Annotator(costs, charges, {{}}).annotate({}, annotated);
       }},
      {"coverage", [&] { show(profile, "coverage"); }},
  });
  measure_filters(profile);
  measure_diff(profile);
  for (const report::Exporter& exporter : report::exporters()) {
    if (exporter.name == "svg") continue;  // another program draws it
    const report::Export all{profile, metric, analysis::total(profile, metric)};
    tell(fmt::format("export {}", exporter.name), timed([&] { (void)exporter.write(all).ok(); }));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  fbleprof::keep_freed_memory();
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "generate" && (argc == 5 || argc == 6)) {
    const std::size_t nodes = std::strtoul(argv[2], nullptr, 10);
    const std::size_t threads = std::strtoul(argv[3], nullptr, 10);
    const std::size_t every = argc == 6 ? std::strtoul(argv[5], nullptr, 10) : 4;
    if (threads != 0 && every != 0 && nodes >= threads &&
        bench::generate(argv[4], nodes, threads, every)) {
      return 0;
    }
    fmt::print(stderr, "{} cannot be written\n", argv[4]);
    return 2;
  }
  if (what == "measure" && argc == 3) return measure(argv[2]);
  fmt::print(stderr, "report_scale generate NODES THREADS FILE | report_scale measure FILE\n");
  return 2;
}
