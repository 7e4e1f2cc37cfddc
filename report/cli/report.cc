#include "report/cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "analysis/costs.h"
#include "profile/reader.h"
#include "report/cli/inputs.h"
#include "report/cli/output.h"
#include "report/exporters/exporter.h"
#include "report/text/escape.h"
#include "report/views/call_sites_view.h"
#include "report/views/clique_view.h"
#include "report/views/coverage_view.h"
#include "report/views/diff_view.h"
#include "report/views/file_views.h"
#include "report/views/hot_view.h"
#include "report/views/overview.h"
#include "report/views/run_view.h"
#include "report/views/sequence_view.h"
#include "report/views/tables.h"
#include "report/views/tree_view.h"
#include "symbolize/symbolize_profile.h"
#include "symbolize/table_cache.h"
#include "transform/accumulate.h"
#include "transform/baseline.h"
#include "transform/join.h"
#include "transform/outline.h"
#include "transform/take_times.h"

namespace fbleprof::report {

using profile::Profile;

namespace {

transform::MergeOptions merge_options(const Options& options) {
  transform::MergeOptions how;
  how.splits = options.view == View::kRollup ? rollup_splits(options.rollup) : options.splits;
  how.keep_leaves = options.leaves || options.view == View::kAnnotate;
  how.keep_sites = options.view == View::kCallSites;
  return how;
}

// What the levels below the root are, for exports that can say so.
transform::GroupBy group_by_of(const std::vector<transform::Split>& splits) {
  using By = transform::Split::By;
  const auto is = [&](std::size_t i, By by) { return i < splits.size() && splits[i].by == by; };
  if (splits.size() == 1 && is(0, By::kProcess)) return transform::GroupBy::kProcess;
  if (splits.size() == 1 && is(0, By::kThread)) return transform::GroupBy::kThread;
  if (splits.size() == 2 && is(0, By::kProcess) && is(1, By::kThread)) {
    return transform::GroupBy::kProcessAndThread;
  }
  return transform::GroupBy::kNothing;
}

// --raw and --verify: about files, not about profiles.
Result<Report> report_files(const Options& options) {
  Report report;
  // Records go out while they are walked: there may be millions.
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> mine(nullptr, std::fclose);
  if (options.view == View::kRaw && !options.output.empty() && options.output != "-") {
    mine.reset(std::fopen(options.output.c_str(), "wb"));
    if (mine == nullptr) {
      return Error{options.output, std::nullopt, "cannot write", std::strerror(errno)};
    }
  }
  std::vector<FileChecks> all;
  for (const std::string& file : options.files) {
    auto image = profile::FileImage::load(file);
    if (!image) {
      if (!options.tolerant) return image.error();
      report.warnings.push_back(image.error().line() + " (skipped)");
      continue;
    }
    if (options.view == View::kRaw) {
      std::FILE* out = mine != nullptr ? mine.get() : stdout;
      raw_view(*image, out);
      if (std::fflush(out) != 0 && errno != EPIPE) {
        return Error{mine != nullptr ? options.output : "stdout", std::nullopt, "cannot write",
                     std::strerror(errno)};
      }
      continue;
    }
    all.push_back({file, profile::verify(*image, profile::read_image(*image))});
    for (const profile::Check& check : all.back().checks) report.broken |= !check.ok;
  }
  if (options.view == View::kRaw) {
    report.is_written = true;
    return report;
  }
  if (all.empty()) {
    return Error{"fble-prof-report",
                 {},
                 "none of these files could be read",
                 report.warnings.empty() ? "" : report.warnings.back()};
  }
  report.text = verify_view(all, options.look);
  return report;
}

// All of `files` in one profile. Views of single threads and processes want all trees as they were;
// for the others many files become one tree while they are read.
// By the metrics that a file holds: the first of these files.
using FilesByMetrics = std::map<std::set<std::string>, std::string>;

Result<Profile> read_all(const std::vector<std::string>& files, const Options& options,
                         Progress& progress, std::vector<std::string>& warnings,
                         FilesByMetrics& by_metrics) {
  transform::AccumulateOptions how;
  how.splits = transform::all_splits(merge_options(options));
  how.keep_leaves = options.leaves || options.inlines || options.view == View::kAnnotate;
  how.keep_sites = options.view == View::kCallSites;
  // Of these views' thousands of files only the outlines are held.
  const bool about_runs = options.view == View::kSummary || options.view == View::kThreads;
  if (about_runs) how.most_profiles = how.most_nodes = static_cast<std::size_t>(-1) / 2;
  transform::Accumulator all(how);
  const Status bad = read_inputs(
      files, {options.tolerant, &progress},
      [&](Profile profile) {
        std::set<std::string> names;
        for (const profile::Metric& metric : profile.metrics()) names.insert(metric.name);
        if (!profile.processes().empty()) {
          by_metrics.try_emplace(std::move(names), profile.text(profile.processes()[0].file));
        }
        all.add(about_runs ? transform::outline(profile) : std::move(profile));
      },
      warnings);
  if (bad) return *bad;
  return all.take();
}

const Exporter* chosen_exporter(const Options& options) {
  return options.view == View::kExport ? find_exporter(options.export_format).value() : nullptr;
}

// Whether a pattern asks for source files, which only debug info tells.
bool names_files(const Options& options) {
  const auto asks = [](const std::string& pattern) { return pattern.starts_with("file:"); };
  const transform::Filter& filter = options.filter;
  const auto mentions = [](const std::string& text) {
    return text.find("file:") != std::string::npos;
  };
  return asks(options.block) || asks(options.call_sites) || asks(options.annotate) ||
         mentions(options.path) || std::any_of(filter.keep.begin(), filter.keep.end(), mentions) ||
         std::any_of(filter.select.begin(), filter.select.end(), asks) ||
         std::any_of(filter.exclude.begin(), filter.exclude.end(), asks) ||
         std::any_of(filter.fold.begin(), filter.fold.end(), asks);
}

Profile add_names(const Profile& profile, const Options& options, Progress& progress) {
  symbolize::Options how;
  const Exporter* exporter = chosen_exporter(options);
  how.lines = options.look.lines || options.rollup == "file" || options.view == View::kCallSites ||
              names_files(options) || (exporter != nullptr && exporter->wants_lines);
  how.inlines = options.inlines;
  // Exports and --annotate ask for addresses and functions, not for names of places.
  how.offsets = options.leaves && exporter == nullptr && options.view != View::kAnnotate;
  how.progress = &progress;
  const symbolize::TableCache cache(symbolize::TableCache::default_directory());
  cache.serve(how);
  return symbolize::symbolize(profile, how);
}

Result<const profile::Metric*> choose_metric(const Profile& profile, const std::string& wanted) {
  const std::string name = wanted.empty() ? default_metric(profile) : wanted;
  const profile::Metric* metric = profile.find_metric(name);
  if (metric != nullptr) return metric;
  std::string known;
  for (const profile::Metric& m : profile.metrics()) {
    known += (known.empty() ? "" : ", ") + escape(m.name);
  }
  return Error{"", std::nullopt, fmt::format("no metric \"{}\" in this profile", escape(name)),
               "there are " + known};
}

std::string diff_view(const Input& input, const Options& options) {
  if (options.view == View::kTree) return diff_tree(input, options.normalize);
  return diff_table(input,
                    options.view == View::kSelf ? FunctionOrder::kSelf : FunctionOrder::kDominated,
                    options.normalize);
}

// What --fail-if says to the whole, unfiltered comparison.
Status check_limits(const Profile& profile, const Options& options, Report& report) {
  for (const Limit& limit : options.limits) {
    auto broken = check_limit(profile, limit, options.normalize);
    if (!broken) return broken.error();
    if (broken->empty()) continue;
    report.broken = true;
    report.warnings.push_back(std::move(*broken));
  }
  return {};
}

// Which metric of `base` takes the place of the time of `profile`: of the same clock, or whatever
// another profiler measured times by.
Result<std::string> time_to_take(const Profile& profile, const Profile& base,
                                 const std::string& file) {
  const std::string own = default_metric(profile);
  const auto has = [&](std::string_view name) {
    const profile::Metric* metric = base.find_metric(name);
    return metric != nullptr && metric->values != nullptr;
  };
  if (has(own)) return own;
  for (const char* other : {"cpu", "wall"}) {
    if (!has(other)) continue;
    return Error{file, std::nullopt,
                 fmt::format("holds {} time, the run with hooks {}", other, own),
                 "profile both by the same clock"};
  }
  const std::string name = default_metric(base);
  const profile::Metric* metric = base.find_metric(name);
  if (metric != nullptr && metric->unit == "ns") return name;
  return Error{file, std::nullopt, fmt::format("holds {}, no time", escape(name)),
               "--times-from takes what is measured in seconds"};
}

// What stands above a view, from the profile as read: threads and processes still apart.
struct Above {
  std::string tree;
  RunOverview overview;
};

Result<std::string> render(const Options& options, const Above& above, const Input& input) {
  if (!options.baselines.empty()) return diff_view(input, options);
  switch (options.view) {
    case View::kSelf:
      return function_view(input, FunctionOrder::kSelf);
    case View::kDominated:
      return function_view(input, FunctionOrder::kDominated);
    case View::kBlock:
      return block_view(input, options.block);
    case View::kEdges:
      return pair_view(input);
    case View::kAnnotate:
      return annotate_view(input, options.annotate, options.annotate_by);
    case View::kRollup:
      return rollup_view(input, options.rollup);
    case View::kExport:
      return chosen_exporter(options)->write({input.profile, input.metric, input.total,
                                              input.kept_is_bound, group_by_of(options.splits),
                                              input.look.min_percent, input.look.all});
    case View::kCallSites:
      return call_sites_view(input, options.call_sites);
    case View::kCoverage:
      return coverage_view(input, options.coverage);
    case View::kPath:
      return sequence_view(input, options.path);
    case View::kCliques:
      return clique_view(input);
    case View::kCliqueContexts:
      return clique_context_view(input);
    case View::kHot:
      return hot_view(input);
    case View::kOverview:
      return overview(input, above.overview);
    default:
      break;
  }
  if (input.look.format != Format::kText) return tree_view(input);
  return above.tree + tree_view(input);
}

}  // namespace

Result<Report> make_report(const Options& options, Progress& progress) {
  if (options.view == View::kRaw || options.view == View::kVerify) return report_files(options);

  if (const Exporter* exporter = chosen_exporter(options)) {
    if (Status bad = check_output(options.output, exporter->is_binary)) return *bad;
  }

  // Read: each file by itself, whatever its state and kind; all runs side by side, so that a
  // module's symbols are looked up once. From here on there is one profile, and each step replaces
  // it: a million nodes are not kept twice.
  Report report;
  std::vector<std::string> skipped;
  FilesByMetrics by_metrics;
  auto read = read_all(options.files, options, progress, skipped, by_metrics);
  if (!read) return read.error();
  Profile profile = std::move(*read);
  *read = Profile();

  if (options.view == View::kSummary || options.view == View::kThreads) {
    report.warnings = profile.warnings();
    report.warnings.insert(report.warnings.end(), skipped.begin(), skipped.end());
    report.text = options.view == View::kSummary ? summary_view(profile, options.look)
                                                 : thread_view(profile, options.look);
    return report;
  }
  const auto wanted = choose_metric(profile, options.metric);
  if (!wanted) return wanted.error();
  const std::string metric_name = (*wanted)->name;
  for (const auto& [names, file] : by_metrics) {
    if (names.contains(metric_name) || names.empty()) continue;
    skipped.push_back(fmt::format("{}: holds no {} but {}: it counts for nothing here",
                                  escape(file), escape(metric_name),
                                  escape(fmt::format("{}", fmt::join(names, ", ")))));
  }
  Above above;
  if (options.view == View::kOverview) {
    above.overview = run_overview(profile, **wanted, options.look);
  } else {
    above.tree =
        heading(profile, options.look) + "\n" + process_split(profile, **wanted, options.look);
  }

  transform::MergeOptions how = merge_options(options);
  std::string base_time;
  profile::Parts own;  // what ran here
  own.processes = profile.parts().processes;
  own.threads = profile.parts().threads;

  // Compare, or take times: the other run's figures join these, as metrics of their own.
  const bool takes_times = !options.times_from.empty();
  if (takes_times || !options.baselines.empty()) {
    FilesByMetrics of_base;
    auto base = read_all(takes_times ? options.times_from : options.baselines, options, progress,
                         skipped, of_base);
    if (!base) return base.error();
    if (takes_times) {
      auto chosen = time_to_take(profile, *base, options.times_from[0]);
      if (!chosen) return chosen.error();
      base_time = transform::baseline_name(*chosen);
    } else if (base->find_metric(metric_name) == nullptr) {
      return Error{options.baselines[0],
                   {},
                   fmt::format("no metric \"{}\" in it", escape(metric_name)),
                   "choose one that both have: --metric"};
    }
    how.aliases = transform::renamed_program(*base, profile);
    profile = transform::join({transform::like_recorded(profile, *base),
                               transform::as_baseline(transform::like_recorded(*base, profile))});
  }

  // Symbolize: names for addresses, and where asked for, lines and inlined functions.
  if (options.symbols) profile = add_names(profile, options, progress);
  if (options.view == View::kOverview) {
    for (const std::string& warning : profile.warnings()) {
      above.overview.warnings.push_back(escape(warning));
    }
    for (const std::string& line : skipped) above.overview.warnings.push_back(escape(line));
  } else {
    report.warnings = profile.warnings();
    report.warnings.insert(report.warnings.end(), skipped.begin(), skipped.end());
  }

  // Merge: one tree by path, whatever thread or process it came from.
  profile = transform::merge(profile, how);
  if (takes_times) {
    auto taken =
        transform::take_times(profile, own, default_metric(profile), base_time, how.keep_sites);
    if (!taken) return taken.error();
    profile = std::move(taken->profile);
    if (taken->elsewhere_ns != 0) {
      report.warnings.push_back(fmt::format(
          "{:.1f} % of the time of {} is in functions that were not called here: it is the root's",
          100.0 * static_cast<double>(taken->elsewhere_ns) / static_cast<double>(taken->total_ns),
          escape(options.times_from[0])));
    }
    // Most of it may be a library's; or it is another program, which has a main, too.
    if (taken->below_ns > taken->total_ns / 2) {
      report.warnings.push_back(fmt::format(
          "{:.1f} % of the time of {} is in functions that have no hooks here: it is "
          "their callers'. Is it the same program?",
          100.0 * static_cast<double>(taken->below_ns) / static_cast<double>(taken->total_ns),
          escape(options.times_from[0])));
    }
    if (const auto still = choose_metric(profile, metric_name); !still) return still.error();
  }
  if (Status bad = check_limits(profile, options, report)) return *bad;
  const std::uint64_t total = analysis::total(profile, *profile.find_metric(metric_name));

  // Filter: what the user selected, excluded, folded.
  transform::Filter filter = options.filter;
  filter.keep_sites = how.keep_sites;
  filter.metric = metric_name;
  auto filtered = transform::filter(profile, filter);
  if (!filtered) return filtered.error();
  profile = std::move(filtered->profile);

  // Analyse and show: what the view asks of the profile, it asks itself.
  const profile::Metric& metric = *profile.find_metric(metric_name);
  Input input{profile, metric};
  input.kept = analysis::total(profile, metric);
  input.total = total;
  input.kept_is_bound = filtered->is_bound;
  input.look = options.look;
  auto text = render(options, above, input);
  if (!text) return text.error();
  report.text = std::move(*text);
  return report;
}

}  // namespace fbleprof::report
