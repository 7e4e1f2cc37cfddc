#include "tests/fuzz/fuzz_targets.h"

#include <string>

#include "analysis/costs.h"
#include "analysis/functions.h"
#include "analysis/pair_table.h"
#include "profile/reader.h"
#include "profile/verify.h"
#include "report/importers/file_kind.h"
#include "report/importers/folded.h"
#include "report/importers/gmon.h"
#include "report/importers/gzip.h"
#include "report/importers/perf_script.h"
#include "report/importers/pprof.h"
#include "report/importers/speedscope.h"
#include "tests/fuzz/input.h"
#include "transform/join.h"
#include "transform/merge.h"
#include "transform/window.h"

namespace fbleprof::fuzz {

using profile::Profile;

namespace {

// Preorder and ids must be valid for any input: all other code relies on them.
void check(const Profile& profile) {
  const profile::Nodes& nodes = profile.nodes();
  const std::size_t count = nodes.count();
  demand(nodes.function.size() == count && nodes.depth.size() == count &&
         nodes.subtree_end.size() == count);
  for (std::size_t n = 0; n < count; ++n) {
    demand(nodes.function[n].index() < profile.functions().count());
    demand(nodes.subtree_end[n] > n && nodes.subtree_end[n] <= count);
    if (!nodes.parent[n]) continue;
    demand(nodes.parent[n].index() < n);
    demand(nodes.subtree_end[n] <= nodes.subtree_end[nodes.parent[n].index()]);
  }
  const profile::Edges& edges = profile.edges();
  for (std::size_t e = 0; e < edges.count(); ++e) {
    demand(edges.from[e].index() < count && edges.to[e].index() < count);
    demand(!edges.site[e] || edges.site[e].index() < profile.sites().count());
  }
  for (const profile::Metric& metric : profile.metrics()) {
    demand(!metric.values || metric.values->size() == count);
  }
}

void use(const Profile& profile) {
  check(profile);
  const Profile merged = transform::merge(transform::join({profile, profile}));
  check(merged);
  for (const profile::Metric& metric : merged.metrics()) {
    if (metric.aggregation == profile::Aggregation::kSum) {
      const std::uint64_t once = analysis::total(profile, *profile.find_metric(metric.name));
      demand(analysis::total(merged, metric) ==
             (metric.is_signed ? once + once : capped_sum(once, once)));
    }
    analysis::function_table({merged, metric});
    analysis::pair_table({merged, metric});
    break;
  }
}

template <class Parsed>
void use_or_complain(const Parsed& parsed) {
  if (parsed.ok()) {
    use(*parsed);
  } else {
    demand(!parsed.error().line().empty());
  }
}

}  // namespace

void native(std::span<const std::uint8_t> bytes) {
  profile::ReadOptions how;
  how.look_for_process = false;
  const auto image = profile::FileImage::from_bytes(std::as_bytes(bytes), "fuzz");
  if (!image) return;
  const profile::ReadResult read = profile::read_image(*image, how);
  // One for damage, one for records of a newer version, and one for each sum that did not fit.
  demand(read.profile.warnings().size() <= 10 + read.profile.metrics().size());
  profile::verify(*image, read);
  use(read.profile);
  for (std::size_t s = 0; s < read.profile.snapshots().size() && s < 4; ++s) {
    check(transform::window(read.profile, {.from = {}, .to = s}));
    check(transform::window(read.profile, {.from = s, .to = {}}));
  }
}

void perf_script(std::span<const std::uint8_t> bytes) {
  importers::PerfScriptParser parser("fuzz");
  use_or_complain(importers::parse_text(parser, text_of(bytes)));
  importers::detect(text_of(bytes));
}

void folded(std::span<const std::uint8_t> bytes) {
  importers::FoldedParser parser("fuzz");
  use_or_complain(importers::parse_text(parser, text_of(bytes)));
}

void pprof(std::span<const std::uint8_t> bytes) {
  const std::string_view text = text_of(bytes);
  if (importers::detect(text.substr(0, importers::kDetectBytes)) == importers::FileKind::kGzip) {
    const auto expanded = importers::gunzip(text, "fuzz");
    if (expanded) use_or_complain(importers::parse_pprof(*expanded, "fuzz"));
    return;
  }
  use_or_complain(importers::parse_pprof(text, "fuzz"));
}

void speedscope(std::span<const std::uint8_t> bytes) {
  importers::is_speedscope(text_of(bytes));
  use_or_complain(importers::parse_speedscope(text_of(bytes), "fuzz"));
}

// Like the report, which looks into what it has expanded. A fuzzer changes the expanded bytes when
// it is given them as they are.
void gzip(std::span<const std::uint8_t> bytes) {
  const auto kind_of = [](std::string_view text) {
    return importers::detect(text.substr(0, importers::kDetectBytes));
  };
  std::string expanded(text_of(bytes));
  if (kind_of(expanded) == importers::FileKind::kGzip) {
    auto result = importers::gunzip(text_of(bytes), "fuzz");
    if (!result) return demand(!result.error().line().empty());
    expanded = std::move(*result);
  }
  const std::span plain(reinterpret_cast<const std::uint8_t*>(expanded.data()), expanded.size());
  switch (kind_of(expanded)) {
    case importers::FileKind::kNative:
      return native(plain);
    case importers::FileKind::kPprof:
      return use_or_complain(importers::parse_pprof(expanded, "fuzz"));
    case importers::FileKind::kPerfScript:
      return perf_script(plain);
    case importers::FileKind::kFolded:
      return folded(plain);
    case importers::FileKind::kSpeedscope:
      return speedscope(plain);
    case importers::FileKind::kGmon:
      return gmon(plain);
    case importers::FileKind::kWriteOnly:
      return demand(!importers::write_only_format(expanded).empty());
    default:
      return;
  }
}

void gmon(std::span<const std::uint8_t> bytes) {
  const auto read = importers::read_gmon(text_of(bytes), "fuzz");
  if (!read) return;
  std::vector<importers::GmonFunction> functions;
  for (const std::uint64_t address : importers::gmon_addresses(*read)) {
    // A program of functions of 64 bytes, every eighth of which has no name.
    const std::uint64_t begin = address / 64 * 64;
    const bool named = begin / 64 % 8 != 0;
    functions.push_back({begin, 64, named ? "f" + std::to_string(begin) : "", ""});
  }
  use(importers::gmon_profile(*read, functions, "fuzz", "prog"));
}

}  // namespace fbleprof::fuzz
