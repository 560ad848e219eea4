#include <atomic>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/strided_loop.h>

using namespace heed;

namespace {

using Places = std::vector<std::array<std::int64_t, 2>>;

Places by_formula(const View& a, const View& b) {
  Places places;
  for (std::int64_t i = 0; i < a.numel; ++i) {
    std::array<std::int64_t, 2> at{a.offset, b.offset};
    std::int64_t rest = i;
    for (int k = a.shape.rank() - 1; k >= 0; --k) {
      at[0] += rest % a.shape[k] * a.strides[k];
      at[1] += rest % a.shape[k] * b.strides[k];
      rest /= a.shape[k];
    }
    places.push_back(at);
  }
  return places;
}

template <class Loop>
void walk(const Loop& loop, std::int64_t begin, std::int64_t end, Places& places) {
  loop.run(begin, end, [&](const auto& at, const auto& step, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) places.push_back({at[0] + i * step[0], at[1] + i * step[1]});
  });
}

View random_view(const Shape& shape, std::mt19937& random) {
  View view = contiguous_view(shape);
  view.offset = static_cast<std::int64_t>(random() % 50);
  if (random() % 3 == 0) return view;
  for (int k = 0; k < shape.rank(); ++k) {
    if (random() % 2 == 0) view.strides[k] = static_cast<std::int64_t>(random() % 9) - 4;
  }
  return view;
}

}  // namespace

TEST_CASE("two tensors are walked together, in one go or in pieces", "[strided_loop]") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Shape shape;
    const auto rank = static_cast<int>(random() % 9);
    for (int k = 0; k < rank; ++k)
      shape.push_back(static_cast<std::int64_t>(1 + random() % (rank > 5 ? 2 : 4)));
    const View a = random_view(shape, random);
    const View b = random_view(shape, random);
    const StridedLoop<2> loop({&a, &b});
    REQUIRE(loop.numel() == a.numel);
    const Places wanted = by_formula(a, b);
    Places whole;
    walk(loop, 0, loop.numel(), whole);
    REQUIRE(whole == wanted);
    Places pieces;
    for (std::int64_t at = 0; at < loop.numel();) {
      const auto next = std::min(loop.numel(), at + 1 + static_cast<std::int64_t>(random() % 7));
      walk(loop, at, next, pieces);
      at = next;
    }
    REQUIRE(pieces == wanted);
  }
}

TEST_CASE("a dense walk is one row, whatever the rank", "[strided_loop]") {
  const View a = contiguous_view({3, 1, 4, 5});
  const View b = contiguous_view({3, 1, 4, 5});
  int rows = 0;
  StridedLoop<2>({&a, &b}).run(0, 60, [&](const auto&, const auto& step, std::int64_t count) {
    ++rows;
    CHECK(count == 60);
    CHECK(step[0] == 1);
  });
  CHECK(rows == 1);
}

TEST_CASE("nothing is visited where there is nothing", "[strided_loop]") {
  const auto never = [](const auto&, const auto&, std::int64_t) { FAIL("visited"); };
  const View none = contiguous_view({2, 0, 3});
  StridedLoop<1>({&none}).run(0, 0, never);
  StridedLoop<1>({&none}).run_parallel(never);
  const View some = contiguous_view({2, 3});
  StridedLoop<1>({&some}).run(4, 4, never);
  StridedLoop<1>({&some}).run(4, 2, never);
  CHECK(StridedLoop<1>({&none}).numel() == 0);
}

TEST_CASE("a tensor without axes has one element", "[strided_loop]") {
  View one = contiguous_view({});
  one.offset = 7;
  Places places;
  walk(StridedLoop<2>({&one, &one}), 0, 1, places);
  CHECK(places == Places{{7, 7}});
}

TEST_CASE("a parallel run visits each element once", "[strided_loop]") {
  const View view = permute_view("permute", contiguous_view({37, 53, 11}), {2, 0, 1});
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(view.numel));
  StridedLoop<1>({&view}).run_parallel(
      [&](const auto& at, const auto& step, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) ++visits[static_cast<std::size_t>(at[0] + i * step[0])];
      },
      100);
  CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& n) { return n == 1; }));
}
