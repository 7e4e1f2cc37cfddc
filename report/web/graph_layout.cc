#include "report/web/graph_layout.h"

#include <algorithm>
#include <numeric>

namespace fbleprof::web {
namespace {

constexpr double kGap = 16;        // between boxes
constexpr double kLineWidth = 10;  // of a line that passes a layer
constexpr int kSweeps = 16;

// A box, or the place where a line passes a layer.
struct Spot {
  struct Link {
    std::size_t spot;
    double weight;
  };
  double width;
  std::size_t layer;
  double x = 0;  // first its number in the layer, then its middle
  std::vector<Link> above, below;
};

class Placing {
 public:
  Placing(const std::vector<double>& widths, const std::vector<GraphLine>& lines)
      : lines_(lines), layer_(widths.size()) {
    result_.lines.resize(lines.size());
    find_layers();
    for (std::size_t box = 0; box < widths.size(); ++box) add_spot(widths[box], layer_[box]);
    for (std::size_t i = 0; i < lines.size(); ++i) passed_.push_back(route(i));
  }

  GraphLayout run() {
    for (auto& layer : spots_of_layer_) number(layer);
    for (int sweep = 0; sweep < kSweeps; ++sweep) order(sweep % 2 == 0);
    for (auto& layer : spots_of_layer_) pack(layer, std::vector<double>(layer.size()));
    for (int sweep = 0; sweep < kSweeps; ++sweep) straighten(sweep % 2 == 0);
    return finish();
  }

 private:
  enum class State { kUnseen, kOpen, kDone };

  // A search from the first boxes on: a line to a box that is open closes a circle.
  void find_layers() {
    std::vector<State> state(layer_.size(), State::kUnseen);
    std::vector<std::size_t> done;
    for (std::size_t box = 0; box < layer_.size(); ++box) visit(box, state, done);
    for (auto box = done.rbegin(); box != done.rend(); ++box) {
      for (std::size_t i = 0; i < lines_.size(); ++i) {
        if (lines_[i].from != *box || result_.lines[i].closes_circle) continue;
        layer_[lines_[i].to] = std::max(layer_[lines_[i].to], layer_[*box] + 1);
      }
    }
    for (const std::size_t layer : layer_) result_.layers = std::max(result_.layers, layer + 1);
    spots_of_layer_.resize(result_.layers);
  }

