#include "report/cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "analysis/call_sites.h"
#include "analysis/costs.h"
#include "analysis/default_metric.h"
#include "analysis/sampled.h"
#include "profile/next_program.h"
#include "profile/reader.h"
#include "report/cli/directories.h"
#include "report/cli/inputs.h"
#include "report/cli/missing_names.h"
#include "report/cli/output.h"
#include "report/cli/pack.h"
#include "report/cli/window.h"
#include "report/exporters/exporter.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/text/words.h"
#include "report/views/phrases.h"
#include "report/views/view.h"
#include "symbolize/code.h"
#include "symbolize/symbolize_profile.h"
#include "symbolize/table_cache.h"
#include "transform/accumulate.h"
#include "transform/as_shown.h"
#include "transform/baseline.h"
#include "transform/counterparts.h"
#include "transform/depth.h"
#include "transform/holders.h"
#include "transform/idle.h"
#include "transform/join.h"
#include "transform/merge.h"
#include "transform/outline.h"
#include "transform/take_times.h"
#include "transform/window.h"

namespace fbleprof::report {

using profile::Profile;

namespace {

Needs needs_of(const Options& options) {
  Needs needs;
  if (options.view != nullptr && options.view->needs != nullptr) {
    needs = options.view->needs(options.value);
  }
  for (const transform::Split& split : options.splits) {
    // A view's own groups are the outermost.
    const auto& known = needs.splits;
    if (std::find(known.begin(), known.end(), split) == known.end()) needs.splits.push_back(split);
  }
  needs.leaves |= options.leaves;
  needs.lines |= options.look.lines;
  if (options.exporter != nullptr) needs.lines |= options.exporter->wants_lines;
  return needs;
}

bool is_of(const Options& options, View::Subject subject) {
  return options.view != nullptr && options.view->subject == subject;
}

// Where a view writes its text itself: stdout or the file of -o, which is opened when there is
// something to write.
class Printed {
 public:
  explicit Printed(const std::string& file) : file_(file.empty() || file == "-" ? "" : file) {}

  bool any() const { return any_; }
  // A reader that stops early (| head) is not an error: the rest is left out.
  Status add(const View& view, const profile::FileImage& image) {
    if (!any_ && !file_.empty()) {
      mine_.reset(std::fopen(file_.c_str(), "wb"));
      if (mine_ == nullptr) return failure(errno);
    }
    any_ = true;
    if (is_closed_) return {};
    std::FILE* out = mine_ != nullptr ? mine_.get() : stdout;
    int reason = 0;
    try {
      view.print(image, out);
      if (std::fflush(out) != 0) reason = errno;
    } catch (const std::system_error& error) {  // fmt's
      reason = error.code().value();
    }
    is_closed_ = reason == EPIPE;
    return reason == 0 || is_closed_ ? Status() : failure(reason);
  }

 private:
  Error failure(int reason) const {
    return {file_.empty() ? "stdout" : file_, std::nullopt, "cannot write", std::strerror(reason)};
  }

