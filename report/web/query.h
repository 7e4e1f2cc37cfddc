// A page's query: the whole state of the page, all of it in its address.
//
//     /PAGE[/VALUE]?sel=X&exc=Y&fold=Z&keep=Q&metric=M&base=FILE&...
//
// Patterns are those of the command line; links identify single functions by id (id:0123456789ab).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "report/web/url.h"

namespace fbleprof::web {

// One entry of the lists. Entries keep the order in which they were added, so that the last can be
// undone.
struct Listed {
  enum class List { kSelect, kExclude, kFold, kKeep } list = List::kSelect;
  std::string pattern;

  friend bool operator==(const Listed&, const Listed&) = default;
};
// "sel", "exc", "fold", "keep"; and the option of the command line.
std::string_view parameter_of(Listed::List list);
std::string_view option_of(Listed::List list);

// n=N asks for no more.
constexpr std::size_t kMostRows = 100'000;

struct Query {
  std::string page;   // the first part of the path
  std::string value;  // the rest
  std::vector<Listed> lists;
  std::string metric;  // "" = the profile's own
  std::string base;    // the baseline, as /diff names it
  std::string thread;  // only this one, as /by/thread names it
  std::string sort;
  std::string at;                    // a context (see node_ids.h)
  std::string pivot;                 // of flame graphs: a function
  std::string zoom, highlight;       // of flame graphs: only the page's script reads them
  std::string from, to;              // a window: numbers of snapshots
  std::vector<std::string> options;  // of the view's own
  bool inverted = false;
  bool normalize = false;
  bool all = false;
  std::size_t rows = 0;     // 0 = the page's own number
  double min_percent = -1;  // < 0: the page's own
  bool json = false;

  // The same state for another page: keeps lists, metric, base, thread, window.
  Query to_page(std::string page, std::string value = {}) const;
  // The same for a button that leads back to a page: also keeps how it is shown.
  Query to_button(std::string page, std::string value) const;
  Query with(Listed entry) const;
  Query without(std::size_t entry) const;
};

// Fails, in one line, if the address is not a query.
Result<Query> parse_query(const Target& target);

// Its address; always the same for equal queries.
std::string url_of(const Query& query);

// The state without the page: names and values.
using Parameters = std::vector<std::pair<std::string_view, std::string>>;
Parameters state_parameters(const Query& query);
// How the page is shown, in the same way; not as which format.
Parameters look_parameters(const Query& query);
// The state as "&sel=..."; "" = nothing.
std::string state_of(const Query& query);

}  // namespace fbleprof::web
