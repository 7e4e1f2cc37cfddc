#include "names/shorten.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "names/name_scan.h"

namespace fbleprof::names {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::uint32_t kTemplateLevels = 4;  // elided one by one; deeper ones all at once

// A name and its outermost brackets, from which forms of several lengths are written.
struct Anatomy {
  std::string text;
  std::vector<Bracket> pairs;  // by opening position
};

Anatomy dissect(std::string text) {
  Anatomy anatomy{std::move(text), {}};
  anatomy.pairs = brackets(anatomy.text);
  return anatomy;
}

std::string_view inside(const Anatomy& name, const Bracket& pair) {
  return std::string_view(name.text).substr(pair.open + 1, pair.close - pair.open - 1);
}

// `name` with an ellipsis inside each pair of brackets that `elided` selects.
template <typename Predicate>
Anatomy elide(const Anatomy& name, Predicate elided) {
  std::string out;
  std::size_t copied = 0;
  for (const Bracket& pair : name.pairs) {
    if (pair.open < copied || !elided(pair) || inside(name, pair).empty()) continue;
    out.append(name.text, copied, pair.open + 1 - copied);
    out += kEllipsis;
    copied = pair.close;
  }
  out.append(name.text, copied, std::string::npos);
  return dissect(std::move(out));
}

bool is_parameters(const Anatomy& name, const Bracket& pair) {
  return pair.kind == '(' && pair.depth == 0 && inside(name, pair) != "anon";
}

// Arguments of a template, not Rust's "<T as Trait>".
bool is_template(const Anatomy& name, const Bracket& pair) {
  if (pair.kind != '<' || pair.open == 0) return false;
  const char before = name.text[pair.open - 1];
  if (before == ' ') return pair.open >= 2 && name.text[pair.open - 2] == '<';  // operator<< <int>
  return is_name_character(before) || before == ':' || before == ')' || before == ']';
}

// Positions of `what` outside all brackets.
std::vector<std::size_t> outside(const Anatomy& name, std::string_view what) {
  std::vector<std::size_t> found;
  std::size_t from = 0;
  const auto search = [&](std::size_t to) {
    const std::string_view stretch = std::string_view(name.text).substr(from, to - from);
    for (std::size_t at = stretch.find(what); at != std::string_view::npos;
         at = stretch.find(what, at + what.size())) {
      found.push_back(from + at);
    }
  };
  for (const Bracket& pair : name.pairs) {
    if (pair.open < from) continue;
    search(pair.open);
    from = pair.close + 1;
  }
  search(name.text.size());
  return found;
}

// "int f<int>(…)" without its "int ". Leaves thunks, guards and the like, whose prefix is words.
std::string without_return_type(const Anatomy& name) {
  std::size_t end = std::string::npos;
  for (const Bracket& pair : name.pairs) {
    if (is_parameters(name, pair)) end = pair.open;
  }
  if (end == std::string::npos) return name.text;
  if (!outside(name, " for ").empty() || !outside(name, " to ").empty()) return name.text;
  for (std::size_t at : outside(name, "operator")) {
    if (at == 0 || !is_name_character(name.text[at - 1])) end = std::min(end, at);
  }
  std::size_t begin = 0;
  for (std::size_t space : outside(name, " ")) {
    if (space < end) begin = space + 1;
  }
  return name.text.substr(begin);
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string cut(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t left = width - 1;  // columns beside the ellipsis
  std::size_t end = 0;
  while (end < text.size()) {
    const bool begins_character = (text[end] & 0xC0) != 0x80;
    if (begins_character && left-- == 0) break;
    ++end;
  }
  return std::string(text.substr(0, end)) + std::string(kEllipsis);
}

namespace {

std::string shorten_function(std::string_view name, std::size_t width) {
  const auto fits = [width](const std::string& text) { return width_of(text) <= width; };
  Anatomy anatomy = dissect(tidy(name));
  if (fits(anatomy.text)) return anatomy.text;

  anatomy = elide(anatomy, [&](const Bracket& pair) { return is_parameters(anatomy, pair); });
  if (fits(anatomy.text)) return anatomy.text;
  anatomy = dissect(without_return_type(anatomy));
  if (fits(anatomy.text)) return anatomy.text;

  for (std::uint32_t level = kTemplateLevels; level-- > 0;) {
    anatomy = elide(anatomy, [&](const Bracket& pair) {
      return pair.templates >= level && is_template(anatomy, pair);
    });
    if (fits(anatomy.text)) return anatomy.text;
  }

  const std::vector<std::size_t> scopes = outside(anatomy, "::");
  const auto from_scope = [&](std::size_t scope) {
    return std::string(kEllipsis) + anatomy.text.substr(scope);
  };
  for (std::size_t scope : scopes) {
    // A character has at most 4 bytes, so a longer name cannot fit and need not be written.
    if (scope == 0 || anatomy.text.size() - scope > 4 * width) continue;
    if (std::string shorter = from_scope(scope); fits(shorter)) return shorter;
  }
  const bool has_scope = !scopes.empty() && scopes.back() != 0;
  const std::string shortest = has_scope ? from_scope(scopes.back()) : anatomy.text;
  return width == 0 ? shortest : cut(shortest, width);
}

// "[held by a::f(int)]": where the function's name begins; 0: there is none in the name.
std::size_t function_within(std::string_view name) {
  constexpr std::string_view kBy = " by ";
  if (!name.starts_with('[') || !name.ends_with(']')) return 0;
  const std::size_t by = name.find(kBy);
  return by == std::string_view::npos ? 0 : by + kBy.size();
}

}  // namespace

std::string shorten(std::string_view name, std::size_t width) {
  const std::size_t begin = function_within(name), around = begin + 1;
  if (begin == 0 || (width != 0 && width <= around)) return shorten_function(name, width);
  const std::string_view within = name.substr(begin, name.size() - around);
  return std::string(name.substr(0, begin)) +
         shorten_function(within, width == 0 ? 0 : width - around) + "]";
}

}  // namespace fbleprof::names
