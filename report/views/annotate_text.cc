#include "report/views/annotate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "names/shorten.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"

namespace fbleprof::report {

using namespace profile;
using analysis::LineRow;
using analysis::Place;
using analysis::PlaceChain;

namespace {

constexpr std::size_t kFigures = 29, kLeastText = 22;  // columns
// Lines without cost are shown this far around lines with cost.
constexpr std::size_t kLinesAround = 4, kInstructionsAround = 5, kSmallestGap = 2;

std::string place_name(const Place& place) {
  if (place.file.empty()) return "?";
  const std::string file = escape(base_name(place.file));
  return place.line == 0 ? file : fmt::format("{}:{}", file, place.line);
}

// A line of source as displayed: tabs are expanded.
std::string source_line(const Annotated& one, const std::string& file, std::uint32_t line) {
  const auto source = one.sources.find(file);
  if (source == one.sources.end()) return {};
  std::string text;
  for (const char c : source->second.line(line)) {
    if (c == '\t') {
      text.append(4 - text.size() % 4, ' ');
    } else {
      text += c;
    }
  }
  return escape(text);
}

// By index in a list: whether it is within `around` of an entry with cost, or in a gap too small to
// be worth a line.
std::vector<std::uint8_t> near_cost(const std::vector<Figures>& costs, std::size_t around,
                                    bool all) {
  std::vector<std::uint8_t> shown(costs.size(), all ? 1 : 0);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].total == 0) continue;
    const std::size_t end = std::min(costs.size(), i + around + 1);
    for (std::size_t j = i > around ? i - around : 0; j < end; ++j) shown[j] = 1;
  }
  if (std::find(shown.begin(), shown.end(), 1) == shown.end()) return shown;
  for (std::size_t i = 0; i < shown.size();) {
    std::size_t end = i;
    while (end < shown.size() && shown[end] == 0) ++end;
    if (end - i <= kSmallestGap)
      std::fill_n(shown.begin() + static_cast<std::ptrdiff_t>(i), end - i, 1);
    i = std::max(end, i + 1);
  }
  return shown;
}

class Text {
 public:
  Text(const Request& request, const Look& look, const Annotated& one)
      : request_(request), look_(look), one_(one) {}

  std::string run(AnnotateBy by) {
    head();
    if (by != AnnotateBy::kInstructions && !one_.file.empty()) source();
    if (by != AnnotateBy::kSource && !one_.code.empty()) instructions();
    for (const std::string& note : one_.notes) out_ += paint(look_, Ink::kDim, escape(note)) + "\n";
    return std::move(out_);
  }

 private:
  std::string value(std::uint64_t v) const { return request_.amount(v); }

  void columns() {
    out_ += paint(look_, Ink::kDim,
                  fmt::format("{}  {}  {}", pad_left("total", 9), pad_left("%", 6),
                              pad_left("self", 9))) +
            "\n";
  }

  void line(Figures cost, std::string_view middle, Ink ink, std::string_view text) {
    const std::uint64_t whole = std::max(one_.costs.total, one_.costs.self());
    std::string figures(kFigures, ' ');
    if (cost.total != 0) {
      figures = fmt::format("{}  {}  {} ", pad_left(value(cost.total), 9),
                            pad_left(percent(cost.total, whole), 6),
                            pad_left(cost.self == 0 ? "" : value(cost.self), 9));
    }
    std::string rest = fmt::format("{} {}", middle, text);
    if (look_.width != 0) {
      rest = cut(rest, look_.width > kFigures + kLeastText ? look_.width - kFigures : kLeastText);
    }
    out_ +=
        paint(look_, heat(percent_of(cost.total, whole)), figures) + paint(look_, ink, rest) + "\n";
    while (out_.size() > 1 && out_[out_.size() - 2] == ' ') out_.erase(out_.size() - 2, 1);
  }

  void gap(std::size_t count, const char* what) {
    if (count != 0) line({}, "", Ink::kDim, fmt::format("     ⋮ {}", counted(count, what)));
  }

