// A recursive descent over characters. The meaning of words depends on their position (a `<`
// belongs to a C++ name, but not to `self < 1%`), so there is no separate lexer.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "transform/query.h"

namespace fbleprof::transform {
namespace {

constexpr int kDeepest = 200;  // nesting of parentheses and `not`
constexpr std::size_t kLongestPath = 60;

struct NamedKind {
  std::string_view name;
  Query::Kind kind;
};
constexpr NamedKind kOperations[] = {{"at", Query::Kind::kAt},     {"from", Query::Kind::kFrom},
                                     {"to", Query::Kind::kTo},     {"pred", Query::Kind::kPred},
                                     {"succ", Query::Kind::kSucc}, {"path", Query::Kind::kPath}};

struct NamedFigure {
  std::string_view name;
  Query::Figure figure;
};
constexpr NamedFigure kFigures[] = {{"self", Query::Figure::kSelf},
                                    {"dominated", Query::Figure::kDominated},
                                    {"calls", Query::Figure::kCalls},
                                    {"total", Query::Figure::kTotal},
                                    {"depth", Query::Figure::kDepth}};

struct NamedSign {
  std::string_view text;
  Query::Sign sign;
};
constexpr NamedSign kSigns[] = {{">=", Query::Sign::kAtLeast},  {"<=", Query::Sign::kAtMost},
                                {"!=", Query::Sign::kNotEqual}, {"==", Query::Sign::kEqual},
                                {">", Query::Sign::kMore},      {"<", Query::Sign::kLess},
                                {"=", Query::Sign::kEqual}};

constexpr std::string_view kUnits[] = {"",    "%",   "ns", "us", "ms", "s", "min", "B", "KiB",
                                       "MiB", "GiB", "KB", "MB", "GB", "k", "M",   "G"};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Thrown and caught in this file only.
struct Mistake {
  std::size_t position;
  std::string what, remedy;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Query run() {
    Query query = any_of(0);
    skip_blanks();
    if (at_ < text_.size()) {
      if (text_[at_] == ')') fail(at_, "\")\" closes nothing", "take it out, or quote the name");
      if (text_[at_] == '(') {
        fail(at_, "\"(\" after a name", "quote a name that holds parentheses: \"f(int)\"");
      }
      fail(at_, fmt::format("\"{}\" after the end of an expression", rest()),
           "join expressions by and or or");
    }
    return query;
  }

 private:
  [[noreturn]] static void fail(std::size_t position, std::string what, std::string remedy) {
    throw Mistake{position, std::move(what), std::move(remedy)};
  }

