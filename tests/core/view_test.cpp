#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/strided_loop.h>
#include <heed/core/view.h>

#include "../support/index_map.h"

using namespace heed;
using namespace heed::test;
using Catch::Matchers::Message;

namespace {

constexpr std::int64_t max64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t min64 = std::numeric_limits<std::int64_t>::min();

std::vector<std::int64_t> places_by_formula(const View& view) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < view.numel; ++i) {
    const auto index = unravel(i, view.shape);
    std::int64_t at = view.offset;
    for (int k = 0; k < view.shape.rank(); ++k) at += index[static_cast<std::size_t>(k)] * view.strides[k];
    places.push_back(at);
  }
  return places;
}

std::vector<std::int64_t> places_by_loop(const View& view) {
  std::vector<std::int64_t> places;
  const StridedLoop<1> loop({&view});
  loop.run(0, loop.numel(), [&](const auto& at, const auto& step, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) places.push_back(at[0] + i * step[0]);
  });
  return places;
}

class Fuzzer {
 public:
  explicit Fuzzer(unsigned seed) : random_(seed) {
    Shape shape;
    const auto rank = pick(0, 4);
    for (std::int64_t k = 0; k < rank; ++k) shape.push_back(pick(0, 9) == 0 ? 0 : pick(1, 4));
    view_ = contiguous_view(shape);
    map_ = {shape, std::vector<std::int64_t>(static_cast<std::size_t>(view_.numel))};
    std::iota(map_.places.begin(), map_.places.end(), std::int64_t{0});
  }

  void step() {
    switch (pick(0, 6)) {
      case 0:
        return expand();
      case 1:
        return permute();
      case 2:
        return slice();
      case 3:
        return select();
      case 4:
        return unsqueeze();
      case 5:
        return squeeze();
      default:
        return reshape();
    }
  }

