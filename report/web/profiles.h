// The profiles that pages are made of: each stage of the command line's work, kept for later
// requests that need the same.
//
//     files ──► Source (read, named, merged) ──► Data (filtered, in one metric) ──► pages
//
// A source that changes on disk becomes a new generation; pages of the old one stay valid until
// they are complete.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/costs.h"
#include "analysis/pair_index.h"
#include "analysis/tables.h"
#include "base/result.h"
#include "report/views/loaded.h"
#include "report/views/view.h"
#include "report/web/cache.h"
#include "report/web/query.h"
#include "transform/filter.h"
#include "transform/moments.h"

namespace fbleprof::web {

struct LoadRequest {
  report::Needs needs;
  std::vector<std::string> files;  // instead of the served files; empty: the served files
  transform::Span window;
  std::vector<std::string> since;  // by file, an earlier copy: the window begins there
  std::vector<std::string> base;   // files to compare with; empty: nothing is compared
  std::string base_state;          // changes when they are written
  transform::Span base_window;
};
// Reads the served files. Thread-safe.
using Load = std::function<Result<report::Loaded>(const LoadRequest&)>;

struct Source {
  report::Loaded loaded;
  std::uint64_t generation = 0;
  std::vector<std::uint64_t> ids;  // by function, see transform/stable_id.h
  std::unordered_map<std::uint64_t, profile::FunctionId> by_id;
  std::vector<std::uint64_t> totals;  // by metric

  // The pairs of caller and callee of the whole profile, made on first use.
  std::shared_ptr<const analysis::PairIndex> pairs() const;
  // The invariants of each served file, checked on first use.
  const std::vector<report::FileChecks>& checks(const std::vector<std::string>& files) const;
  // The function that an id pattern names; none: not an id, or of no function here.
  profile::FunctionId function(std::string_view pattern) const;
  std::string id(profile::FunctionId function) const;
  // 0: a function that lists added ("[folded]"), which no link can name.
  std::uint64_t stable_id(profile::FunctionId function) const;
  // The total of a metric in the profile.
  std::uint64_t total_of(const profile::Metric& metric) const {
    return totals[static_cast<std::size_t>(&metric - loaded.profile.metrics().data())];
  }

 private:
  mutable std::once_flag checks_made_;
  mutable std::vector<report::FileChecks> checks_;
  mutable std::once_flag pairs_made_;
  mutable std::shared_ptr<const analysis::PairIndex> pairs_;
};

// Names its functions and sums its metrics.
std::shared_ptr<const Source> make_source(report::Loaded loaded, std::uint64_t generation);

// A source with the lists applied, measured by one metric. Data that pages share is made on first
// use.
class Data {
 public:
  Data(std::shared_ptr<const Source> source, transform::Filtered filtered,
       const std::string& metric);

  const Source& source() const { return *source_; }
  const profile::Profile& profile() const { return filtered_.profile; }
  const profile::Metric& metric() const { return metric_; }
  const analysis::Costs& costs() const { return costs_; }
  // Before filtering; the baseline's is 0 if there is no comparison.
  std::uint64_t total() const { return total_; }
  std::uint64_t base_total() const { return base_total_; }
  bool kept_is_bound() const { return filtered_.is_bound; }
  // Of the baseline's metric; null: there is no comparison.
  const profile::Metric* base_metric() const { return base_metric_; }

  // By node: 1 = only samples saw the context. Empty if no calls were counted at all.
  const std::vector<std::uint8_t>& sampled() const;
  // By node: a hash of the ids on its path, which identifies a context in links.
  const std::vector<std::uint64_t>& node_ids() const;
  // The context with that hash; none: it is gone.
  profile::NodeId node(std::string_view name) const;

 private:
  const std::shared_ptr<const Source> source_;
  std::shared_ptr<const analysis::PairIndex> find_pairs() const;

  const transform::Filtered filtered_;
  const profile::Metric& metric_;
  const profile::Metric* base_metric_;
  const analysis::Costs costs_;
  const std::uint64_t total_, base_total_;
  mutable std::once_flag sampled_made_, nodes_made_;
  mutable std::vector<std::uint8_t> sampled_;
  mutable std::vector<std::uint64_t> node_ids_;
};

class Profiles {
 public:
  explicit Profiles(Load load) : load_(std::move(load)) {}

  Result<std::shared_ptr<const Source>> source(const LoadRequest& request);
  Result<std::shared_ptr<const Data>> data(const Query& query, const LoadRequest& request);

  std::uint64_t generation() const { return generation_; }
  // Reads the files again. What is new is a new generation; so is what files say that have been
  // replaced, whatever it is.
  void refresh(bool is_replaced);
  // Whether any sample has an address in code: else the source of lines and instructions, which is
  // read differently, says no more than the whole one.
  bool has_addresses();
  // Whether a program that writes one of the files is running.
  bool is_live();

 private:
  template <class Value>
  using Shared = Result<std::shared_ptr<const Value>>;

  const Load load_;
  std::atomic<std::uint64_t> generation_ = 1;
  // Both keep what was used last, by the memory that it takes.
  static constexpr std::size_t kMostBytesOfSources = std::size_t{384} << 20;
  static constexpr std::size_t kMostBytesOfData = std::size_t{256} << 20;
  static std::size_t bytes_of_source(const Shared<Source>& source);
  static std::size_t bytes_of_data(const Shared<Data>& data);
  Cache<Shared<Source>> sources_{16, kMostBytesOfSources, bytes_of_source};
  Cache<Shared<Data>> data_{16, kMostBytesOfData, bytes_of_data};
};

// "0123456789ab": the hash of a context in a link.
std::string node_name(std::uint64_t id);

}  // namespace fbleprof::web
