#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <heed/tests/lint/house/layout.h>

namespace heed::lint::house {
namespace {

constexpr double gap = 36;
constexpr double way_width = 12;

int layer_of(const IncludeGraph& arrows, const std::string& room) {
  int layer = 0;
  const auto targets = arrows.find(room);
  if (targets == arrows.end()) return layer;
  for (const auto& [target, where] : targets->second) layer = std::max(layer, layer_of(arrows, target) + 1);
  return layer;
}

/// The places of rooms, and of arrows in the layers they go by.
Layout places_of(const House& house, const std::vector<double>& widths) {
  Layout layout;
  std::map<std::string, int> numbers, levels;
  for (std::size_t i = 0; i < house.rooms.size(); ++i) {
    const std::string& name = house.rooms[i].name;
    const int number = static_cast<int>(i);
    numbers[name] = number;
    const auto level = static_cast<std::size_t>(levels[name] = layer_of(house.arrows, name));
    if (layout.layers.size() <= level) layout.layers.resize(level + 1);
    layout.layers[level].push_back(number);
    layout.places.push_back({number, widths[i]});
  }
  for (const auto& [from, targets] : house.arrows) {
    for (const auto& [to, where] : targets) {
      int last = numbers.at(from);
      for (int level = levels.at(from) - 1; level > levels.at(to); --level) {
        const int way = static_cast<int>(layout.places.size());
        layout.places.push_back({-1, way_width});
        layout.layers[static_cast<std::size_t>(level)].push_back(way);
        layout.places[static_cast<std::size_t>(last)].below.push_back(way);
        last = way;
      }
      layout.places[static_cast<std::size_t>(last)].below.push_back(numbers.at(to));
    }
  }
  return layout;
}

Place& place(Layout& layout, int number) { return layout.places[static_cast<std::size_t>(number)]; }
const Place& place(const Layout& layout, int number) {
  return layout.places[static_cast<std::size_t>(number)];
}

/// Distance of the centres of two neighbours.
double distance(const Layout& layout, int left, int right) {
  return (place(layout, left).width + place(layout, right).width) / 2 + gap;
}

/// Puts the layer's places side by side round x = 0.
void centre(Layout& layout, const std::vector<int>& layer) {
  double x = 0;
  for (std::size_t i = 1; i < layer.size(); ++i) x += distance(layout, layer[i - 1], layer[i]);
  x /= -2;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    if (i > 0) x += distance(layout, layer[i - 1], layer[i]);
    place(layout, layer[i]).x = x;
  }
}

/// What the arrows from one layer to the next cost: crossings, and where those are even, the way sideways.
double cost_of(const Layout& layout, const std::vector<int>& layer) {
  constexpr double crossing = 1e6;
  std::vector<std::pair<double, double>> arrows;
  for (const int from : layer) {
    for (const int to : place(layout, from).below) {
      arrows.emplace_back(place(layout, from).x, place(layout, to).x);
    }
  }
  double cost = 0;
  for (std::size_t i = 0; i < arrows.size(); ++i) {
    cost += std::abs(arrows[i].first - arrows[i].second);
    for (std::size_t k = 0; k < i; ++k) {
      const double above = arrows[i].first - arrows[k].first;
      const double below = arrows[i].second - arrows[k].second;
      if (above * below < 0) cost += crossing;
    }
  }
  return cost;
}

/// A layer in one of its orders, with the best orders of all layers below.
struct Stack {
  std::vector<std::vector<int>> layers;
  double cost = 0;
};

/// All orders of a layer, each on the stack that suits it best.
std::vector<Stack> stacked(Layout& layout, std::vector<int> layer, const std::vector<Stack>& lower) {
  std::vector<Stack> stacks;
  std::sort(layer.begin(), layer.end());
  do {
    centre(layout, layer);
    Stack best;
    for (const Stack& stack : lower) {
      if (!stack.layers.empty()) centre(layout, stack.layers.back());
      const double cost = stack.cost + cost_of(layout, layer);
      if (!best.layers.empty() && cost >= best.cost) continue;
      best = {stack.layers, cost};
      best.layers.push_back(layer);
    }
    stacks.push_back(std::move(best));
  } while (std::next_permutation(layer.begin(), layer.end()));
  return stacks;
}

/// Gives all layers the orders that cost least together.
void order(Layout& layout) {
  std::vector<Stack> stacks = {{}};
  for (const auto& layer : layout.layers) stacks = stacked(layout, layer, stacks);
  const auto best = std::min_element(stacks.begin(), stacks.end(),
                                     [](const Stack& a, const Stack& b) { return a.cost < b.cost; });
  layout.layers = best->layers;
  for (const auto& layer : layout.layers) centre(layout, layer);
}

/// Moves a layer's places as near to what each wishes as the distances of neighbours let them, in the sense
/// of least squares: neighbours that want to pass each other move as one block.
void settle(Layout& layout, const std::vector<int>& layer, const std::vector<double>& wishes) {
  struct Block {
    double sum = 0;
    int count = 0;
    double mean() const { return sum / count; }
  };
  std::vector<Block> blocks;
  std::vector<double> offsets;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    offsets.push_back(i == 0 ? 0 : offsets.back() + distance(layout, layer[i - 1], layer[i]));
    blocks.push_back({wishes[i] - offsets[i], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      blocks[blocks.size() - 2].sum += blocks.back().sum;
      blocks[blocks.size() - 2].count += blocks.back().count;
      blocks.pop_back();
    }
  }
  std::size_t i = 0;
  for (const Block& block : blocks) {
    for (int k = 0; k < block.count; ++k, ++i) place(layout, layer[i]).x = block.mean() + offsets[i];
  }
}

/// The places that lead to each place or that it leads to.
std::vector<std::vector<int>> neighbours_of(const Layout& layout) {
  std::vector<std::vector<int>> neighbours(layout.places.size());
  for (std::size_t from = 0; from < layout.places.size(); ++from) {
    for (const int to : layout.places[from].below) {
      neighbours[from].push_back(to);
      neighbours[static_cast<std::size_t>(to)].push_back(static_cast<int>(from));
    }
  }
  return neighbours;
}

/// Each place wishes to stand amid those it has arrows with.
void align(Layout& layout) {
  const auto neighbours = neighbours_of(layout);
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (const auto& layer : layout.layers) {
      std::vector<double> wishes;
      for (const int number : layer) {
        const auto& others = neighbours[static_cast<std::size_t>(number)];
        double sum = 0;
        for (const int other : others) sum += place(layout, other).x;
        wishes.push_back(others.empty() ? place(layout, number).x : sum / static_cast<double>(others.size()));
      }
      settle(layout, layer, wishes);
    }
  }
}