  std::string rest() const {
    const std::string_view rest = text_.substr(at_);
    return std::string(rest.substr(0, std::min<std::size_t>(rest.find(' '), 20)));
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  // The word of letters that begins here, without consuming it.
  std::string_view peek_word() {
    skip_blanks();
    std::size_t end = at_;
    while (end < text_.size() && std::isalpha(static_cast<unsigned char>(text_[end])) != 0) ++end;
    // Part of a longer name?
    if (end < text_.size() && !is_blank(text_[end]) &&
        std::string_view("(),<>=!").find(text_[end]) == std::string_view::npos) {
      return {};
    }
    return text_.substr(at_, end - at_);
  }

  bool take_word(std::string_view word) {
    if (peek_word() != word) return false;
    at_ += word.size();
    return true;
  }

  Query any_of(int depth) { return chain(Query::Kind::kOr, "or", "||", depth); }
  Query all_of(int depth) { return chain(Query::Kind::kAnd, "and", "&&", depth); }

  Query chain(Query::Kind kind, std::string_view word, std::string_view sign, int depth) {
    const auto part = [&] { return kind == Query::Kind::kOr ? all_of(depth) : unary(depth); };
    Query first = part();
    if (!take_word(word) && !take(sign)) return first;
    Query query;
    query.kind = kind;
    query.position = first.position;
    query.below.push_back(std::move(first));
    do {
      query.below.push_back(part());
    } while (take_word(word) || take(sign));
    return query;
  }

  Query unary(int depth) {
    skip_blanks();
    const std::size_t position = at_;
    if (depth > kDeepest) fail(at_, "nested too deep", "use fewer parentheses");
    if (take_word("not") || (!text_.substr(at_).starts_with("!=") && take("!"))) {
      Query query;
      query.kind = Query::Kind::kNot;
      query.position = position;
      query.below.push_back(unary(depth + 1));
      return query;
    }
    if (take("(")) {
      Query query = any_of(depth + 1);
      close(position);
      return query;
    }
    return primary(depth);
  }

  void close(std::size_t opened) {
    if (take(")")) return;
    if (at_ < text_.size() && text_[at_] == '(') {
      fail(at_, "\"(\" after a name", "quote a name that holds parentheses: \"f(int)\"");
    }
    if (at_ < text_.size()) {
      fail(at_, fmt::format("\"{}\" where \")\" or and/or belongs", rest()),
           "quote a name that holds blanks or commas");
    }
    fail(opened, "\"(\" is never closed", "add a \")\"");
  }

  Query primary(int depth) {
    const std::size_t position = at_;
    const std::string_view word = peek_word();
    for (const NamedFigure& figure : kFigures) {
      if (word != figure.name) continue;
      at_ += word.size();
      for (const NamedSign& sign : kSigns) {
        if (take(sign.text)) return comparison(figure.figure, sign.sign, position);
      }
      at_ = position;  // a function of that name
    }
    for (const NamedKind& operation : kOperations) {
      if (word != operation.name) continue;
      at_ += word.size();
      skip_blanks();
      const std::size_t opened = at_;
      if (!take("(")) {
        at_ = position;
        break;
      }
      Query query;
      query.kind = operation.kind;
      query.position = position;
      if (operation.kind == Query::Kind::kPath) {
        sequence(query);
      } else {
        query.below.push_back(arguments(depth + 1));
      }
      close(opened);
      return query;
    }
    if (word == "and" || word == "or") {
      fail(at_, fmt::format("\"{}\" where a name or \"(\" belongs", word),
           "quote a function that is called so");
    }
    Query query;
    query.position = position;
    query.patterns.push_back(name());
    return query;
  }

  // For from(a, b): the union of its arguments.
  Query arguments(int depth) {
    Query first = any_of(depth);
    if (!take(",")) return first;
    Query query;
    query.kind = Query::Kind::kOr;
    query.position = first.position;
    query.below.push_back(std::move(first));
    do {
      query.below.push_back(any_of(depth));
    } while (take(","));
    return query;
  }

  void sequence(Query& query) {
    bool gap = false;
    if (take("..")) fail(at_ - 2, "\"..\" before the first name", "begin with a name");
    while (true) {
      skip_blanks();
      query.patterns.push_back(name());
      query.gap_before.push_back(gap);
      if (take("..")) {
        gap = true;
      } else if (take(",")) {
        gap = take("..");
        if (gap && take(",")) continue;
      } else {
        break;
      }
    }
    if (query.patterns.size() > kLongestPath) {
      fail(query.position, "the path is too long",
           fmt::format("name at most {} functions", kLongestPath));
    }
  }

  Query comparison(Query::Figure figure, Query::Sign sign, std::size_t position) {
    skip_blanks();
    const std::size_t begin = at_;
    std::string digits;
    while (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '.' || text_[at_] == '_')) {
      if (text_[at_] != '_') digits += text_[at_];
      ++at_;
    }
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0' || !std::isfinite(value)) {
      fail(begin, begin < text_.size() ? "not a number" : "a number is missing",
           "as in self > 1%, dominated >= 10ms, calls > 1000");
    }
    skip_blanks();
    const std::size_t unit_at = at_;
    std::string unit;
    if (take("%")) {
      unit = "%";
    } else if (const std::string_view word = peek_word(); word != "and" && word != "or") {
      unit = word;
      at_ += word.size();
    }
    if (std::find(std::begin(kUnits), std::end(kUnits), unit) == std::end(kUnits)) {
      fail(unit_at, fmt::format("no unit \"{}\"", unit),
           "there are %, ns, us, ms, s, min, B, KiB, MiB, GiB, k, M and G");
    }
    if (figure == Query::Figure::kDepth && !unit.empty()) {
      fail(unit_at, "depth has no unit", "as in depth < 10");
    }
    if (figure == Query::Figure::kCalls && !unit.empty() && unit != "%" && unit != "k" &&
        unit != "M" && unit != "G") {
      fail(unit_at, fmt::format("calls are not counted in {}", unit),
           "as in calls > 1000, calls > 5k or calls > 1%");
    }
    Query query;
    query.kind = Query::Kind::kCompare;
    query.position = position;
    query.figure = figure;
    query.sign = sign;
    query.value = value;
    query.unit = unit;
    return query;
  }

  // A pattern: up to a blank, a comma, a parenthesis or "..". Quotes hold anything.
  std::string name() {
    const std::size_t position = at_;
    std::string name;
    bool quoted = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        const std::size_t end = text_.find(c, at_ + 1);
        if (end == std::string_view::npos) {
          fail(at_, "a quote is never closed", fmt::format("add a {}", c));
        }
        name += text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        quoted = true;
        continue;
      }
      if (is_blank(c) || c == ',' || c == '(' || c == ')') break;
      if (c == '.' && at_ + 1 < text_.size() && text_[at_ + 1] == '.') break;
      name += c;
      ++at_;
    }
    if (!name.empty()) return name;
    if (quoted) fail(position, "the name is empty", "* matches every function");
    if (at_ >= text_.size()) fail(at_, "a name is missing at the end", "as in --keep 'parse*'");
    fail(at_, fmt::format("\"{}\" where a name belongs", rest()),
         "a name, a glob, re:..., module:... or file:...");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Query> parse_query(std::string_view text) {
  try {
    return Parser(text).run();
  } catch (const Mistake& mistake) {
    return Error{"query", std::nullopt,
                 fmt::format("at character {}: {}", mistake.position + 1, mistake.what),
                 mistake.remedy};
  }
}

}  // namespace fbleprof::transform
