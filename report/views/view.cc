#include "report/views/view.h"

#include <algorithm>
#include <tuple>

#include "report/text/escape.h"
#include "report/text/quantity.h"

namespace fbleprof::report {
namespace {

// Unordered until main(): static initialization has no defined order across files.
std::vector<View>& registered() {
  static std::vector<View> all;
  return all;
}

}  // namespace

Register::Register(View view) { registered().push_back(std::move(view)); }

const std::vector<View>& views() {
  static const std::vector<View> sorted = [] {
    std::vector<View> all = registered();
    std::sort(all.begin(), all.end(), [](const View& a, const View& b) {
      return std::tie(a.topic, a.name) < std::tie(b.topic, b.name);
    });
    return all;
  }();
  return sorted;
}

const View* find_view(std::string_view name) {
  for (const View& view : views()) {
    if (view.name == name) return &view;
  }
  return nullptr;
}

const View& default_view() { return *find_view("tree"); }

Measure Request::measure() const {
  return {escape(metric().name), escape(metric().unit), total, costs.total(), kept_is_bound};
}

bool Request::has(std::string_view option) const {
  return std::find(options.begin(), options.end(), option) != options.end();
}

Document Request::document(std::string view) const {
  Document made(std::move(view), names());
  made.measure = measure();
  return made;
}

std::string Request::amount(std::uint64_t cost) const {
  return quantity(cost, metric().unit, look.unit);
}

}  // namespace fbleprof::report