/// Whether a place could stand at x without coming close to its neighbours in the layer.
bool fits(const Layout& layout, int number, double x) {
  const auto is_clear = [&](int other) {
    return std::abs(x - place(layout, other).x) >= distance(layout, number, other) - gap / 2;
  };
  for (const auto& layer : layout.layers) {
    const auto found = std::find(layer.begin(), layer.end(), number);
    if (found == layer.end()) continue;
    return (found == layer.begin() || is_clear(found[-1])) &&
           (found + 1 == layer.end() || is_clear(found[1]));
  }
  return false;
}

/// Where an arrow goes by several layers, it does so in one straight line if there is room for it.
void straighten(Layout& layout) {
  const auto goes_by = [&](int number) { return place(layout, number).room < 0; };
  const int count = static_cast<int>(layout.places.size());
  for (int first = 0, last = 0; first < count; first = last + 1) {
    last = first;
    if (!goes_by(first)) continue;
    // places_of puts the ways of an arrow one behind the other.
    double sum = place(layout, first).x;
    for (; goes_by(place(layout, last).below.front()); ++last) sum += place(layout, last + 1).x;
    const double x = std::round(sum / (last - first + 1));
    bool room = true;
    for (int way = first; way <= last; ++way) room = room && fits(layout, way, x);
    for (int way = first; room && way <= last; ++way) place(layout, way).x = x;
  }
}

}  // namespace

Layout layout_of(const House& house, const std::vector<double>& widths) {
  Layout layout = places_of(house, widths);
  order(layout);
  align(layout);
  for (Place& one : layout.places) one.x = std::round(one.x);
  straighten(layout);
  return layout;
}

}  // namespace heed::lint::house