  std::string file_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> mine_{nullptr, std::fclose};
  bool any_ = false, is_closed_ = false;
};

// What to read. A wrapper's profile says little: the user ran the program that it became. Only the
// summary, the records, a window and a comparison of a named file are of that file alone.
std::vector<std::string> files_of(const Options& options) {
  const bool is_about_file = options.view != nullptr &&
                             (options.view->name == "summary" || options.view->print != nullptr);
  const bool is_alone = options.files.size() > 1 || is_about_file || has_window(options) ||
                        !options.baselines.empty();
  if (is_alone && !options.names_no_file) return options.files;
  return profile::with_profiles_after_exec(options.files[0]);
}

// Views that read files directly, not profiles.
Result<Report> report_files(const Options& options) {
  Report report;
  // Records are written while they are read: there may be millions.
  const bool prints = options.view->print != nullptr;
  Printed printed(options.output);
  std::vector<FileChecks> all;
  for (const std::string& file : prints ? options.files : files_of(options)) {
    auto image = load_image(file);
    if (!image) {
      if (!options.tolerant) return image.error();
      report.warnings.push_back(image.error().line() + " (skipped)");
      continue;
    }
    if (prints) {
      if (Status bad = printed.add(*options.view, *image)) return *bad;
      continue;
    }
    all.push_back({image->name(), profile::verify(*image, profile::read_image(*image))});
    for (const profile::Check& check : all.back().checks) report.broken |= !check.ok;
  }
  if (printed.any()) {
    report.is_written = true;
    return report;
  }
  if (all.empty()) {
    return Error{"fble-prof-report",
                 {},
                 "none of these files could be read",
                 report.warnings.empty() ? "" : report.warnings.back()};
  }
  const Profile nothing;
  const profile::Metric no_metric;
  const analysis::Costs costs(nothing, no_metric);
  Request request{.costs = costs, .runs = nothing};
  request.look = options.look;
  request.files = std::move(all);
  auto document = options.view->show(request);
  if (!document) return document.error();
  report.text = report::render(*document, options.look);
  return report;
}

// All of `files` in one profile. Views of single threads and processes need all trees as recorded;
// for the others many files become one tree while they are read.
struct Found {
  std::vector<std::string> warnings;
  // By the metrics that a file holds: the first of these files.
  std::map<std::set<std::string>, std::string> by_metrics;
  std::vector<transform::Moment> moments;
  PlainRuns plain_runs;
  std::string usual_metric;      // of the first file as a whole, if only a window is shown
  std::string earlier_waits_of;  // the first file whose window holds them
  // Of a comparison's side:
  std::vector<std::size_t> runs;     // the index of each run's first process
  bool has_counted_times = false;    // some file has a sampled run whose times are not taken
  std::vector<std::string> remarks;  // about the sampled runs whose times are taken
  std::optional<Profile> all_trees;  // the outline of the only run, if its times are taken
};

// Whether a comparison finds counterparts of groups, which only separate trees have.
bool pairs_groups(const Options& options, const Needs& needs) {
  return !options.baselines.empty() &&
         std::any_of(needs.splits.begin(), needs.splits.end(), [](const transform::Split& split) {
           return split.axis == profile::Axis::kProcess || split.axis == profile::Axis::kThread;
         });
}

Result<Profile> read_all(const std::vector<std::string>& files, const Options& options,
                         const Needs& needs, Progress& progress, Found& found,
                         bool plain_runs = false) {
  transform::AccumulateOptions how;
  how.splits = needs.splits;
  how.keep_leaves = needs.leaves || options.inlines;
  // Of thousands of files only the outlines are kept, if nothing else is shown.
  const bool about_runs = is_of(options, View::Subject::kRuns);
  if (about_runs || pairs_groups(options, needs)) {
    how.most_profiles = how.most_nodes = static_cast<std::size_t>(-1) / 2;
  }
  transform::Accumulator all(how);
  Status no_window;
  const Status bad = read_inputs(
      files, {options.tolerant, &progress, plain_runs, options.symbols},
      [&](Profile profile) {
        for (auto& moment : transform::moments(profile, needs.moments)) {
          found.moments.push_back(std::move(moment));
        }
        if (has_window(options) && found.usual_metric.empty()) {
          if (const auto* usual = analysis::default_metric(profile)) {
            found.usual_metric = usual->name;
          }
        }
        auto cut = cut_window(std::move(profile), options);
        if (!cut) {
          if (!no_window) no_window = cut.error();
          return;
        }
        if (has_window(options) && found.earlier_waits_of.empty() && holds_earlier_waits(*cut)) {
          found.earlier_waits_of = cut->text(cut->processes()[0].file);
        }
        profile = transform::as_shown(*cut);
        std::set<std::string> names;
        for (const profile::Metric& metric : profile.metrics()) names.insert(metric.name);
        if (!profile.processes().empty()) {
          found.by_metrics.try_emplace(std::move(names), profile.text(profile.processes()[0].file));
        }
        if (needs.sites) profile = transform::with_sites_apart(profile);
        all.add(about_runs ? transform::outline(profile) : std::move(profile));
      },
      found.warnings, found.plain_runs);
  if (bad) return *bad;
  if (no_window) return *no_window;
  return all.take();
}

// The metrics of a run that something compares: the one that is shown, those of --fail-if, and each
// one that a page can choose.
std::vector<std::string> compared_metrics(const Profile& run, const Options& options) {
  std::set<std::string> names;
  if (options.action == Options::Action::kServe) {
    for (const profile::Metric& metric : run.metrics()) names.insert(metric.name);
  }
  const auto add = [&](const std::string& called) {
    const profile::Metric* metric = analysis::metric_called(run, called);
    names.insert(metric != nullptr ? metric->name : called);
  };
  add(options.metric.empty() ? analysis::default_metric(run)->name : options.metric);
  for (const Limit& limit : options.limits) add(limit.metric);
  return {names.begin(), names.end()};
}

// Whether a pattern needs source files, which only debug info names.
bool names_files(const Options& options) {
  const auto asks = [](const std::string& pattern) { return pattern.starts_with("file:"); };
  const transform::Filter& filter = options.filter;
  const auto mentions = [](const std::string& text) {
    return text.find("file:") != std::string::npos;
  };
  const auto asks_in_rule = [&](const Limit& limit) { return asks(limit.pattern); };
  return mentions(options.value) || std::any_of(filter.keep.begin(), filter.keep.end(), mentions) ||
         std::any_of(options.limits.begin(), options.limits.end(), asks_in_rule) ||
         std::any_of(filter.select.begin(), filter.select.end(), asks) ||
         std::any_of(filter.exclude.begin(), filter.exclude.end(), asks) ||
         std::any_of(filter.fold.begin(), filter.fold.end(), asks);
}

Profile add_names(const Profile& profile, const Options& options, const Needs& needs,
                  Progress& progress) {
  symbolize::Options how;
  how.lines = needs.lines || names_files(options);
  how.inlines = options.inlines;
  // Exports and --annotate use addresses and functions, not names of places.
  const bool view_wants_leaves =
      options.view == nullptr ||
      (options.view->needs != nullptr && options.view->needs(options.value).leaves);
  how.offsets = options.leaves && !view_wants_leaves;
  how.ask_debuginfod = true;
  how.progress = &progress;
  const symbolize::TableCache cache(symbolize::TableCache::default_directory());
  cache.serve(how);
  return transform::with_holders_named(symbolize::symbolize(profile, how));
}

Result<const profile::Metric*> choose_metric(const Profile& profile, const std::string& wanted) {
  const profile::Metric* metric =
      wanted.empty() ? analysis::default_metric(profile) : analysis::metric_called(profile, wanted);
  if (metric != nullptr) return metric;
  return no_such_metric(profile, wanted);
}

// Whether waits are a part of what the metric measures.
bool is_of_waits(const profile::Metric& metric) {
  return metric.role == profile::Role::kWallTime || metric.role == profile::Role::kWaitTime;
}

// Checks --fail-if against the whole, unfiltered comparison.
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

// 0: there is no baseline.
std::uint64_t total_of_baseline(const Profile& profile, const std::string& metric) {
  const profile::Metric* base = profile.find_metric(transform::baseline_name(metric));
  return base == nullptr ? 0 : analysis::total(profile, *base);
}

// The time that another run's replaces: what is shown, or what is shown by default.
const profile::Metric* time_to_replace(const Profile& profile, const std::string& shown) {
  const profile::Metric* metric = profile.find_metric(shown);
  const bool is_time = metric != nullptr && (metric->role == profile::Role::kCpuTime ||
                                             metric->role == profile::Role::kWallTime);
  return is_time && analysis::total(profile, *metric) != 0 ? metric
                                                           : analysis::default_metric(profile);
}

// The metric of `base` that replaces the time of `profile`: of the same clock, or another
// profiler's measure of time.
Result<std::string> time_to_take(const Profile& profile, const Profile& base,
                                 const std::string& shown, const std::string& file) {
  const profile::Metric* own = time_to_replace(profile, shown);
  const auto of_base = [&](profile::Role role) {
    const profile::Metric* metric = base.find_metric(role);
    return metric != nullptr && metric->values != nullptr ? metric : nullptr;
  };
  if (own != nullptr && base.find_metric(own->name) != nullptr &&
      base.find_metric(own->name)->values != nullptr) {
    return own->name;
  }
  for (const profile::Role role : {profile::Role::kCpuTime, profile::Role::kWallTime}) {
    const profile::Metric* other = of_base(role);
    if (other == nullptr || own == nullptr) continue;
    return Error{file, std::nullopt,
                 fmt::format("holds {} time, the run with hooks {}", other->name, own->name),
                 "profile both by the same clock"};
  }
  const profile::Metric* metric = analysis::default_metric(base);
  if (metric != nullptr && metric->unit == "ns") return metric->name;
  return Error{
      file, std::nullopt,
      fmt::format("holds {}, no time", metric == nullptr ? "nothing" : escape(metric->name)),
      "--times-from takes what is measured in seconds"};
}

bool is_imported(const Profile& profile) {
  return std::any_of(profile.processes().begin(), profile.processes().end(),
                     [](const profile::Process& process) { return process.is_imported; });
}

// Folded stacks do not say what they count. Next to a profile that does, they count the same
// metric.
Status give_metric_its_name(Profile& profile, Profile& base, const Options& options,
                            std::vector<std::string>& remarks) {
  const bool now_lacks = transform::has_unnamed_metric(profile);
  const bool base_lacks = transform::has_unnamed_metric(base);
  if (now_lacks == base_lacks) return {};
  const auto known = choose_metric(now_lacks ? base : profile, options.metric);
  if (!known) return known.error();
  Profile& lacking = now_lacks ? profile : base;
  lacking = transform::with_metric_like(lacking, **known);
  remarks.push_back(fmt::format("{}: does not say what it counts; taken for {} (--metric)",
                                escape(now_lacks ? options.files[0] : options.baselines[0]),
                                escape((*known)->name)));
  return {};
}

// If the depth limits differ, treats both as recorded with the smaller one.
void bring_to_one_depth(Profile& profile, Profile& base, std::vector<std::string>& remarks) {
  const std::uint32_t now_limit = transform::depth_limit(profile);
  const std::uint32_t base_limit = transform::depth_limit(base);
  if (now_limit == base_limit || is_imported(profile) || is_imported(base)) return;
  const std::uint32_t limit = now_limit == 0    ? base_limit
                              : base_limit == 0 ? now_limit
                                                : std::min(now_limit, base_limit);
  Profile& deeper = limit == now_limit ? base : profile;
  deeper = transform::fold_deeper(deeper, limit);
  remarks.push_back(fmt::format(
      "one side was recorded with --depth {}: what is deeper is compared by caller and callee",
      limit));
}

// Counted contexts begin at the first function that has a hook, and lack those without one; sampled
// ones begin where the thread does.
void warn_of_unlike_contexts(const Profile& profile, const Profile& base, const Options& options,
                             std::vector<std::string>& remarks) {
  const bool shows_contexts = options.view == nullptr || options.view == &default_view();
  if (!shows_contexts || is_imported(profile) || is_imported(base)) return;
  if (analysis::has_counted_calls(profile) == analysis::has_counted_calls(base)) return;
  remarks.emplace_back(
      "calls of one side were counted, and the other was only sampled: contexts begin at other "
      "functions, so the same one may be both gone and new; --diff with --self compares functions");
}

// Whether an interpreter of the adapters (preload/adapters) counted its calls: its loop is slower
// then, which no hook can measure. Runtimes that call the C API themselves are not slower than
// their hooks.
bool is_slowed_by_counting(const Profile& profile) {
  const std::set<std::string> languages = counted_languages(profile);
  return languages.contains("Lua") || languages.contains("Python");
}

// Two runs of one program with the same work differ by less than this share of time between
// functions.
constexpr double kMovedOfOneProgram = 0.2;

std::string runs_differ(double moved) {
  return fmt::format(
      "the two runs differ: {:.0f} % of the time is in other functions. Either the "
      "program did not do the same each time, or much of it is in short functions, "
      "whose times come out too small while calls are counted",
      100 * moved);
}

std::string time_elsewhere(const transform::TakenTimes& taken, const std::string& times_of) {
  return fmt::format(
      "{:.1f} % of the time of {} is in functions that were not called here: it is the root's",
      100.0 * static_cast<double>(taken.elsewhere_ns) / static_cast<double>(taken.total_ns),
      escape(times_of));
}

void drop_repeated(std::vector<std::string>& lines) {
  std::set<std::string> seen;
  std::erase_if(lines, [&](const std::string& line) { return !seen.insert(line).second; });
}

// A few of the names, and how many more there are.
std::string first_of(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 3;
  const auto end = std::next(names.begin(), std::min<std::ptrdiff_t>(kShown, std::ssize(names)));
  const std::string text = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  return names.size() > kShown ? fmt::format("{} and {} more", text, names.size() - kShown) : text;
}

// If the sampled run has no times, the counted run's are used.
Result<Loaded> load_without_own_times(const Options& options, const Needs& needs,
                                      Progress& progress) {
  Options again = options;
  again.own_times = false;
  auto loaded = load(again, needs, progress);
  if (loaded) {
    loaded->remarks.push_back(
        "the sampled run has no time in what was counted: times are the counted run's");
  }
  return loaded;
}

// Whether the times of sampled runs in the files may be taken. Metrics that only the counted run
// has, its overhead and its samples, are shown unchanged.
bool may_take_own_times(const Options& options, const Needs& needs) {
  if (options.view != nullptr && !options.view->is_of_contexts()) return false;
  if (!options.times_from.empty()) return false;
  // The counted run's moments do not exist in the sampled run.
  if (!options.own_times || has_window(options)) return false;
  const auto is_counted_runs = [](const std::string& metric) {
    return metric == "overhead" || metric == "samples";
  };
  // Counterparts of processes and threads are found in separate trees, not in one.
  return !is_counted_runs(options.metric) && !pairs_groups(options, needs) &&
         std::none_of(options.limits.begin(), options.limits.end(),
                      [&](const Limit& limit) { return is_counted_runs(limit.metric); });
}

// Whether something that is shown, or that --fail-if checks, is a time.
bool shows_times(const Profile& profile, const profile::Metric& shown, const Options& options) {
  const auto is_time = [](const profile::Metric* metric) {
    return metric != nullptr &&
           (metric->role == profile::Role::kCpuTime || metric->role == profile::Role::kWallTime);
  };
  return is_time(&shown) ||
         std::any_of(options.limits.begin(), options.limits.end(), [&](const Limit& limit) {
           return is_time(analysis::metric_called(profile, limit.metric));
         });
}

// Where a sampled run's times are not taken although there are some; "" = where they are, or if the
// user chose so. `now`, `base`: whether that is so on either side of a comparison.
std::string times_of_counted_run(const Options& options, bool now, bool base) {
  if (!options.times_from.empty() || !options.own_times || (!now && !base)) return {};
  if (options.baselines.empty()) {
    if (!has_window(options)) return {};
    return "times are those of the counted run, with what counting costs: the sampled run "
           "(--runs 2) does not have this window's moments";
  }
  const std::string_view whose = now && base ? "both sides'"
                                 : now       ? "the new side's"
                                             : "the baseline's";
  return fmt::format(
      "{} times are those of the counted run, with what counting costs: this comparison does not "
      "use the sampled run (--runs 2)",
      whose);
}

// The files without a sampled run, whose times stay: nothing if each has one.
Result<std::optional<Profile>> read_without_sampled_run(const std::vector<std::string>& files,
                                                        const PlainRuns& plain_runs,
                                                        const Options& options, const Needs& needs,
                                                        Progress& progress) {
  std::vector<std::string> rest;
  for (const std::string& file : files) {
    if (!plain_runs.files.contains(file)) rest.push_back(file);
  }
  Found again;  // what there is to say about them was said before
  if (rest.empty()) return std::optional<Profile>();
  auto read = read_all(rest, options, needs, progress, again);
  if (read) return std::optional<Profile>(std::move(*read));
  // None of them could be read before, either.
  if (options.tolerant) return std::optional<Profile>();
  return read.error();
}

// Whether a metric that is compared is in `counted`, and not in `taken`, which has other times.
bool lacks_compared_metric(const Profile& counted, const Profile& taken, const Options& options) {
  const auto is_gone = [&](const std::string& name) {
    return counted.find_metric(name) != nullptr && taken.find_metric(name) == nullptr;
  };
  return is_gone(options.metric) ||
         std::any_of(options.limits.begin(), options.limits.end(),
                     [&](const Limit& limit) { return is_gone(limit.metric); });
}

// `counted` with the times of the sampled runs in its files, which are spread over its contexts as
// in a view of these files: one tree, with names. None: they hold no such time.
Result<std::optional<Profile>> with_own_times(const Profile& counted,
                                              const std::vector<std::string>& files,
                                              const PlainRuns& plain_runs, const Options& options,
                                              const Needs& needs, Progress& progress,
                                              Found& found) {
  const std::string times_of = "the sampled run";
  const auto wanted = choose_metric(counted, options.metric);
  if (!wanted) return std::optional<Profile>();
  Found again;
  auto sampled = read_all(files, options, needs, progress, again, true);
  if (!sampled) return sampled.error();
  found.warnings.insert(found.warnings.end(), again.warnings.begin(), again.warnings.end());
  auto rest = read_without_sampled_run(files, plain_runs, options, needs, progress);
  if (!rest) return rest.error();
  const auto chosen = time_to_take(counted, *sampled, (*wanted)->name, times_of);
  if (!chosen) return std::optional<Profile>();

  transform::MergeOptions how;
  how.splits = needs.splits;
  how.keep_leaves = needs.leaves;
  how.aliases = transform::renamed_program(*sampled, counted);
  std::vector<Profile> runs = {counted, transform::as_baseline(*sampled)};
  if (*rest) runs.push_back(transform::as_unchanged(**rest));
  Profile all = transform::join(runs);
  if (options.symbols) all = add_names(all, options, needs, progress);
  all = transform::merge(all, how);
  const profile::Metric* time = time_to_replace(all, (*wanted)->name);
  auto taken = transform::take_times(all, counted.parts(), time->name,
                                     transform::baseline_name(*chosen), true);
  if (!taken || lacks_compared_metric(counted, taken->profile, options)) {
    return std::optional<Profile>();
  }
  const std::string about = escape(files[0]) + ": ";
  if (taken->elsewhere_ns != 0) {
    found.remarks.push_back(about + time_elsewhere(*taken, times_of));
  }
  if (taken->moved > kMovedOfOneProgram) {
    found.remarks.push_back(about + runs_differ(taken->moved));
  }
  return std::optional<Profile>(std::move(taken->profile));
}

// Files that are compared, with the times that a view of them shows.
Result<Profile> read_compared(const std::vector<std::string>& files, const Options& options,
                              const Needs& needs, Progress& progress, Found& found) {
  const PlainRuns others = std::exchange(found.plain_runs, {});
  auto counted = read_all(files, options, needs, progress, found);
  const PlainRuns here = found.plain_runs;
  found.plain_runs.files.insert(others.files.begin(), others.files.end());
  found.plain_runs.any |= others.any;
  found.plain_runs.any_piped |= others.any_piped;
  if (!counted || !here.any || options.baselines.empty()) return counted;
  if (may_take_own_times(options, needs) && !here.any_piped) {
    auto taken = with_own_times(*counted, files, here, options, needs, progress, found);
    if (!taken) return taken.error();
    if (*taken) {
      found.all_trees = transform::outline(*counted);
      return std::move(**taken);
    }
  }
  found.has_counted_times = true;
  return counted;
}

// One side of a comparison; several runs stay apart, so that their spread measures chance.
Result<Profile> read_side(const std::vector<std::string>& files, bool are_runs,
                          const Options& options, const Needs& needs, Progress& progress,
                          Found& found) {
  if (!are_runs) {
    found.runs = {0};
    return read_compared(files, options, needs, progress, found);
  }
  std::vector<Profile> runs;
  std::size_t processes = 0;
  std::vector<std::string> metrics;  // those of the first run are those of all
  for (const std::string& file : files) {
    auto run = read_compared({file}, options, needs, progress, found);
    if (!run) return run.error();
    if (runs.empty()) metrics = compared_metrics(*run, options);
    // The mean of calls is that of the runs that counted them.
    std::vector<std::string> of_run = metrics;
    const profile::Metric* calls = run->find_metric(profile::Role::kCalls);
    if (calls != nullptr && std::count(metrics.begin(), metrics.end(), calls->name) == 0) {
      of_run.push_back(calls->name);
    }
    found.runs.push_back(processes);
    processes += run->processes().size();
    runs.push_back(transform::as_run(*run, of_run, runs.size() + 1));
  }
  found.all_trees.reset();
  return transform::join(runs);
}

// How to see the rest of a run, for someone who named its first profile.
std::string other_profiles_of(const Options& options, std::size_t shown) {
  if (options.files.size() != 1 || options.look.format != Format::kText) return {};
  const std::string& file = options.files[0];
  const std::size_t all = with_children({file}).size();
  if (all <= shown) return {};
  return fmt::format(
      "{}: child processes have {}: fble-prof-report --children {} shows all of them", file,
      counted(all - shown, "profile"), file);
}

// The option that asks in vain for what is known of sampled addresses only; "" = none does.
std::string missing_addresses(const Profile& profile, const Options& options) {
  if ((!options.leaves && !options.inlines) || analysis::has_sampled_addresses(profile)) return {};
  // Inlined functions are also known around calls.
  if (!options.leaves && analysis::has_call_sites(profile)) return {};
  return fmt::format("{}: no sampled addresses were recorded (fble-prof --leaves records them)",
                     options.leaves ? "--leaves" : "--inlines");
}

// Runs that are named with blanks beside a mean: their sum is compared with it.
std::string runs_beside_mean(const Profile& runs, const Options& options) {
  const std::vector<std::string>& files = options.files;
  if (!options.are_base_runs || options.are_runs || !options.directory.empty() ||
      files.size() != options.baselines.size() || profile::count_runs(files) != files.size()) {
    return {};
  }
  const auto& processes = runs.processes();
  const bool is_one_program =
      std::all_of(processes.begin(), processes.end(), [&](const profile::Process& process) {
        return process.executable == processes[0].executable && !process.is_imported;
      });
  if (!is_one_program) return {};
  return fmt::format(
      "the profiles are summed beside a mean of {} runs: commas between them make it a mean, too: "
      "{}",
      options.baselines.size(), fmt::join(files, ","));
}

// A sum of runs that have nothing to do with each other looks like one run.
std::string several_runs_in(const Options& options) {
  if (options.directory.empty() || options.look.format != Format::kText) return {};
  const std::size_t runs = profile::count_runs(options.files);
  if (runs < 2) return {};
  return fmt::format("{}: its profiles are of {} runs, one after the other; all are summed",
                     options.directory, count(runs));
}

}  // namespace

Result<Loaded> load(const Options& options, Needs needs, Progress& progress) {
  // Read: each file separately, in any state and of any kind; then all runs side by side, so that a
  // module's symbols are looked up once. From here on there is one profile, and each step replaces
  // it: a million nodes are not kept twice.
  Found found;
  const std::vector<std::string> files = files_of(options);
  auto read = read_side(files, options.are_runs, options, needs, progress, found);
  if (!read) return read.error();
  Profile profile = std::move(*read);
  *read = Profile();

  std::vector<std::string> skipped = std::move(found.warnings);
  Loaded loaded;
  loaded.moments = std::move(found.moments);
  loaded.has_sampled_times = found.plain_runs.any || !options.times_from.empty();
  // Asked before a comparison gives the metric its name.
  const bool has_unnamed = transform::has_unnamed_metric(profile);
  if (is_of(options, View::Subject::kRuns)) {
    loaded.remarks = profile.warnings();
    loaded.remarks.insert(loaded.remarks.end(), skipped.begin(), skipped.end());
    loaded.runs = std::move(profile);
    if (needs.sampled_runs && found.plain_runs.any && !found.plain_runs.any_piped) {
      Found again;
      auto sampled = read_all(files, options, needs, progress, again, true);
      if (!sampled) return sampled.error();
      loaded.sampled_runs = std::move(*sampled);
    }
    return loaded;
  }
  for (const std::string& about_files :
       {other_profiles_of(options, files.size()), several_runs_in(options),
        runs_beside_mean(profile, options)}) {
    if (!about_files.empty()) skipped.push_back(about_files);
  }
  // The profile to compare with, or to take times from.
  const bool may_take_own =
      options.baselines.empty() && may_take_own_times(options, needs) && found.plain_runs.any;
  const bool own_times = may_take_own && !found.plain_runs.any_piped;
  if (may_take_own && !own_times) {
    skipped.push_back(
        "a profile comes through a pipe, which can be read only once: no sampled run is read, and "
        "times are those of the counted runs");
  }
  const bool takes_times = own_times || !options.times_from.empty();
  const std::string times_of = own_times                    ? "the sampled run"
                               : options.times_from.empty() ? ""
                                                            : options.times_from[0];
  std::optional<Profile> base, unchanged;
  bool has_counted_base = false;
  std::vector<std::size_t> runs = std::move(found.runs);  // of both sides
  if (takes_times || !options.baselines.empty()) {
    Found of_base;
    const Options whole = with_base_window(options);
    auto other = own_times ? read_all(files, whole, needs, progress, of_base, true)
                           : read_side(takes_times ? options.times_from : options.baselines,
                                       options.are_base_runs, whole, needs, progress, of_base);
    if (!other) return other.error();
    skipped.insert(skipped.end(), of_base.warnings.begin(), of_base.warnings.end());
    base = std::move(*other);
    has_counted_base = of_base.has_counted_times;
    found.remarks.insert(found.remarks.end(), of_base.remarks.begin(), of_base.remarks.end());
    for (const std::size_t first : of_base.runs) runs.push_back(profile.processes().size() + first);
    if (own_times) {
      auto rest = read_without_sampled_run(files, found.plain_runs, options, needs, progress);
      if (!rest) return rest.error();
      unchanged = std::move(*rest);
    }
    if (!takes_times) {
      if (Status bad = give_metric_its_name(profile, *base, options, skipped)) return *bad;
    }
  }
  const bool is_usual =
      options.metric.empty() && profile.find_metric(found.usual_metric) != nullptr;
  const auto wanted = choose_metric(profile, is_usual ? found.usual_metric : options.metric);
  if (!wanted) return wanted.error();
  const std::string metric_name = (*wanted)->name;
  if (std::string doubt = doubt_about_window(profile, **wanted, options); !doubt.empty()) {
    skipped.push_back(std::move(doubt));
  }
  if (!found.earlier_waits_of.empty() && is_of_waits(**wanted)) {
    skipped.push_back(fmt::format(
        "{}: holds longer waits than its window: a wait counts as a whole where it ends",
        escape(found.earlier_waits_of)));
  }
  if (shows_times(profile, **wanted, options)) {
    const bool is_now = options.baselines.empty() ? found.plain_runs.any : found.has_counted_times;
    std::string note = times_of_counted_run(options, is_now, has_counted_base);
    if (!note.empty()) skipped.push_back(std::move(note));
    skipped.insert(skipped.end(), found.remarks.begin(), found.remarks.end());
  }
  for (const auto& [names, file] : found.by_metrics) {
    if (has_unnamed) break;
    if (names.contains(metric_name) || names.empty()) continue;
    skipped.push_back(fmt::format("{}: holds no {} but {}: it counts for nothing here",
                                  escape(file), escape(metric_name), escape(first_of(names))));
  }
  // Threads and processes before merging, which removes the distinction.
  loaded.runs = found.all_trees ? std::move(*found.all_trees) : transform::outline(profile);

  transform::MergeOptions how;
  how.splits = needs.splits;
  how.keep_leaves = needs.leaves;
  std::string base_time;
  profile::Parts own;  // what ran here
  own.processes = profile.parts().processes;
  own.threads = profile.parts().threads;

  // Compare, or take times: the other run's figures join these, as metrics of their own.
  if (base) {
    if (takes_times) {
      auto chosen = time_to_take(profile, *base, metric_name, times_of);
      if (!chosen && own_times) return load_without_own_times(options, needs, progress);
      if (!chosen) return chosen.error();
      base_time = transform::baseline_name(*chosen);
    } else if (base->find_metric(metric_name) == nullptr) {
      return Error{options.baselines[0],
                   {},
                   fmt::format("no metric \"{}\" in it", escape(metric_name)),
                   "choose one that both have: --metric"};
    }
    if (!takes_times) {
      bring_to_one_depth(profile, *base, skipped);
      warn_of_unlike_contexts(profile, *base, options, skipped);
    }
    how.aliases = transform::renamed_program(*base, profile);
    needs.lines |= is_imported(profile) != is_imported(*base);
    std::vector<Profile> sides = {std::move(profile), transform::as_baseline(*base)};
    if (unchanged) sides.push_back(transform::as_unchanged(*unchanged));
    base.reset();
    unchanged.reset();
    profile = transform::join(sides);
    if (pairs_groups(options, needs)) {
      how.counterparts = transform::find_counterparts(profile, runs);
    }
  }

  // Symbolize: names for addresses and, if requested, lines and inlined functions.
  if (options.symbols) profile = add_names(profile, options, needs, progress);
  std::vector<std::string>& remarks = loaded.remarks;
  remarks = profile.warnings();
  remarks.insert(remarks.end(), skipped.begin(), skipped.end());
  if (const auto notes = why_nothing_is_exact(profile); !notes.empty()) {
    remarks.push_back(notes[0] + (notes.size() > 1 ? " (--summary shows all such notes)" : ""));
  }
  if (std::string note = filter_that_kept_nothing(profile); !note.empty()) {
    remarks.push_back(std::move(note));
  }
  if (std::string note = missing_addresses(profile, options); !note.empty()) {
    remarks.push_back(std::move(note));
  }

  // Sides with names of their own have the same to say.
  if (!options.baselines.empty()) drop_repeated(remarks);

  // Merge: one tree by path, across threads and processes.
  const auto said = static_cast<std::ptrdiff_t>(profile.warnings().size());
  profile = transform::merge(profile, how);
  remarks.insert(remarks.end(), profile.warnings().begin() + said, profile.warnings().end());
  if (takes_times) {
    const profile::Metric* time = time_to_replace(profile, metric_name);
    auto taken = transform::take_times(profile, own, time->name, base_time);
    if (!taken && own_times) return load_without_own_times(options, needs, progress);
    if (!taken) return taken.error();
    profile = std::move(taken->profile);
    if (taken->elsewhere_ns != 0) {
      remarks.push_back(time_elsewhere(*taken, times_of));
    }
    if (own_times && taken->moved > kMovedOfOneProgram) {
      remarks.push_back(runs_differ(taken->moved));
    }
    // Most of the profile may be in a library; another program has a main, too.
    if (!own_times && taken->below_ns > taken->total_ns / 2) {
      remarks.push_back(fmt::format(
          "{:.1f} % of the time of {} is in functions that did not run here: it is "
          "their callers'. Is it the same program?",
          100.0 * static_cast<double>(taken->below_ns) / static_cast<double>(taken->total_ns),
          escape(times_of)));
    }
    if (const auto still = choose_metric(profile, metric_name); !still) return still.error();
  }
  const profile::Role role = profile.find_metric(metric_name)->role;
  const bool is_time = role == profile::Role::kCpuTime || role == profile::Role::kWallTime;
  if (is_time && !loaded.has_sampled_times && is_slowed_by_counting(profile)) {
    remarks.emplace_back(
        "the interpreter runs slower while it counts calls, which is not taken off: --exact "
        "--runs 2 shows the times of a run without");
  }
  loaded.profile = std::move(profile);
  loaded.metric = metric_name;
  return loaded;
}

namespace {

// Why --unit means nothing for what is shown.
Status check_unit(const Options& options, const profile::Metric& metric) {
  const std::string& unit = options.look.unit;
  const std::string_view known = units_for(metric.unit);
  if (unit == "auto" || options.view == nullptr || options.view->has_other_units) return {};
  if (has_word(known, unit)) return {};
  const std::string name = escape(metric.name);
  return Error{"fble-prof-report", std::nullopt,
               known.empty()
                   ? fmt::format("--unit {}: {} has no other units: leave it out", unit, name)
                   : fmt::format("--unit {}: {} takes {}", unit, name, known),
               "see fble-prof-report --help"};
}

}  // namespace

Result<Report> make_report(const Options& options, Progress& progress) {
  if (options.action == Options::Action::kPack) return pack_files(options, progress);
  if (options.action == Options::Action::kTrim) return trim_files(options);
  if (is_of(options, View::Subject::kFiles)) return report_files(options);
  if (options.exporter != nullptr) {
    if (Status bad = check_output(options.output, options.exporter->is_binary)) return *bad;
  }
  const Needs needs = needs_of(options);
  Report report;
  auto loaded = load(options, needs, progress);
  if (!loaded) return loaded.error();

  if (is_of(options, View::Subject::kRuns)) {
    report.warnings = std::move(loaded->remarks);
    const profile::Metric no_metric;
    const analysis::Costs costs(loaded->runs, no_metric);
    Request request{.costs = costs, .runs = loaded->runs};
    request.look = options.look;
    request.sampled_runs = &loaded->sampled_runs;
    auto document = options.view->show(request);
    if (!document) return document.error();
    report.text = report::render(*document, options.look);
    return report;
  }
  Profile profile = std::move(loaded->profile);
  const std::string& metric_name = loaded->metric;
  if (Status bad = check_unit(options, *profile.find_metric(metric_name))) return *bad;
  std::vector<std::string>& remarks = loaded->remarks;
  if (Status bad = check_limits(profile, options, report)) return *bad;
  const std::uint64_t total = analysis::total(profile, *profile.find_metric(metric_name));
  const std::uint64_t base_total = total_of_baseline(profile, metric_name);
  MissingNames nameless;
  if (options.symbols) nameless = missing_names(profile, *profile.find_metric(metric_name));

  const bool is_recorded = !loaded->runs.processes().empty() && !is_imported(loaded->runs);
  if (profile.find_metric(metric_name)->role == profile::Role::kSamples && is_recorded) {
    remarks.push_back(
        "samples fall on the program's own code only: time in the kernel is charged to cpu, and "
        "has few samples or none");
  }
  if (std::string note = place_of_waits(profile, *profile.find_metric(metric_name));
      !note.empty()) {
    remarks.push_back(std::move(note));
  }

  // Filter: what the user selects, excludes and folds.
  transform::Filter filter = options.filter;
  filter.metric = metric_name;
  if (options.busy && !transform::has_idle(profile)) {
    remarks.push_back("no thread was idle: --busy leaves nothing out");
  }
  auto filtered = transform::filter(profile, filter);
  if (!filtered) return filtered.error();
  Profile unfiltered;  // kept only where a name may be in it
  if (!filter.empty() && !options.value.empty()) unfiltered = std::move(profile);
  profile = std::move(filtered->profile);

  // Analyse and show: the view computes what it needs from the profile.
  const profile::Metric& metric = *profile.find_metric(metric_name);
  if (options.exporter != nullptr) {
    auto text = options.exporter->write({profile, metric, total, filtered->is_bound,
                                         options.look.min_percent, options.look.all, &loaded->runs,
                                         loaded->has_sampled_times});
    if (!text) return text.error();
    report.text = std::move(*text);
    if (!nameless.advice.empty()) remarks.push_back(nameless.advice);
    report.warnings.insert(report.warnings.begin(), remarks.begin(), remarks.end());
    return report;
  }
  const analysis::Costs costs(profile, metric);
  const symbolize::ModuleCode code(profile);
  Request request{.costs = costs, .runs = loaded->runs};
  request.total = total;
  request.base_total = base_total;
  request.kept_is_bound = filtered->is_bound;
  request.look = options.look;
  request.value = options.value;
  if (!filter.empty()) request.unfiltered = &unfiltered;
  request.options = options.view_options;
  request.normalize = options.normalize;
  request.code = &code;
  request.moments = loaded->moments;
  request.has_sampled_times = loaded->has_sampled_times;
  for (const std::string& remark : remarks) request.warnings.push_back(escape(remark));
  const auto show = options.baselines.empty() ? options.view->show : options.view->compare;
  auto document = show(request);
  if (!document) return document.error();
  report.text = report::render(*document, options.look);
  if (!options.view->shows_warnings) {
    report.warnings.insert(report.warnings.begin(), remarks.begin(), remarks.end());
  }
  if (nameless.matter_in(report.text)) report.warnings.push_back(nameless.advice);
  return report;
}

}  // namespace fbleprof::report
