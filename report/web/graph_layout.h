// Places the boxes of a call graph in layers: callers above what they call, lines as straight as
// possible and with few crossings.
//
// The steps are those of Sugiyama, each in its simplest form, as a picture has a few dozen boxes:
// circles are cut, boxes get their layers, each layer is ordered by the mean place of its
// neighbours, and then moved towards them.
#pragma once

#include <cstddef>
#include <vector>

namespace fbleprof::web {

struct GraphLine {
  std::size_t from, to;  // boxes
  double weight;
};

struct GraphLayout {
  struct Line {
    bool closes_circle = false;  // leads to the box itself, or back to one above
    std::vector<double> x;       // in each layer from its beginning to its end
  };

  std::vector<std::size_t> layer;  // by box, from the top
  std::vector<double> x;           // by box: its middle
  std::vector<Line> lines;         // as given
  std::size_t layers = 0;
  double width = 0;  // of all
};

// `widths`: of the boxes. Circles are cut at the lines that lead back to the first boxes.
GraphLayout place_graph(const std::vector<double>& widths, const std::vector<GraphLine>& lines);

}  // namespace fbleprof::web
