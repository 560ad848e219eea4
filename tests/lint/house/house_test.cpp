// The drawing shows the rooms and arrows that are there, in layers, and is the one in docs/figures.
#include <algorithm>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include <heed/tests/lint/house/drawing.h>
#include <heed/tests/lint/house/layout.h>
#include <heed/tests/lint/house/rooms.h>

namespace {

using namespace heed::lint;
using namespace heed::lint::house;

SourceFile file(const std::string& path, const std::vector<std::string>& targets) {
  std::string text;
  for (const auto& target : targets) text += "#include <heed/" + target + ">\n";
  return {path, text};
}

/// Two towers on core and a long arrow past both.
Tree small_house() {
  return {file("core/a.h", {}),
          file("ops/a.h", {"core/a.h", "ops/attention/a.h"}),
          file("ops/attention/a.h", {"ops/kernels/a.h"}),
          file("ops/kernels/a.h", {}),
          file("nn/a.h", {"ops/a.h", "core/a.h"}),
          file("io/a.h", {"core/a.h"}),
          file("check/a.h", {"nn/a.h", "numeric/a.h"}),
          file("numeric/a.h", {}),
          file("train/a.h", {"check/a.h", "io/a.h"}),
          file("app/a.cpp", {"train/a.h"}),
          file("examples/a/a.cpp", {"train/a.h"}),
          file("tests/a.cpp", {"train/a.h"})};
}

Layout layout_of_small_house(const House& house) {
  return layout_of(house, std::vector<double>(house.rooms.size(), 100.0));
}

/// The layer of the room of that name, counted from the lowest, and its place.
std::pair<std::size_t, Place> find_room(const House& house, const Layout& layout, const std::string& name) {
  for (std::size_t level = 0; level < layout.layers.size(); ++level) {
    for (const int at : layout.layers[level]) {
      const Place& place = layout.places[static_cast<std::size_t>(at)];
      if (place.room >= 0 && house.rooms[static_cast<std::size_t>(place.room)].name == name)
        return {level, place};
    }
  }
  FAIL("no room " << name);
  return {};
}

bool has_arrow(const IncludeGraph& arrows, const std::string& from, const std::string& to) {
  return arrows.count(from) == 1 && arrows.at(from).count(to) == 1;
}

TEST_CASE("the house has its rooms and the arrows that no other imply", "[lint]") {
  const House house = house_of(small_house());
  std::vector<std::string> names;
  for (const Room& room : house.rooms) names.push_back(room.name);
  std::sort(names.begin(), names.end());
  CHECK(names ==
        std::vector<std::string>{"check", "core", "io", "nn", "numeric", "ops", "programs", "train"});
  const auto ops =
      std::find_if(house.rooms.begin(), house.rooms.end(), [](const Room& r) { return r.name == "ops"; });
  CHECK(ops->files == 3);
  CHECK(ops->lines == 3);
  REQUIRE(ops->inner.size() == 2);
  CHECK(ops->inner[0].name == "ops/attention");
  CHECK(ops->inner[1].files == 1);
  CHECK(house.inner_arrows.count({"ops/attention", "ops/kernels"}) == 1);
  CHECK(has_arrow(house.arrows, "nn", "ops"));
  CHECK_FALSE(has_arrow(house.arrows, "nn", "core"));
  CHECK(has_arrow(house.arrows, "programs", "train"));
}

TEST_CASE("rooms stand above what they include, apart from each other", "[lint]") {
  const House house = house_of(small_house());
  const Layout layout = layout_of_small_house(house);
  const auto level = [&](const std::string& name) { return find_room(house, layout, name).first; };
  CHECK(level("core") == 0);
  CHECK(level("ops") == 1);
  CHECK(level("io") == 1);
  CHECK(level("nn") == 2);
  CHECK(level("check") == 3);
  CHECK(level("train") == 4);
  for (const auto& layer : layout.layers) {
    for (std::size_t i = 1; i < layer.size(); ++i) {
      const Place& left = layout.places[static_cast<std::size_t>(layer[i - 1])];
      const Place& right = layout.places[static_cast<std::size_t>(layer[i])];
      CHECK(right.x - left.x >= (left.width + right.width) / 2 + 10);
    }
  }
}

TEST_CASE("no arrow crosses another where none need", "[lint]") {
  const House house = house_of(small_house());
  const Layout layout = layout_of_small_house(house);
  int crossings = 0;
  for (const auto& layer : layout.layers) {
    std::vector<std::pair<double, double>> arrows;
    for (const int from : layer) {
      const Place& place = layout.places[static_cast<std::size_t>(from)];
      for (const int to : place.below)
        arrows.emplace_back(place.x, layout.places[static_cast<std::size_t>(to)].x);
    }
    for (const auto& a : arrows) {
      for (const auto& b : arrows) crossings += a.first < b.first && a.second > b.second;
    }
  }
  CHECK(crossings == 0);
}

TEST_CASE("counts alone may differ between a drawing and the next", "[lint]") {
  Tree tree = small_house();
  const auto first = drawing_of(tree);
  CHECK(first.find("data-from=\"nn\" data-to=\"ops\"") != std::string::npos);
  CHECK(first.find("data-from=\"nn\" data-to=\"core\"") == std::string::npos);
  CHECK(drawing_of(tree) == first);
  tree[0].text += "int more;\n";
  CHECK(drawing_of(tree) != first);
  CHECK(without_counts(drawing_of(tree)) == without_counts(first));
  tree[5].text += "#include <heed/ops/a.h>\n";
  CHECK(without_counts(drawing_of(tree)) != without_counts(first));
}

TEST_CASE("the drawing in docs/figures is the house of today: else run ./dev house", "[lint]") {
  std::ostringstream kept;
  kept << std::ifstream(HEED_SOURCE_DIR "/docs/figures/house.svg").rdbuf();
  const auto now = drawing_of(read_tree(HEED_SOURCE_DIR));
  CHECK(without_counts(kept.str()) == without_counts(now));
}

TEST_CASE("every room of the drawing says what it holds", "[lint]") {
  const auto check = [](const Room& room) {
    INFO(room.name);
    CHECK_FALSE(room.words.empty());
  };
  for (const Room& room : house_of(read_tree(HEED_SOURCE_DIR)).rooms) {
    check(room);
    for (const Room& inner : room.inner) check(inner);
  }
}

}  // namespace
