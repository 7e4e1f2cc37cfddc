#include "report/web/profiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/default_metric.h"
#include "analysis/sampled.h"
#include "profile/file_image.h"
#include "profile/reader.h"
#include "profile/verify.h"
#include "report/views/phrases.h"
#include "transform/baseline.h"
#include "transform/filter.h"
#include "transform/stable_id.h"

namespace fbleprof::web {

using namespace profile;
using report::Loaded;
using report::Needs;

namespace {

std::string key_of(const LoadRequest& request, std::uint64_t generation) {
  const Needs& needs = request.needs;
  std::string key =
      fmt::format("{}\n{}{}{}{}", generation, needs.leaves ? "l" : "", needs.sites ? "s" : "",
                  needs.lines ? "n" : "", needs.moments ? "m" : "");
  for (const auto& split : needs.splits) {
    key += fmt::format("\n{}:{}", static_cast<int>(split.axis), split.label);
  }
  key += "\n" + transform::span_text(request.window);
  key += "\n" + transform::span_text(request.base_window);
  for (const auto* files : {&request.files, &request.since, &request.base}) {
    key += fmt::format("\n{}", fmt::join(*files, "\n"));
    key += "\n;";
  }
  return key + request.base_state;
}

// The totals of all metrics, which change while a program runs.
std::vector<std::uint64_t> totals(const Profile& profile) {
  std::vector<std::uint64_t> all;
  for (const Metric& metric : profile.metrics()) all.push_back(analysis::total(profile, metric));
  return all;
}

const Metric* baseline_of(const Profile& profile, const Metric& metric) {
  const Metric* base = profile.find_metric(transform::baseline_name(metric.name));
  return base;
}

bool any_live(const Profile& runs) {
  return std::any_of(runs.processes().begin(), runs.processes().end(),
                     [](const Process& process) { return process.state == ProcessState::kLive; });
}

// What the columns of contexts, edges and values take.
std::size_t bytes_of_contexts(const Profile& profile) {
  constexpr std::size_t kBytesOfNode = 16, kBytesOfEdge = 18, kBytesOfValue = 4;
  std::size_t bytes =
      kBytesOfNode * profile.nodes().count() + kBytesOfEdge * profile.edges().count();
  for (const Metric& metric : profile.metrics()) {
    if (metric.values) bytes += kBytesOfValue * metric.values->size();
  }
  return bytes;
}

std::vector<ProcessState> states(const Profile& runs) {
  std::vector<ProcessState> all;
  for (const Process& process : runs.processes()) all.push_back(process.state);
  return all;
}

// A program that sleeps, or that was stopped, adds nothing, but snapshots of it can be taken.
bool have_same_moments(const Loaded& one, const Loaded& other) {
  return std::equal(one.moments.begin(), one.moments.end(), other.moments.begin(),
                    other.moments.end(), [](const auto& a, const auto& b) {
                      return a.number == b.number && a.name == b.name && a.time_ns == b.time_ns;
                    });
}

}  // namespace

std::shared_ptr<const Source> make_source(Loaded loaded, std::uint64_t generation) {
  auto source = std::make_shared<Source>();
  source->loaded = std::move(loaded);
  source->generation = generation;
  source->ids = transform::stable_ids(source->loaded.profile);
  source->totals = totals(source->loaded.profile);
  std::vector<std::uint8_t> is_seen(source->ids.size());
  for (const FunctionId f : source->loaded.profile.nodes().function) {
    if (is_seen[f.index()] != 0) continue;
    is_seen[f.index()] = 1;
    source->by_id.try_emplace(source->ids[f.index()], f);
  }
  return source;
}

const std::vector<report::FileChecks>& Source::checks(const std::vector<std::string>& files) const {
  std::call_once(checks_made_, [&] {
    for (const std::string& file : files) {
      const auto image = profile::FileImage::load(file);
      if (image) checks_.push_back({file, verify(*image, read_image(*image))});
    }
  });
  return checks_;
}

FunctionId Source::function(std::string_view pattern) const {
  if (!pattern.starts_with(transform::kIdPrefix)) return {};
  const std::string digits(pattern.substr(transform::kIdPrefix.size()));
  const auto it = by_id.find(std::strtoull(digits.c_str(), nullptr, 16));
  return it == by_id.end() ? FunctionId() : it->second;
}

std::string Source::id(FunctionId function) const {
  return transform::id_text(stable_id(function));
}

std::uint64_t Source::stable_id(FunctionId function) const {
  return function.index() < ids.size() ? ids[function.index()] : 0;
}

std::shared_ptr<const analysis::PairIndex> Source::pairs() const {
  std::call_once(pairs_made_,
                 [&] { pairs_ = std::make_shared<const analysis::PairIndex>(loaded.profile); });
  return pairs_;
}

Data::Data(std::shared_ptr<const Source> source, transform::Filtered filtered,
           const std::string& metric)
    : source_(std::move(source)),
      filtered_(std::move(filtered)),
      metric_(*profile().find_metric(metric)),
      base_metric_(baseline_of(profile(), metric_)),
      costs_(profile(), metric_, [this] { return find_pairs(); }),
      total_(source_->total_of(*source_->loaded.profile.find_metric(metric))),
      base_total_(base_metric_ == nullptr ? 0
                                          : source_->total_of(*source_->loaded.profile.find_metric(
                                                base_metric_->name))) {}

// Lists change few of the pairs.
std::shared_ptr<const analysis::PairIndex> Data::find_pairs() const {
  const auto all = source_->pairs();
  if (filtered_.origin.node.empty()) return all;
  return std::make_shared<const analysis::PairIndex>(profile(), *all, filtered_.origin);
}

const std::vector<std::uint8_t>& Data::sampled() const {
  std::call_once(sampled_made_, [&] {
    if (analysis::has_counted_calls(profile())) sampled_ = analysis::sampled_contexts(profile());
  });
  return sampled_;
}

const std::vector<std::uint64_t>& Data::node_ids() const {
  std::call_once(nodes_made_, [&] {
    const Nodes& nodes = profile().nodes();
    node_ids_.resize(nodes.count());
    for (std::size_t n = 0; n < nodes.count(); ++n) {
      const std::uint64_t above = nodes.parent[n] ? node_ids_[nodes.parent[n].index()] : 1;
      const std::uint64_t mixed =
          (above * 0x9e3779b97f4a7c15u) ^ source_->stable_id(nodes.function[n]);
      node_ids_[n] = (mixed * 0xff51afd7ed558ccdu) ^ (mixed >> 29);
    }
  });
  return node_ids_;
}

NodeId Data::node(std::string_view name) const {
  const std::string digits(name);
  const std::uint64_t id = std::strtoull(digits.c_str(), nullptr, 16);
  const auto& all = node_ids();
  const auto it = std::find(all.begin(), all.end(), id);
  return it == all.end() ? NodeId() : NodeId(static_cast<std::size_t>(it - all.begin()));
}

std::string node_name(std::uint64_t id) { return fmt::format("{:x}", id); }

Result<std::shared_ptr<const Source>> Profiles::source(const LoadRequest& request) {
  const std::uint64_t generation = generation_;
  const std::string key = key_of(request, generation);
  auto made = sources_.get(key, [&]() -> Shared<Source> {
    auto loaded = load_(request);
    if (!loaded) return loaded.error();
    return make_source(std::move(*loaded), generation);
  });
  // A file that could not be read may be readable the next time.
  if (!made) sources_.forget(key);
  return made;
}

Result<std::shared_ptr<const Data>> Profiles::data(const Query& query, const LoadRequest& request) {
  auto source = this->source(request);
  if (!source) return source.error();
  const Profile& profile = (*source)->loaded.profile;
  const std::string called = query.metric.empty() ? (*source)->loaded.metric : query.metric;
  const Metric* found = analysis::metric_called(profile, called);
  if (found == nullptr || found->is_baseline) return report::no_such_metric(profile, called);
  const std::string metric = found->name;
  std::string key = key_of(request, (*source)->generation) + "\n" + metric;
  for (const Listed& entry : query.lists) {
    key += fmt::format("\n{}={}", parameter_of(entry.list), entry.pattern);
  }
  key += "\n" + query.thread;
  return data_.get(key, [&]() -> Shared<Data> {
    transform::Filter filter;
    filter.metric = metric;
    for (const Listed& entry : query.lists) {
      std::vector<std::string>* const lists[] = {&filter.select, &filter.exclude, &filter.fold,
                                                 &filter.keep};
      lists[static_cast<int>(entry.list)]->push_back(entry.pattern);
    }
    if (!query.thread.empty()) filter.select.push_back(query.thread);
    auto filtered = transform::filter(profile, filter);
    if (!filtered) return filtered.error();
    return std::make_shared<const Data>(*source, std::move(*filtered), metric);
  });
}

bool Profiles::has_addresses() {
  const auto whole = source({});
  if (!whole) return false;
  const auto& kinds = (*whole)->loaded.profile.functions().kind;
  return std::find(kinds.begin(), kinds.end(), FunctionKind::kInstruction) != kinds.end();
}

std::size_t Profiles::bytes_of_source(const Shared<Source>& source) {
  if (!source) return 0;
  // A function has an entry in by_id, and its names.
  constexpr std::size_t kBytesOfFunction = 200;
  const Profile& profile = (*source)->loaded.profile;
  return bytes_of_contexts(profile) + kBytesOfFunction * profile.functions().count();
}

std::size_t Profiles::bytes_of_data(const Shared<Data>& data) {
  if (!data) return 0;
  // What analysis::Costs and Data make for a context, and their tables, all of which may come
  // later.
  constexpr std::size_t kBytesOfTables = 48;
  const Profile& profile = (*data)->profile();
  const bool is_filtered = profile.parts().nodes != (*data)->source().loaded.profile.parts().nodes;
  return kBytesOfTables * profile.nodes().count() + (is_filtered ? bytes_of_contexts(profile) : 0);
}

void Profiles::refresh(bool is_replaced) {
  auto before = source({});
  auto loaded = load_({});
  if (!loaded) return;
  if (before && !is_replaced && totals(loaded->profile) == (*before)->totals &&
      states(loaded->runs) == states((*before)->loaded.runs) &&
      have_same_moments(*loaded, (*before)->loaded)) {
    return;
  }
  auto now = make_source(std::move(*loaded), generation_ + 1);
  // Replaces the old one before it is requested.
  (void)sources_.get(key_of({}, now->generation), [&]() -> Shared<Source> { return now; });
  generation_ = now->generation;
}

bool Profiles::is_live() {
  const auto now = source({});
  return now && any_live((*now)->loaded.runs);
}

}  // namespace fbleprof::web
