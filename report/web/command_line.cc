#include "report/web/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/text/escape.h"
#include "report/text/words.h"
#include "report/views/view.h"
#include "report/web/pages.h"

namespace fbleprof::web {
namespace {

// As bash, zsh and ksh read it back: $'a\nb'.
std::string quoted_bytes(const std::string& word) {
  std::string out = "$'";
  for (const char c : word) {
    if (c >= ' ' && c <= '~') {
      out += c == '\'' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
    } else {
      out += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + "'";
}

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+-,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  // What cannot be shown as it is.
  if (report::escape(word) != word) return quoted_bytes(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool is_mark(const Page& page, const std::string& moment) {
  const Base* base = page.site.find_base(moment);
  return base != nullptr && base->is_mark;
}

// A name says more than an id, if it selects the same function.
std::string pattern_text(const Page& page, const std::string& pattern) {
  const profile::FunctionId function = page.data.source().function(pattern);
  if (!function) return pattern;
  const profile::Profile& profile = page.data.source().loaded.profile;
  const std::string name = profile::display_name(profile, function);
  constexpr std::size_t kLongest = 200;
  if (name.size() > kLongest || name.find_first_of("*?:[\n") != std::string::npos) return pattern;
  for (const auto& [id, other] : page.data.source().by_id) {
    if (other != function && profile::display_name(profile, other) == name) return pattern;
  }
  return name;
}

}  // namespace

std::string command_line(const Page& page) {
  const Query& query = page.query;
  std::string out = "fble-prof-report";
  const auto add = [&](const std::string& word) { out += " " + quoted(word); };
  const auto [view, value] = view_of(query);
  if (view != nullptr && view->name != "tree") {
    std::string option = fmt::format("--{}", view->name);
    if (!view->value.empty() && value != view->implied) {
      std::string text;
      for (std::size_t begin = 0; begin <= value.size();) {
        const std::size_t end = std::min(value.find(',', begin), value.size());
        text += (begin == 0 ? "" : ",") + pattern_text(page, value.substr(begin, end - begin));
        begin = end + 1;
      }
      option += "=" + text;
    }
    add(option);
    for (const report::ViewOption& own : view->options) {
      const bool is_given =
          std::find(query.options.begin(), query.options.end(), own.name) != query.options.end();
      if (is_given) add(fmt::format("--{}", own.name));
    }
  }
  // Its page ignores the others.
  const auto takes = [v = view](std::string_view limit) {
    return v != nullptr && report::has_word(v->limits, limit);
  };
  if (query.rows != 0 && takes("top")) out += fmt::format(" --top {}", query.rows);
  if (query.min_percent >= 0 && takes("min")) out += fmt::format(" --min {}", query.min_percent);
  if (view != nullptr && query.all) out += " --all";
  // A view of whole runs refuses what chooses a part of the costs; its page ignores it.
  using Subject = report::View::Subject;
  const bool has_contexts = view == nullptr || view->is_of_contexts();
  const bool has_costs = has_contexts || view->subject == Subject::kWholeTree;
  for (const Listed& entry : query.lists) {
    if (!has_contexts) break;
    add(std::string(option_of(entry.list)));
    add(pattern_text(page, entry.pattern));
  }
  if (has_contexts && !query.thread.empty()) {
    out += " --split-by thread --select";
    add(query.thread);
  }
  const bool has_metric = has_costs && (view == nullptr || !view->has_own_metrics);
  if (has_metric && !query.metric.empty()) out += " --metric " + quoted(query.metric);
  const bool compares = page.data.base_metric() != nullptr;
  if (view != nullptr && report::has_word(view->sort_keys_if(compares), query.sort)) {
    out += " --sort " + quoted(query.sort);
  }
  const bool is_marked = is_mark(page, query.from) || is_mark(page, query.to);
  if (has_costs && !is_marked && !(query.from.empty() && query.to.empty())) {
    add("--window");
    add(transform::span_text({query.from, query.to}));
  }
  const Base* base = page.site.find_base(query.base);
  const bool can_compare = view == nullptr || view->compare != nullptr;
  const bool names_base = can_compare && (base != nullptr || query.base.starts_with('@'));
  if (names_base) {
    for (const std::string& file : base == nullptr ? std::vector{query.base} : base->files) {
      out += " --diff " + quoted(file);
    }
    if (query.normalize) out += " --normalize";
  }
  if (names_base && page.site.are_runs) {
    add(fmt::format("{}", fmt::join(page.site.files, ",")));
  } else {
    for (const std::string& file : page.site.files) add(file);
  }
  // Marks exist only in the server: a terminal cannot use them.
  if (has_costs && is_marked) out += "  # without its marks";
  return out;
}

}  // namespace fbleprof::web