  // Calls itself for each box on a path.
  void visit(std::size_t box, std::vector<State>& state, std::vector<std::size_t>& done) {
    if (state[box] != State::kUnseen) return;
    state[box] = State::kOpen;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].from != box) continue;
      if (state[lines_[i].to] == State::kOpen) {
        result_.lines[i].closes_circle = true;
      } else {
        visit(lines_[i].to, state, done);
      }
    }
    state[box] = State::kDone;
    done.push_back(box);
  }

  std::size_t add_spot(double width, std::size_t layer) {
    spots_.push_back({width, layer});
    spots_of_layer_[layer].push_back(spots_.size() - 1);
    return spots_.size() - 1;
  }

  // The spots of a line, one in each layer.
  std::vector<std::size_t> route(std::size_t line) {
    const auto [from, to, weight] = lines_[line];
    std::vector<std::size_t> spots{from};
    if (!result_.lines[line].closes_circle) {
      for (std::size_t layer = layer_[from] + 1; layer < layer_[to]; ++layer) {
        spots.push_back(add_spot(kLineWidth, layer));
      }
    }
    spots.push_back(to);
    for (std::size_t i = 1; i < spots.size() && !result_.lines[line].closes_circle; ++i) {
      spots_[spots[i - 1]].below.push_back({spots[i], weight});
      spots_[spots[i]].above.push_back({spots[i - 1], weight});
    }
    return spots;
  }

  void number(const std::vector<std::size_t>& layer) {
    for (std::size_t i = 0; i < layer.size(); ++i) spots_[layer[i]].x = static_cast<double>(i);
  }

  // The mean place of the neighbours; the spot's own if it has none.
  double middle(const Spot& spot, bool of_above, bool of_below) const {
    double sum = 0, weights = 0;
    for (const auto* links : {of_above ? &spot.above : nullptr, of_below ? &spot.below : nullptr}) {
      if (links == nullptr) continue;
      for (const Spot::Link& link : *links) {
        sum += link.weight * spots_[link.spot].x;
        weights += link.weight;
      }
    }
    return weights == 0 ? spot.x : sum / weights;
  }

  void order(bool downwards) {
    for (std::size_t i = 0; i < spots_of_layer_.size(); ++i) {
      auto& layer = spots_of_layer_[downwards ? i : spots_of_layer_.size() - 1 - i];
      std::vector<std::pair<double, std::size_t>> places;
      for (const std::size_t spot : layer) {
        places.emplace_back(middle(spots_[spot], downwards, !downwards), spot);
      }
      std::stable_sort(places.begin(), places.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::size_t s = 0; s < layer.size(); ++s) layer[s] = places[s].second;
      number(layer);
    }
  }

  void straighten(bool downwards) {
    for (std::size_t i = 0; i < spots_of_layer_.size(); ++i) {
      const auto& layer = spots_of_layer_[downwards ? i : spots_of_layer_.size() - 1 - i];
      std::vector<double> wanted;
      for (const std::size_t spot : layer) wanted.push_back(middle(spots_[spot], true, true));
      pack(layer, wanted);
    }
  }

  // As near to the wanted places as possible, in order and without overlaps: spots that push each
  // other form a block, whose members move together.
  void pack(const std::vector<std::size_t>& layer, const std::vector<double>& wanted) {
    struct Block {
      double sum;
      std::size_t count;
    };
    std::vector<double> offset(layer.size());
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < layer.size(); ++i) {
      if (i != 0) {
        const double apart = (spots_[layer[i - 1]].width + spots_[layer[i]].width) / 2 + kGap;
        offset[i] = offset[i - 1] + apart;
      }
      blocks.push_back({wanted[i] - offset[i], 1});
      while (blocks.size() > 1 && mean(blocks[blocks.size() - 2]) > mean(blocks.back())) {
        const Block last = blocks.back();
        blocks.pop_back();
        blocks.back() = {blocks.back().sum + last.sum, blocks.back().count + last.count};
      }
    }
    std::size_t i = 0;
    for (const Block& block : blocks) {
      for (std::size_t member = 0; member < block.count; ++member, ++i) {
        spots_[layer[i]].x = mean(block) + offset[i];
      }
    }
  }
  template <class Block>
  static double mean(const Block& block) {
    return block.sum / static_cast<double>(block.count);
  }

  GraphLayout finish() {
    if (spots_.empty()) return {};
    double left = spots_[0].x, right = left;
    for (const Spot& spot : spots_) {
      left = std::min(left, spot.x - spot.width / 2);
      right = std::max(right, spot.x + spot.width / 2);
    }
    result_.width = right - left;
    result_.layer = layer_;
    for (std::size_t box = 0; box < layer_.size(); ++box) {
      result_.x.push_back(spots_[box].x - left);
    }
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      for (const std::size_t spot : passed_[i]) result_.lines[i].x.push_back(spots_[spot].x - left);
    }
    return std::move(result_);
  }

  const std::vector<GraphLine>& lines_;
  std::vector<std::size_t> layer_;  // by box
  std::vector<Spot> spots_;         // first the boxes
  std::vector<std::vector<std::size_t>> spots_of_layer_;
  std::vector<std::vector<std::size_t>> passed_;  // by line: its spots
  GraphLayout result_;
};

}  // namespace

GraphLayout place_graph(const std::vector<double>& widths, const std::vector<GraphLine>& lines) {
  return Placing(widths, lines).run();
}

}  // namespace fbleprof::web