  void head() {
    const analysis::Annotation& costs = one_.costs;
    const Module& module = request_.profile().modules()[one_.range.module.index()];
    out_ += paint(look_, Ink::kBold, escape(names::tidy(one_.name)));
    const std::string file = escape(base_name(request_.profile().text(module.path)));
    if (one_.inlined_into.empty()) {
      out_ += fmt::format("  ({} 0x{:x}, {} bytes)\n", file, one_.range.begin,
                          one_.range.end - one_.range.begin);
    } else {
      out_ += fmt::format("  ({}, inlined into {})\n", file, callers());
    }
    out_ += fmt::format("total {} ({}), ", value(costs.total),
                        percent(costs.total, request_.costs.total()));
    out_ += fmt::format("self {} ({}): {} in its own code", value(costs.self()),
                        percent(costs.self(), request_.costs.total()),
                        value(costs.in_code - costs.of_callers));
    for (std::size_t i = 0; i < costs.outside.size() && i < 4; ++i) {
      const FunctionId leaf = costs.outside[i].leaf;
      out_ += fmt::format(", {} in {}", value(costs.outside[i].cost),
                          costs.outside[i].begin == 0 ? request_.names().fit(leaf, 40)
                                                      : nameless(costs.outside[i]));
    }
    if (costs.outside.size() > 4) out_ += fmt::format(", … {} more", costs.outside.size() - 4);
    if (costs.without_address != 0) {
      out_ += fmt::format(", {} at no known address", value(costs.without_address));
    }
    if (costs.of_callers != 0) {
      out_ += fmt::format("; {} more in its code, charged to callers (it has no hook there)",
                          value(costs.of_callers));
    }
    out_ += "\n";
  }

  std::string callers() const {
    constexpr std::size_t kMost = 3;
    std::string text;
    for (std::size_t i = 0; i < one_.inlined_into.size(); ++i) {
      if (i == kMost) return text + fmt::format(", … {} more", one_.inlined_into.size() - kMost);
      text += (i == 0 ? "" : ", ") + escape(names::shorten(one_.inlined_into[i], 40));
    }
    return text;
  }

  std::string nameless(const analysis::Annotation::Outside& other) const {
    const Profile& profile = request_.profile();
    return escape(place_in(profile, profile.functions().module[other.leaf.index()], other.begin));
  }

