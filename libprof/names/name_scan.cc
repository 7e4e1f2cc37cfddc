#include "names/name_scan.h"

#include <algorithm>

namespace fbleprof::names {
namespace {

constexpr std::string_view kOperator = "operator";
// Longest first.
constexpr std::string_view kSymbols[] = {"<=>", "<<=", ">>=", "->*", "()", "[]", "->",
                                         "<<",  ">>",  "<=",  ">=",  "<",  ">"};

char closer_of(char open) { return open == '<' ? '>' : open == '(' ? ')' : '}'; }

}  // namespace

std::size_t skip_operator(std::string_view name, std::size_t at) {
  if (name.compare(at, kOperator.size(), kOperator) != 0) return at;
  if (at > 0 && is_name_character(name[at - 1])) return at;
  const std::string_view rest = name.substr(at + kOperator.size());
  for (std::string_view symbol : kSymbols) {
    if (rest.starts_with(symbol)) return at + kOperator.size() + symbol.size();
  }
  return at;
}

std::vector<Bracket> brackets(std::string_view name) {
  std::vector<Bracket> all;
  std::vector<std::size_t> open;  // indices into `all`
  std::uint32_t templates = 0;
  constexpr std::size_t kUnclosed = std::string_view::npos;
  for (std::size_t i = 0; i < name.size();) {
    if (name[i] == 'o') {
      if (const std::size_t behind = skip_operator(name, i); behind != i) {
        i = behind;
        continue;
      }
    }
    const char c = name[i];
    if (c == '<' || c == '(' || c == '{') {
      open.push_back(all.size());
      all.push_back({i, kUnclosed, c, static_cast<std::uint32_t>(open.size() - 1), templates});
      templates += c == '<';
    } else if (c == '>' && i > 0 && name[i - 1] == '-') {
      // an arrow in an expression
    } else if (c == '>' && (open.empty() || all[open.back()].kind != '<')) {
      // "greater" in an expression
    } else if (c == '>' || c == ')' || c == '}') {
      // An angle left open inside parentheses is a "less than".
      while (!open.empty() && closer_of(all[open.back()].kind) != c) {
        templates -= all[open.back()].kind == '<';
        open.pop_back();
      }
      if (!open.empty()) {
        all[open.back()].close = i;
        templates -= c == '>';
        open.pop_back();
      }
    }
    ++i;
  }
  std::erase_if(all, [](const Bracket& bracket) { return bracket.close == kUnclosed; });
  return all;
}

}  // namespace fbleprof::names
