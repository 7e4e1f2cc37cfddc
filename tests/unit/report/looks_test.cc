// What holds for each view, however its output is ordered, cut, coloured and fitted.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/shown.h"
#include "tests/support/text.h"
#include "transform/baseline.h"
#include "transform/join.h"
#include "transform/merge.h"

namespace fbleprof::report {
namespace {

using profile::Profile;

// Recursion, tail calls, chains of calls, long names, many small contexts, two threads.
std::string many_contexts() {
  std::string text =
      "main = 1000\nmain -> 1\nmain a::first(int,char) = 3000\nmain a::first(int,char) -> 30\n"
      "main a::first(int,char) b = 100\nmain a::first(int,char) b -> 10\n"
      "main a::first(int,char) b ~> main a::first(int,char) : 2\n"
      "main a::first(int,char) b ~> main a::first(int,char) b : 7\n"
      "main c = 0\nmain c -> 5\nmain d = 400\nmain c => main d : 4\n"
      "main one two three four five six seven eight nine ten eleven twelve = 900\n"
      "main one two three four five six seven eight nine ten eleven twelve -> 90\n"
      "main std::Table<std::pair<int,int>,Less,std::allocator<std::pair<int,int>>>::rehash(int) = "
      "600\n"
      "main std::Table<std::pair<int,int>,Less,std::allocator<std::pair<int,int>>>::rehash(int) -> "
      "1\n"
      "main nothing -> 3\n";
  for (int i = 0; i < 60; ++i) {
    const std::string small = "main d small" + std::to_string(i);
    text += small + " = " + std::to_string(i % 7) + "\n" + small + " -> " +
            std::to_string(1 + i % 5) + "\n";
  }
  return text + "thread worker\nwork a::first(int,char) = 50\nwork a::first(int,char) -> 6\n";
}

Profile compared() {
  return transform::merge(transform::join(
      {test::profile_of(many_contexts()),
       transform::as_baseline(test::profile_of(
           "main = 1000\nmain -> 1\nmain a::first(int,char) = 300\nmain a::first(int,char) -> 30\n"
           "main gone = 700\nmain gone -> 70\nmain gone below = 1\nmain d = 400\n"
           "main one two three four five six seven eight nine ten eleven twelve = 90000\n"))}));
}

struct Shown {
  std::string name, what;
  bool compares = false;
};

// Views of files, and those that read code, need more than a profile.
std::vector<Shown> shown_views() {
  std::vector<Shown> all;
  for (const View& view : views()) {
    if (view.show == nullptr || view.topic == View::Topic::kCode || !view.is_of_contexts())
      continue;
    all.push_back(
        {std::string(view.name), std::string(view.implied.empty() ? view.example : view.implied)});
    if (view.compare != nullptr) all.push_back({all.back().name, all.back().what, true});
  }
  return all;
}

std::string show(const Shown& shown, const Look& look) {
  static const Profile plain = test::profile_of(many_contexts()), both = compared();
  const Profile& profile = shown.compares ? both : plain;
  const analysis::Costs costs(profile, *profile.find_metric("cpu"));
  const Profile runs = transform::outline(profile);
  Request request{.costs = costs, .runs = runs};
  request.total = costs.total();
  request.look = look;
  request.value = shown.what;
  const View& view = *find_view(shown.name);
  const auto document = (shown.compares ? view.compare : view.show)(request);
  return document ? render(*document, look) : document.error().line();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> orders_of(const View& view) {
  std::vector<std::string> keys;
  std::istringstream in{std::string(view.sort_keys)};
  for (std::string key; in >> key;) keys.push_back(key);
  return keys;
}

TEST(Looks, AnOrderLosesNoRow) {
  for (const Shown& each : shown_views()) {
    const auto rows = lines_of(show(each, {.format = Format::kCsv, .all = true}));
    for (const std::string& key : orders_of(*find_view(each.name))) {
      const auto ordered = lines_of(show(each, {.format = Format::kCsv, .sort = key, .all = true}));
      EXPECT_EQ(sorted(ordered), sorted(rows)) << each.name << " by " << key;
      EXPECT_EQ(ordered.front(), rows.front()) << each.name << " by " << key;
    }
  }
}

TEST(Looks, TheTopIsTheBeginningOfAll) {
  for (const Shown& each : shown_views()) {
    const auto all = lines_of(show(each, {.format = Format::kCsv}));
    const auto top = lines_of(show(each, {.format = Format::kCsv, .top = 2}));
    ASSERT_LE(top.size(), all.size()) << each.name;
    if (each.name == "cliques") continue;  // of each clique
    EXPECT_TRUE(std::equal(top.begin(), top.end(), all.begin())) << each.name;
  }
}

TEST(Looks, ColourChangesNoCharacter) {
  const auto without_escapes = [](const std::string& text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\x1b') {
        at = text.find('m', at);
      } else {
        plain += text[at];
      }
    }
    return plain;
  };
  for (const Shown& each : shown_views()) {
    for (const std::string& key : orders_of(*find_view(each.name))) {
      const std::string plain = show(each, {.sort = key});
      const std::string coloured = show(each, {.colour = true, .sort = key});
      EXPECT_EQ(without_escapes(coloured), plain) << each.name << " by " << key;
    }
  }
}

// A name may be shortened, never what tells it from the others; a line gets no wider by a limit.
TEST(Looks, ALimitOfWidthMakesNoLineWider) {
  const auto widest = [](const std::string& text) {
    std::size_t widest = 0;
    for (const std::string& line : lines_of(text)) {
      widest = std::max(widest,
                        static_cast<std::size_t>(std::count_if(
                            line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; })));
    }
    return widest;
  };
  for (const Shown& each : shown_views()) {
    for (const bool all : {false, true}) {
      const std::size_t free = widest(show(each, {.width = 0, .all = all}));
      for (const std::size_t width : {30u, 60u, 90u, 200u}) {
        EXPECT_LE(widest(show(each, {.width = width, .all = all})),
                  std::max<std::size_t>({free, 100, width}))
            << each.name << " in " << width;
      }
    }
  }
}

TEST(Looks, ADepthOrAShareHidesButInventsNothing) {
  for (const Shown& each : shown_views()) {
    const auto every = lines_of(show(each, {.format = Format::kCsv, .all = true}));
    for (const std::size_t depth : {1u, 2u, 5u}) {
      EXPECT_LE(lines_of(show(each, {.format = Format::kCsv, .depth = depth})).size(), every.size())
          << each.name << " to " << depth;
      EXPECT_FALSE(show(each, {.depth = depth, .min_percent = 0}).empty()) << each.name;
    }
    for (const double share : {0.0, 5.0, 99.0}) {
      EXPECT_FALSE(show(each, {.min_percent = share, .fits_screen = false}).empty()) << each.name;
    }
  }
}

TEST(Looks, AUnitIsUsedForAllAmounts) {
  for (const Shown& each : shown_views()) {
    EXPECT_FALSE(test::holds(show(each, {.unit = "ms"}), " us ")) << each.name;
  }
}

}  // namespace
}  // namespace fbleprof::report