  void check() const {
    INFO("after " << trace_);
    REQUIRE(view_.shape == map_.shape);
    REQUIRE(view_.numel == element_count(view_.shape));
    REQUIRE(places_by_formula(view_) == map_.places);
    REQUIRE(places_by_loop(view_) == map_.places);
    std::vector<std::int64_t> dense(map_.places.size());
    std::iota(dense.begin(), dense.end(), view_.offset);
    REQUIRE(is_contiguous(view_) == (map_.places == dense));
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  int rank() const { return view_.shape.rank(); }

  void expand() {
    Shape to = map_.shape;
    for (int k = 0; k < rank(); ++k) {
      if (to[k] == 1) to[k] = pick(0, 3);
    }
    if (rank() < 6 && pick(0, 1) == 1) to.insert(0, pick(1, 3));
    if (element_count(to) > 600) return;
    trace_ += " expand " + to.str();
    view_ = expand_view("test", view_, to);
    const Shape from = map_.shape;
    const auto shift = to.rank() - from.rank();
    map_ = gather(map_, to, [&](std::vector<std::int64_t> index) {
      index.erase(index.begin(), index.begin() + shift);
      for (int k = 0; k < from.rank(); ++k) index[static_cast<std::size_t>(k)] %= from[k];
      return index;
    });
  }

  void permute() {
    std::vector<std::int64_t> axes(static_cast<std::size_t>(rank()));
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
    std::shuffle(axes.begin(), axes.end(), random_);
    Shape to = map_.shape;
    for (int k = 0; k < rank(); ++k) to[k] = map_.shape[static_cast<int>(axes[static_cast<std::size_t>(k)])];
    trace_ += " permute " + Shape(std::span<const std::int64_t>(axes)).str();
    map_ = gather(map_, to, [&](const std::vector<std::int64_t>& index) {
      std::vector<std::int64_t> source(index.size());
      for (std::size_t k = 0; k < index.size(); ++k) source[static_cast<std::size_t>(axes[k])] = index[k];
      return source;
    });
    for (auto& axis : axes) axis -= pick(0, 1) * rank();
    view_ = permute_view("test", view_, Shape(std::span<const std::int64_t>(axes)));
  }

  void slice() {
    if (rank() == 0) return;
    const int k = static_cast<int>(pick(0, rank() - 1));
    const auto end = [&]() -> std::optional<std::int64_t> {
      if (pick(0, 3) == 0) return {};
      return pick(-6, 6);
    };
    const auto start = end();
    const auto stop = end();
    std::int64_t step = pick(-3, 3);
    if (step == 0) step = 7;
    trace_ += " slice axis " + std::to_string(k) + " from " + (start ? std::to_string(*start) : "-") +
              " to " + (stop ? std::to_string(*stop) : "-") + " by " + std::to_string(step);
    const auto taken = sliced(map_.shape[k], start, stop, step);
    Shape to = map_.shape;
    to[k] = static_cast<std::int64_t>(taken.size());
    view_ = slice_view("test", view_, k - pick(0, 1) * rank(), start, stop, step);
    map_ = gather(map_, to, [&](std::vector<std::int64_t> index) {
      auto& i = index[static_cast<std::size_t>(k)];
      i = taken[static_cast<std::size_t>(i)];
      return index;
    });
  }

  void select() {
    if (rank() == 0) return;
    const int k = static_cast<int>(pick(0, rank() - 1));
    const std::int64_t n = map_.shape[k];
    if (n == 0) return;
    const std::int64_t i = pick(0, n - 1);
    trace_ += " select axis " + std::to_string(k) + " at " + std::to_string(i);
    Shape to = map_.shape;
    to.erase(k);
    view_ = select_view("test", view_, k, i - pick(0, 1) * n);
    map_ = gather(map_, to, [&](std::vector<std::int64_t> index) {
      index.insert(index.begin() + k, i);
      return index;
    });
  }

  void unsqueeze() {
    if (rank() >= 7) return;
    const int k = static_cast<int>(pick(0, rank()));
    trace_ += " unsqueeze " + std::to_string(k);
    view_ = unsqueeze_view("test", view_, k - pick(0, 1) * (rank() + 1));
    map_.shape.insert(k, 1);
  }

  void squeeze() {
    for (int k = 0; k < rank(); ++k) {
      if (map_.shape[k] != 1) continue;
      trace_ += " squeeze " + std::to_string(k);
      view_ = squeeze_view("test", view_, k);
      map_.shape.erase(k);
      return;
    }
  }

  // A random shape of as many elements: prime factors dealt to random axes.
  void reshape() {
    std::int64_t rest = view_.numel;
    Shape to = Shape::filled(static_cast<int>(pick(rest == 1 ? 0 : 1, 5)), 1);
    if (rest == 0) to[0] = 0;
    for (std::int64_t p = 2; rest > 1; ++p) {
      for (; rest % p == 0; rest /= p) to[static_cast<int>(pick(0, to.rank() - 1))] *= p;
    }
    trace_ += " reshape " + to.str();
    const std::optional<View> view = reshape_view(view_, to);
    if (view) {
      view_ = *view;
      map_.shape = to;
    } else {
      trace_ += " (needs a copy)";
      REQUIRE_FALSE(is_contiguous(view_));
      REQUIRE_FALSE(expressible(map_.places, to));
    }
  }

  // Whether any strides give these places under this shape.
  static bool expressible(const std::vector<std::int64_t>& places, const Shape& shape) {
    View view{shape, Strides::filled(shape.rank(), 0), places.at(0),
              static_cast<std::int64_t>(places.size())};
    const Strides dense = contiguous_strides(shape);
    for (int k = 0; k < shape.rank(); ++k) {
      if (shape[k] > 1) view.strides[k] = places.at(static_cast<std::size_t>(dense[k])) - places[0];
    }
    return places_by_formula(view) == places;
  }

  std::mt19937 random_;
  View view_;
  IndexMap map_;
  std::string trace_;
};

}  // namespace

TEST_CASE("chains of views agree with maps of indices", "[view]") {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Fuzzer fuzzer(seed);
    fuzzer.check();
    for (int i = 0; i < 8; ++i) {
      fuzzer.step();
      fuzzer.check();
    }
  }
}

TEST_CASE("a view of more than 2^31 elements", "[view]") {
  const View one = contiguous_view({1, 1});
  const View all = expand_view("expand", one, {50000, 42950});
  CHECK(all.numel == 2147500000);
  const View last = slice_view("slice", all, 0, -1, std::nullopt, 1);
  CHECK(last.shape == Shape{1, 42950});
  CHECK(last.offset == 0);
  CHECK(last.numel == 42950);
  const std::optional<View> flat = reshape_view(all, {2147500000});
  REQUIRE(flat.has_value());
  CHECK(flat->strides == Strides{0});
  std::int64_t seen = 0;
  StridedLoop<1>({&all}).run(2147499990, all.numel,
                             [&](const auto& at, const auto&, std::int64_t count) { seen += count + at[0]; });
  CHECK(seen == 10);
  CHECK_THROWS_AS(expand_view("expand", one, {std::int64_t{1} << 32, std::int64_t{1} << 32}), ShapeError);
}

TEST_CASE("offsets beyond 2^31", "[view]") {
  const View view = contiguous_view({50000, 42950});
  const View last = select_view("select", view, 0, -1);
  CHECK(last.offset == std::int64_t{49999} * 42950);
  CHECK(permute_view("permute", view, {1, 0}).strides == Strides{1, 42950});
}

