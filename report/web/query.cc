#include "report/web/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace fbleprof::web {
namespace {

using List = Listed::List;

constexpr std::size_t kMostListed = 200;

// Options of the command line that have another name in an address.
struct Renamed {
  std::string_view option, parameter;
};
constexpr Renamed kOptions[] = {{"select", "sel"},
                                {"exclude", "exc"},
                                {"top", "n"},
                                {"diff", "base"},
                                {"window", "from and to"}};

std::optional<List> list_named(std::string_view parameter) {
  for (const List list : {List::kSelect, List::kExclude, List::kFold, List::kKeep}) {
    if (parameter_of(list) == parameter) return list;
  }
  return std::nullopt;
}

Error bad(std::string_view name, std::string_view value, std::string remedy) {
  return {"", std::nullopt, fmt::format("{}={}", name, value), std::move(remedy)};
}

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string text_of(const Parameters& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters) {
    out += fmt::format("&{}={}", name, percent_encoded(value));
  }
  return out;
}

}  // namespace

std::string_view parameter_of(List list) {
  constexpr std::string_view kNames[] = {"sel", "exc", "fold", "keep"};
  return kNames[static_cast<int>(list)];
}

std::string_view option_of(List list) {
  constexpr std::string_view kNames[] = {"--select", "--exclude", "--fold", "--keep"};
  return kNames[static_cast<int>(list)];
}

Query Query::to_page(std::string page, std::string value) const {
  Query other;
  other.page = std::move(page);
  other.value = std::move(value);
  other.lists = lists;
  other.metric = metric;
  other.base = base;
  other.normalize = normalize;
  other.thread = thread;
  other.from = from;
  other.to = to;
  return other;
}

Query Query::to_button(std::string page, std::string value) const {
  Query other = to_page(std::move(page), std::move(value));
  other.sort = sort;
  other.at = at;
  other.pivot = pivot;
  other.zoom = zoom;
  other.highlight = highlight;
  other.inverted = inverted;
  return other;
}

Query Query::with(Listed entry) const {
  Query other = *this;
  other.json = false;
  std::erase(other.lists, entry);
  other.lists.push_back(std::move(entry));
  return other;
}

Query Query::without(std::size_t entry) const {
  Query other = *this;
  other.json = false;
  if (entry < other.lists.size()) {
    other.lists.erase(other.lists.begin() + static_cast<std::ptrdiff_t>(entry));
  }
  return other;
}

Result<Query> parse_query(const Target& target) {
  Query query;
  const std::string_view path = std::string_view(target.path).substr(1);
  const std::size_t slash = path.find('/');
  query.page = path.substr(0, slash);
  if (slash != std::string_view::npos) query.value = path.substr(slash + 1);
  // A page without a name is none. Its address must not begin with //, which names another host.
  if (query.page.empty()) query.page = path.empty() ? "overview" : "-";
  for (const auto& [name, value] : target.parameters) {
    if (const auto list = list_named(name)) {
      if (value.empty()) continue;
      if (query.lists.size() == kMostListed) return bad(name, "", "too many of these");
      std::erase(query.lists, Listed{*list, value});
      query.lists.push_back({*list, value});
      continue;
    }
    std::string* const text = name == "metric"                 ? &query.metric
                              : name == "base"                 ? &query.base
                              : name == "thread"               ? &query.thread
                              : name == "sort"                 ? &query.sort
                              : name == "at"                   ? &query.at
                              : name == "pivot"                ? &query.pivot
                              : name == "zoom"                 ? &query.zoom
                              : name == "highlight"            ? &query.highlight
                              : name == "from"                 ? &query.from
                              : name == "to"                   ? &query.to
                              : name == "value" || name == "q" ? &query.value
                                                               : nullptr;
    bool* const flag = name == "inverted"    ? &query.inverted
                       : name == "normalize" ? &query.normalize
                       : name == "all"       ? &query.all
                                             : nullptr;
    if (text != nullptr) {
      *text = value;
    } else if (flag != nullptr) {
      *flag = value != "0";
    } else if (name == "option") {
      query.options.push_back(value);
    } else if (name == "n") {
      const auto rows = number(value);
      if (!rows || *rows == 0 || *rows > kMostRows) {
        return bad(name, value, fmt::format("a number of rows: 1 to {}", kMostRows));
      }
      query.rows = *rows;
    } else if (name == "min") {
      char* end = nullptr;
      query.min_percent = std::strtod(value.c_str(), &end);
      if (value.empty() || *end != '\0' || !(query.min_percent >= 0 && query.min_percent <= 100)) {
        return bad(name, value, "a share: 0 to 100");
      }
    } else if (name == "format") {
      if (value != "json" && value != "html") return bad(name, value, "json or html");
      query.json = value == "json";
    } else if (name != "token") {  // access.h reads it
      // A list or a limit that is not applied would show the wrong figures.
      const auto* known =
          std::find_if(std::begin(kOptions), std::end(kOptions),
                       [&option = name](const auto& each) { return each.option == option; });
      return Error{"", std::nullopt, fmt::format("there is no parameter {}", name),
                   known != std::end(kOptions) ? fmt::format("it is called {}", known->parameter)
                                               : "docs/PAGE.md lists them"};
    }
  }
  return query;
}

Parameters state_parameters(const Query& query) {
  Parameters all;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) all.emplace_back(name, value);
  };
  for (const Listed& entry : query.lists) add(parameter_of(entry.list), entry.pattern);
  add("metric", query.metric);
  add("base", query.base);
  if (query.normalize) add("normalize", "1");
  add("thread", query.thread);
  add("from", query.from);
  add("to", query.to);
  return all;
}

Parameters look_parameters(const Query& query) {
  Parameters all;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) all.emplace_back(name, value);
  };
  add("at", query.at);
  add("pivot", query.pivot);
  if (query.inverted) add("inverted", "1");
  add("zoom", query.zoom);
  add("highlight", query.highlight);
  add("sort", query.sort);
  for (const std::string& option : query.options) add("option", option);
  if (query.rows != 0) add("n", std::to_string(query.rows));
  if (query.min_percent >= 0) add("min", fmt::format("{:g}", query.min_percent));
  if (query.all) add("all", "1");
  return all;
}

std::string state_of(const Query& query) { return text_of(state_parameters(query)); }

std::string url_of(const Query& query) {
  std::string path = "/" + percent_encoded(query.page);
  if (!query.value.empty()) path += "/" + percent_encoded(query.value);
  std::string rest = state_of(query) + text_of(look_parameters(query));
  if (query.json) rest += "&format=json";
  if (!rest.empty()) rest.front() = '?';
  return path + rest;
}

}  // namespace fbleprof::web
