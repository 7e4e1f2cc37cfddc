#include "report/web/graph_layout.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fbleprof::web {
namespace {

TEST(GraphLayout, CallersStandAboveWhatTheyCall) {
  const GraphLayout layout = place_graph({50, 50, 50}, {{0, 1, 9}, {1, 2, 5}, {0, 2, 1}});
  EXPECT_EQ(layout.layer, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(layout.layers, 3u);
}

TEST(GraphLayout, ALineHasAPlaceInEachLayerThatItPasses) {
  const GraphLayout layout = place_graph({50, 50, 50}, {{0, 1, 9}, {1, 2, 5}, {0, 2, 1}});
  EXPECT_EQ(layout.lines[0].x.size(), 2u);
  ASSERT_EQ(layout.lines[2].x.size(), 3u);
  EXPECT_GE(std::abs(layout.lines[2].x[1] - layout.x[1]), 25);  // beside the box of that layer
}

TEST(GraphLayout, BoxesOfALayerStandApart) {
  std::vector<GraphLine> lines;
  for (std::size_t i = 1; i < 9; ++i) lines.push_back({0, i, 1});
  const std::vector<double> widths{40, 100, 30, 60, 20, 80, 120, 40, 50};
  const GraphLayout layout = place_graph(widths, lines);
  for (std::size_t a = 1; a < widths.size(); ++a) {
    EXPECT_GE(layout.x[a] - widths[a] / 2, 0);
    EXPECT_LE(layout.x[a] + widths[a] / 2, layout.width);
    for (std::size_t b = a + 1; b < widths.size(); ++b) {
      EXPECT_GE(std::abs(layout.x[a] - layout.x[b]), (widths[a] + widths[b]) / 2);
    }
  }
}

TEST(GraphLayout, CirclesAreCutWhereTheyLeadBack) {
  const GraphLayout layout = place_graph({50, 50}, {{0, 1, 9}, {1, 0, 8}, {1, 1, 7}});
  EXPECT_EQ(layout.layer, (std::vector<std::size_t>{0, 1}));
  EXPECT_FALSE(layout.lines[0].closes_circle);
  EXPECT_TRUE(layout.lines[1].closes_circle);
  EXPECT_TRUE(layout.lines[2].closes_circle);
}

TEST(GraphLayout, LinesDoNotCrossWithoutNeed) {
  // Two callers with a callee each, named crosswise.
  const GraphLayout layout =
      place_graph({50, 50, 50, 50, 50}, {{0, 1, 1}, {0, 2, 1}, {1, 4, 1}, {2, 3, 1}});
  EXPECT_EQ(layout.x[1] < layout.x[2], layout.x[4] < layout.x[3]);
}

TEST(GraphLayout, NoBoxesAreNoPicture) { EXPECT_EQ(place_graph({}, {}).layers, 0u); }

}  // namespace
}  // namespace fbleprof::web
