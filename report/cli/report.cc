#include "report/cli/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/costs.h"
#include "profile/reader.h"
#include "report/views/escape.h"
#include "report/views/file_views.h"
#include "report/views/run_view.h"
#include "report/views/tables.h"
#include "report/views/tree_view.h"
#include "symbolize/symbolize_profile.h"
#include "transform/join.h"

namespace fbleprof::report {

using profile::Profile;

namespace {

// --raw and --verify: about files, not about profiles.
Result<Report> report_files(const Options& options) {
  Report report;
  for (const std::string& file : options.files) {
    auto image = profile::FileImage::load(file);
    if (!image) return image.error();
    if (options.view == View::kRaw) {
      raw_view(*image, stdout);
      continue;
    }
    bool all_hold = false;
    report.text += verify_view(*image, profile::read_image(*image), options.look, all_hold);
    report.broken |= !all_hold;
  }
  return report;
}

Result<std::vector<Profile>> read_all(const Options& options, Progress& progress) {
  std::vector<Profile> profiles;
  profile::ReadOptions how;
  how.progress = &progress;
  for (const std::string& file : options.files) {
    auto read = profile::read_file(file, how);
    if (!read) return read.error();
    profiles.push_back(std::move(read->profile));
  }
  return profiles;
}

// Whether a pattern asks for source files, which only debug info tells.
bool names_files(const Options& options) {
  const auto asks = [](const std::string& pattern) { return pattern.starts_with("file:"); };
  const transform::Filter& filter = options.filter;
  return asks(options.block) || std::any_of(filter.select.begin(), filter.select.end(), asks) ||
         std::any_of(filter.exclude.begin(), filter.exclude.end(), asks) ||
         std::any_of(filter.fold.begin(), filter.fold.end(), asks);
}

Profile add_names(const Profile& profile, const Options& options, Progress& progress) {
  symbolize::Options how;
  how.lines = options.look.lines || names_files(options);
  how.inlines = options.inlines;
  how.progress = &progress;
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

Result<std::string> render(const Options& options, const Profile& joined, const Input& input) {
  switch (options.view) {
    case View::kSelf:
      return function_view(input, FunctionOrder::kSelf);
    case View::kDominated:
      return function_view(input, FunctionOrder::kDominated);
    case View::kBlock:
      return block_view(input, options.block);
    case View::kEdges:
      return pair_view(input);
    default:
      break;
  }
  if (input.look.format != Format::kText) return tree_view(input);
  return heading(joined, input.look) + "\n" +
         process_split(joined, *joined.find_metric(input.metric.name), input.look) +
         tree_view(input);
}

}  // namespace

Result<Report> make_report(const Options& options, Progress& progress) {
  if (options.view == View::kRaw || options.view == View::kVerify) return report_files(options);

  // Read: each file by itself, whatever its state.
  auto profiles = read_all(options, progress);
  if (!profiles) return profiles.error();

  // Join: all runs side by side, so that a module's symbols are looked up once.
  const Profile joined = transform::join(*profiles);
  profiles->clear();

  Report report;
  report.warnings = joined.warnings();
  if (options.view == View::kSummary) {
    report.text = summary_view(joined, options.look);
    return report;
  }
  if (options.view == View::kThreads) {
    report.text = thread_view(joined, options.look);
    return report;
  }

  // Symbolize: names for addresses, and where asked for, lines and inlined functions.
  const Profile named = options.symbols ? add_names(joined, options, progress) : joined;
  report.warnings = named.warnings();

  // Merge: one tree by path, whatever thread or process it came from.
  transform::MergeOptions how;
  how.group_by = options.group_by;
  how.keep_leaves = options.leaves;
  const Profile merged = transform::merge(named, how);

  // Filter: what the user selected, excluded, folded.
  auto filtered = transform::filter(merged, options.filter);
  if (!filtered) return filtered.error();

  // Show.
  const auto metric = choose_metric(filtered->profile, options.metric);
  if (!metric) return metric.error();
  Input input{filtered->profile, **metric};
  input.kept = analysis::total(filtered->profile, **metric);
  input.total = analysis::total(merged, *merged.find_metric((*metric)->name));
  input.kept_is_bound = filtered->is_bound;
  input.look = options.look;
  auto text = render(options, joined, input);
  if (!text) return text.error();
  report.text = std::move(*text);
  return report;
}

}  // namespace fbleprof::report
