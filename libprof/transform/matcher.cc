#include "transform/matcher.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "names/parts.h"
#include "transform/stable_id.h"

namespace fbleprof::transform {

using namespace profile;
using names::function_of_place;
using names::without_parameters;

namespace {

using Predicate = std::function<bool(std::string_view)>;

bool has_wildcard(std::string_view pattern) {
  return pattern.find_first_of("*?") != std::string_view::npos;
}

// Operators, lambdas and arrays put brackets into names, so brackets alone do not make a glob.
Predicate exact_or_glob(std::string pattern) {
  if (has_wildcard(pattern)) {
    return
        [pattern](std::string_view text) { return text == pattern || glob_match(pattern, text); };
  }
  return [pattern](std::string_view text) { return text == pattern; };
}

// Matches one "[...]" of a glob at glob[at]; sets `next` behind it. False if it is not a class.
bool parse_class(std::string_view glob, std::size_t at, unsigned char c, bool& hit,
                 std::size_t& next) {
  std::size_t i = at + 1;
  const bool negated = i < glob.size() && (glob[i] == '!' || glob[i] == '^');
  if (negated) ++i;
  bool found = false;
  for (bool first = true; i < glob.size() && (first || glob[i] != ']'); first = false) {
    const auto low = static_cast<unsigned char>(glob[i]);
    if (i + 2 < glob.size() && glob[i + 1] == '-' && glob[i + 2] != ']') {
      found |= low <= c && c <= static_cast<unsigned char>(glob[i + 2]);
      i += 3;
    } else {
      found |= low == c;
      ++i;
    }
  }
  if (i >= glob.size()) return false;
  hit = found != negated;
  next = i + 1;
  return true;
}

}  // namespace

bool glob_match(std::string_view glob, std::string_view text) {
  // The usual loop that backtracks only to the latest star. Never exponential.
  std::size_t g = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    bool hit = false;
    std::size_t next = g + 1;
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_text = t;
      continue;
    }
    if (g < glob.size()) {
      const bool is_class =
          glob[g] == '[' && parse_class(glob, g, static_cast<unsigned char>(text[t]), hit, next);
      if (!is_class) {
        next = g + 1;
        hit = glob[g] == '?' || glob[g] == text[t];
      }
    }
    if (hit) {
      g = next;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool is_exact(const std::string& pattern) {
  for (const char* prefix : {"re:", "module:", "file:", "id:"}) {
    if (pattern.starts_with(prefix)) return false;
  }
  return !has_wildcard(pattern);
}

std::string containing(const std::string& text) { return "re:(?i)" + RE2::QuoteMeta(text); }

Result<std::vector<std::uint8_t>> match(const Profile& profile, const std::string& pattern) {
  const Functions& functions = profile.functions();
  std::vector<std::uint8_t> matches(functions.count());
  const auto bad = [&](const std::string& why) {
    return Error{"", std::nullopt, fmt::format("bad pattern \"{}\"", pattern), why};
  };
  if (pattern.empty()) return bad("it names nothing");

  for (const std::string_view prefix : {"module:", "file:"}) {
    if (!pattern.starts_with(prefix)) continue;
    const std::string rest = pattern.substr(prefix.size());
    if (rest.empty())
      return bad(fmt::format("say which {} it is", prefix.substr(0, prefix.size() - 1)));
    const Predicate matches_path = exact_or_glob(rest);
    for (std::size_t f = 0; f < matches.size(); ++f) {
      const ModuleId module = functions.module[f];
      std::string_view path;
      if (prefix == "file:") {
        path = profile.text(functions.file[f]);
      } else if (module) {
        path = profile.text(profile.modules()[module.index()].path);
      }
      matches[f] = !path.empty() && (matches_path(path) || matches_path(base_name(path)));
    }
    return matches;
  }

  if (pattern.starts_with(kIdPrefix)) {
    const std::vector<std::uint64_t> ids = stable_ids(profile);
    for (std::size_t f = 0; f < matches.size(); ++f) matches[f] = id_text(ids[f]) == pattern;
    return matches;
  }

  Predicate matches_name;
  // An expression that matches nowhere in a name matches nowhere in its beginning, unless the
  // expression refers to the end.
  bool asks_for_end = true;
  if (pattern.starts_with("re:")) {
    asks_for_end = pattern.find_first_of("$\\(") != std::string::npos;
    RE2::Options options(RE2::Quiet);
    options.set_never_capture(true);
    const auto regex = std::make_shared<RE2>(pattern.substr(3), options);
    if (!regex->ok()) return bad(regex->error());
    // A name need not be UTF-8: then each byte is a character.
    options.set_encoding(RE2::Options::EncodingLatin1);
    const auto of_bytes = std::make_shared<RE2>(pattern.substr(3), options);
    matches_name = [regex, of_bytes](std::string_view name) {
      const bool is_ascii = std::all_of(name.begin(), name.end(), [](char c) { return c >= 0; });
      const re2::StringPiece text(name.data(), name.size());
      return RE2::PartialMatch(text, *regex) || (!is_ascii && RE2::PartialMatch(text, *of_bytes));
    };
  } else {
    matches_name = exact_or_glob(pattern);
  }
  for (std::size_t f = 0; f < matches.size(); ++f) {
    const std::string name = display_name(profile, FunctionId(f));
    matches[f] = matches_name(name) || (asks_for_end && matches_name(without_parameters(name)));
    if (functions.kind[f] == FunctionKind::kInstruction && matches[f] == 0) {
      const std::string_view around = function_of_place(name);
      matches[f] = matches_name(around) || matches_name(without_parameters(around));
    }
  }
  return matches;
}

}  // namespace fbleprof::transform