  void source() {
    out_ += "\n" + paint(look_, Ink::kDim, escape(one_.file)) + "\n";
    columns();
    // The function's own lines, each with the functions inlined there below it.
    std::map<std::uint32_t, std::size_t> row_of_line;
    std::vector<std::size_t> elsewhere;
    for (std::size_t i = 0; i < one_.lines.size(); ++i) {
      if (one_.lines[i].depth != 0) continue;
      const Place& place = one_.lines[i].place;
      if (place.file == one_.file && place.line != 0) {
        row_of_line[place.line] = i;
      } else {
        elsewhere.push_back(i);
      }
    }
    std::vector<Figures> costs;
    for (std::uint32_t l = one_.first_line; l <= one_.last_line; ++l) {
      const auto row = row_of_line.find(l);
      costs.push_back(row == row_of_line.end() ? Figures() : figures(one_.lines[row->second]));
    }
    const auto shown = near_cost(costs, kLinesAround, look_.all);
    std::size_t hidden = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (shown[i] == 0) {
        ++hidden;
        continue;
      }
      gap(hidden, "line");
      hidden = 0;
      const auto number = static_cast<std::uint32_t>(one_.first_line + i);
      line(costs[i], fmt::format("{:>6}", number), Ink::kPlain,
           source_line(one_, one_.file, number));
      const auto row = row_of_line.find(number);
      if (row != row_of_line.end()) inlined_below(row->second);
    }
    gap(hidden, "line");
    for (const std::size_t row : elsewhere) {
      const LineRow& other = one_.lines[row];
      line(figures(other), "", Ink::kPlain,
           fmt::format("{}  {}", place_name(other.place),
                       source_line(one_, other.place.file, other.place.line)));
      inlined_below(row);
    }
    elsewhere_line();
  }

  void elsewhere_line() {
    const Figures cost = figures_elsewhere(one_);
    const std::string words = words_elsewhere(cost.total, one_.costs.without_address);
    if (!words.empty()) line(cost, "", Ink::kDim, words);
  }

  static Figures figures(const LineRow& row) { return {row.total, row.cost}; }

  void inlined_below(std::size_t row) {
    for (std::size_t i = row + 1; i < one_.lines.size() && one_.lines[i].depth != 0; ++i) {
      const LineRow& inlined = one_.lines[i];
      std::string text = source_line(one_, inlined.place.file, inlined.place.line);
      text.erase(0, text.find_first_not_of(' ') == std::string::npos ? text.size()
                                                                     : text.find_first_not_of(' '));
      line(figures(inlined), "      ", Ink::kDim,
           fmt::format("{}↳ {} {}  {}", std::string(2 * (inlined.depth - 1), ' '),
                       escape(names::shorten(inlined.place.function, 40)),
                       place_name(inlined.place), text));
    }
  }

  void instructions() {
    out_ += "\n";
    columns();
    std::vector<Figures> costs;
    std::size_t next = 0;
    for (const symbolize::Instruction& at : one_.code) costs.push_back(figures_of(one_, at, next));
    const auto shown = near_cost(costs, kInstructionsAround, look_.all);
    std::size_t hidden = 0;
    const PlaceChain* above = nullptr;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (shown[i] == 0) {
        ++hidden;
        continue;
      }
      gap(hidden, "instruction");
      if (hidden != 0) above = nullptr;
      hidden = 0;
      if (above == nullptr || *above != one_.chains[i]) place_line(one_.chains[i]);
      above = &one_.chains[i];
      line(costs[i], fmt::format("{:>8x}: ", one_.code[i].address), Ink::kPlain, code_text(i));
    }
    gap(hidden, "instruction");
    elsewhere_line();
  }

  void place_line(const PlaceChain& chain) {
    if (chain.back().file.empty()) return;
    std::string where;
    for (auto place = chain.rbegin(); place != chain.rend(); ++place) {
      if (!where.empty()) where += " ← ";
      if (chain.size() > 1) where += escape(names::shorten(place->function, 30)) + " ";
      where += place_name(*place);
    }
    line({}, "", Ink::kDim,
         fmt::format("{}  {}", where, source_line(one_, chain.back().file, chain.back().line)));
  }

  std::string code_text(std::size_t i) const {
    const symbolize::Instruction& at = one_.code[i];
    std::string text = escape(at.text);
    if (!at.target) return text;
    const auto name = one_.names.find(*at.target);
    return name == one_.names.end() ? text : fmt::format("{} <{}>", text, escape(name->second));
  }

  const Request& request_;
  const Look& look_;
  const Annotated& one_;
  std::string out_;
};

}  // namespace

Figures figures_of(const Annotated& one, const symbolize::Instruction& at, std::size_t& next) {
  Figures sum;
  const auto& measured = one.costs.instructions;
  for (; next < measured.size() && measured[next].address < at.address + at.bytes.size(); ++next) {
    sum.total += measured[next].total;
    sum.self += measured[next].cost;
  }
  return sum;
}

// Where the function calls itself, the self cost of inner calls is below a line, too.
Figures figures_elsewhere(const Annotated& one) {
  const std::uint64_t self = one.costs.outside_or_unknown();
  return {std::max(one.costs.elsewhere, self), self};
}

std::string words_elsewhere(std::uint64_t total, std::uint64_t without_address) {
  const bool is_known = total > without_address, is_unknown = without_address != 0;
  if (!is_known && !is_unknown) return {};
  return fmt::format("({}{}{})",
                     is_known ? "code without hooks that it called, and what that called" : "",
                     is_known && is_unknown ? "; " : "", is_unknown ? "no known address" : "");
}

std::string annotated_text(const Request& request, const Look& look, const Annotated& one,
                           AnnotateBy by) {
  return Text(request, look, one).run(by);
}

}  // namespace fbleprof::report