TEST_CASE("slices take numbers of any size", "[view]") {
  const View view = contiguous_view({5});
  for (const std::int64_t step : {max64, min64, min64 + 1}) {
    const View one = slice_view("slice", view, 0, std::nullopt, std::nullopt, step);
    CHECK(one.shape == Shape{1});
    CHECK(one.offset == (step > 0 ? 0 : 4));
  }
  CHECK(slice_view("slice", view, 0, min64, max64, 1).shape == Shape{5});
  CHECK(slice_view("slice", view, 0, max64, min64, -1).shape == Shape{5});
  CHECK(slice_view("slice", view, 0, max64, min64, 1).shape == Shape{0});
}

TEST_CASE("slices that pick few elements of a long span", "[view]") {
  const View five = contiguous_view({5});
  const View ends = slice_view("slice", five, 0, std::nullopt, std::nullopt, 4);
  CHECK(places_by_formula(ends) == std::vector<std::int64_t>{0, 4});
  const View three = contiguous_view({3});
  CHECK(places_by_formula(slice_view("slice", three, 0, 0, std::nullopt, 3)) == std::vector<std::int64_t>{0});
}

TEST_CASE("a view knows whether indices share elements", "[view]") {
  CHECK(has_broadcast_axis(expand_view("expand", contiguous_view({1, 1}), {3, 4})));
  CHECK_FALSE(has_broadcast_axis(expand_view("expand", contiguous_view({3, 1}), {3, 1})));
  CHECK_FALSE(has_broadcast_axis(expand_view("expand", contiguous_view({1, 0}), {3, 0})));
  CHECK_FALSE(has_broadcast_axis(contiguous_view({3, 4})));
}

TEST_CASE("views without elements are contiguous whatever their strides", "[view]") {
  CHECK(is_contiguous(permute_view("permute", contiguous_view({0, 3}), {1, 0})));
  CHECK(is_contiguous(slice_view("slice", contiguous_view({2, 0, 3}), 2, std::nullopt, std::nullopt, 2)));
}

TEST_CASE("resolve_reshape", "[view]") {
  CHECK(resolve_reshape("reshape", {2, 6}, {3, -1}) == Shape{3, 4});
  CHECK(resolve_reshape("reshape", {}, {1, -1}) == Shape{1, 1});
  CHECK(resolve_reshape("reshape", {0, 3}, {-1, 3}) == Shape{0, 3});
  const char* message =
      "reshape: element counts differ, x is [2, 6] and the shape is [5, -1]; expected 12 elements, at most "
      "one size of -1";
  CHECK_THROWS_MATCHES(resolve_reshape("reshape", {2, 6}, {5, -1}), ShapeError, Message(message));
  CHECK_THROWS_AS(resolve_reshape("reshape", {2, 6}, {-1, -1}), ShapeError);
  CHECK_THROWS_AS(resolve_reshape("reshape", {2, 6}, {-2, -6}), ShapeError);
  CHECK_THROWS_AS(resolve_reshape("reshape", {2, 6}, {3, 3}), ShapeError);
  CHECK_THROWS_AS(resolve_reshape("reshape", {0}, {0, -1}), ShapeError);
  CHECK_THROWS_AS(resolve_reshape("reshape", {2}, {max64, max64, -1}), ShapeError);
}

TEST_CASE("errors of views name the operation and what was given", "[view]") {
  const View view = contiguous_view({2, 3});
  CHECK_THROWS_MATCHES(expand_view("expand", view, {4, 3}), ShapeError,
                       Message("expand: cannot expand, x is [2, 3] and the shape is [4, 3]; expected sizes "
                               "equal or 1, aligned at the last axis"));
  CHECK_THROWS_MATCHES(
      permute_view("permute", view, {0, 0}), ShapeError,
      Message("permute: axes are no permutation, axes are [0, 0] and x is [2, 3]; expected each axis of x "
              "once"));
  CHECK_THROWS_AS(permute_view("permute", view, {0}), ShapeError);
  CHECK_THROWS_AS(permute_view("permute", view, {0, 2}), IndexError);
  CHECK_THROWS_MATCHES(slice_view("slice", view, 0, 0, 1, 0), ValueError,
                       Message("slice: step is 0; expected a step other than 0"));
  CHECK_THROWS_MATCHES(slice_view("slice", contiguous_view({}), 0, 0, 1, 1), ShapeError,
                       Message("slice: x has no axis to slice, x is []; expected one axis or more"));
  CHECK_THROWS_MATCHES(
      select_view("select", view, 1, 3), IndexError,
      Message("select: index out of range, index is 3 on axis 1 of [2, 3]; expected -3 <= index < 3"));
  CHECK_THROWS_AS(select_view("select", view, 1, min64), IndexError);
  CHECK_THROWS_AS(select_view("select", contiguous_view({}), 0, 0), IndexError);
  CHECK_THROWS_MATCHES(squeeze_view("squeeze", view, 0), ShapeError,
                       Message("squeeze: axis is not of size 1, axis 0 of [2, 3]; expected size 1"));
}
