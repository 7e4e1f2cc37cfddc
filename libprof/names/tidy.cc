#include <algorithm>
#include <array>
#include <vector>

#include "names/name_scan.h"
#include "names/shorten.h"

namespace fbleprof::names {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kShortAnonymous = "(anon)";
constexpr std::size_t kLongestStdName = 64;

// Trailing arguments of std templates that equal their defaults.
constexpr std::array<std::string_view, 6> kDefaultArguments = {
    "std::allocator<", "std::less<",     "std::char_traits<",
    "std::hash<",      "std::equal_to<", "std::default_delete<"};

// An inline namespace of a standard library at `at`: its length, or 0.
std::size_t inline_namespace(std::string_view name, std::size_t at) {
  for (std::string_view part : {"__cxx11::", "__1::", "__ndk1::"}) {
    if (name.compare(at, part.size(), part) == 0) return part.size();
  }
  return 0;
}

// One pass over a name. At each closing angle the arguments before it are complete, and dropped
// arguments are always at the end of the output, so nothing is copied twice.
class Tidier {
 public:
  explicit Tidier(std::string_view name) : name_(name) { out_.reserve(name.size()); }

  std::string run() && {
    while (at_ < name_.size()) step();
    return std::move(out_);
  }

 private:
  struct Open {
    char kind;
    std::size_t begin;                   // of the bracket, in the output
    std::vector<std::size_t> arguments;  // where each begins, in the output
  };

  void step() {
    const char c = name_[at_];
    if (const std::size_t behind = c == 'o' ? skip_operator(name_, at_) : at_; behind != at_) {
      copy(behind - at_);
    } else if (const std::size_t dropped = noise(); dropped != 0) {
      at_ += dropped;
    } else if (c == '(' && name_.compare(at_, kAnonymous.size(), kAnonymous) == 0) {
      out_ += kShortAnonymous;
      at_ += kAnonymous.size();
    } else if (c == '>' && !out_.ends_with('-') && !open_.empty() && open_.back().kind == '<') {
      close_angle();
    } else {
      note_bracket(c);
      copy(1);
    }
  }

  void copy(std::size_t length) {
    out_ += name_.substr(at_, length);
    at_ += length;
  }

  // The length of an ABI tag or of an inline namespace of std here, or 0.
  std::size_t noise() const {
    if (name_[at_] == '[' && name_.compare(at_, 5, "[abi:") == 0) {
      const std::size_t end = name_.substr(at_, 80).find(']');
      return end == std::string_view::npos ? 0 : end + 1;
    }
    return name_[at_] == '_' && out_.ends_with("std::") ? inline_namespace(name_, at_) : 0;
  }

  void note_bracket(char c) {
    if (c == '<' || c == '(' || c == '{') {
      open_.push_back({c, out_.size(), {out_.size() + 1}});
    } else if (c == ',' && !open_.empty()) {
      open_.back().arguments.push_back(out_.size());
    } else if (c == ')' || c == '}') {
      const char kind = c == ')' ? '(' : '{';
      while (!open_.empty() && open_.back().kind != kind) open_.pop_back();
      if (!open_.empty()) open_.pop_back();
    }
  }

  void close_angle() {
    const Open group = std::move(open_.back());
    open_.pop_back();
    ++at_;
    std::size_t name_begin = group.begin;
    while (name_begin > 0 && group.begin - name_begin < kLongestStdName &&
           (is_name_character(out_[name_begin - 1]) || out_[name_begin - 1] == ':')) {
      --name_begin;
    }
    const std::string owner = out_.substr(name_begin, group.begin - name_begin);
    if (owner.starts_with("std::")) {
      drop_default_arguments(group);
      if (name_string_or_stream(owner, name_begin, group)) return;
    }
    if (out_.ends_with("> ")) out_.pop_back();
    out_ += '>';
  }

  void drop_default_arguments(const Open& group) {
    for (std::size_t i = group.arguments.size(); i-- > 1;) {
      std::string_view argument = std::string_view(out_).substr(group.arguments[i]);
      argument.remove_prefix(std::min(argument.find_first_not_of(", "), argument.size()));
      const auto begins = [&](std::string_view prefix) { return argument.starts_with(prefix); };
      if (std::none_of(kDefaultArguments.begin(), kDefaultArguments.end(), begins)) return;
      if (argument[argument.find_last_not_of(' ')] != '>') return;  // std::less<int>::type
      out_.resize(group.arguments[i]);
    }
  }

  // std::basic_X<char> is std::X, of wchar_t std::wX.
  bool name_string_or_stream(std::string_view owner, std::size_t name_begin, const Open& group) {
    constexpr std::string_view kBasic = "std::basic_";
    if (!owner.starts_with(kBasic)) return false;
    const std::string_view argument = std::string_view(out_).substr(group.begin + 1);
    const bool wide = argument == "wchar_t";
    if (argument != "char" && !wide) return false;
    out_.resize(name_begin);
    out_ += wide ? "std::w" : "std::";
    out_ += owner.substr(kBasic.size());
    return true;
  }

  std::string_view name_;
  std::size_t at_ = 0;
  std::string out_;
  std::vector<Open> open_;
};

}  // namespace

std::string tidy(std::string_view name) { return Tidier(name).run(); }

}  // namespace fbleprof::names
