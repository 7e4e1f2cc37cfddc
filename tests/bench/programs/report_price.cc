// report_price PROFILE PATTERN: times the steps of a report, as a server would that has loaded the
// profile once. Prints "name ms" lines, and the peak of its memory in bytes.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "analysis/functions.h"
#include "base/big_arrays.h"
#include "profile/reader.h"
#include "symbolize/symbolize_profile.h"
#include "transform/filter.h"
#include "transform/merge.h"

using namespace fbleprof;

namespace {

template <class Step>
auto timed(const char* name, Step step) {
  const auto start = std::chrono::steady_clock::now();
  auto result = step();
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  std::printf("%s %.2f\n", name, taken.count());
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  keep_freed_memory();
  auto read = timed("read", [&] { return profile::read_file(argv[1]); });
  if (!read) {
    std::fprintf(stderr, "%s\n", read.error().line().c_str());
    return 1;
  }
  profile::Profile loaded = std::move(read->profile);
  std::printf("nodes %zu\n", loaded.nodes().count());
  loaded = timed("symbolize", [&] { return symbolize::symbolize(loaded, {}); });
  loaded = timed("merge", [&] { return transform::merge(loaded); });
  const profile::Metric& metric = *loaded.find_metric("calls");
  timed("table", [&] { return analysis::function_table({loaded, metric}).size(); });
  transform::Filter filter;
  filter.select = {argv[2]};
  auto filtered = timed("filter", [&] { return transform::filter(loaded, filter); });
  if (!filtered) return 1;
  timed("filtered-table", [&] {
    const profile::Profile& kept = filtered->profile;
    return analysis::function_table(kept, *kept.find_metric("calls")).size();
  });
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak %ld\n", usage.ru_maxrss * 1024);
}
