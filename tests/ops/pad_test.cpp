#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/pad.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

Line bordered(const Line& x) {
  Line y{0.5};
  y.insert(y.end(), x.begin(), x.end());
  y.insert(y.end(), {0.5, 0.5});
  return y;
}

// y_i = x_(i − shift)
std::function<Line(const Line&)> rolled(std::size_t shift) {
  return [shift](const Line& x) {
    Line y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[(i + shift) % x.size()] = x[i];
    return y;
  };
}

Line twice(const Line& x) {
  Line y = x;
  y.insert(y.end(), x.begin(), x.end());
  return y;
}

Line each_twice(const Line& x) {
  Line y;
  for (const double v : x) y.insert(y.end(), {v, v});
  return y;
}

const Registration registration(
    {
        {"pad",
         "first axis",
         {{{3, 2}}},
         unary([](const Tensor& x) {
           return pad(x, {1, 0}, {2, 0}, 0.5);
         }),
         along(0, bordered)},
        {"pad",
         "last axis",
         {{{2, 3}}},
         unary([](const Tensor& x) {
           return pad(x, {0, 1}, {0, 2}, 0.5);
         }),
         along(1, bordered)},
        {"pad",
         "nothing",
         {{{0, 2}}},
         unary([](const Tensor& x) {
           return pad(x, {1, 0}, {0, 0});
         }),
         elements({1, 2}, {0, 0})},
        {"roll",
         "forwards",
         {{{2, 5}}},
         unary([](const Tensor& x) { return roll(x, {2}, {1}); }),
         along(1, rolled(2))},
        {"roll",
         "backwards, more than once round",
         {{{5, 2}}},
         unary([](const Tensor& x) { return roll(x, {-6}, {0}); }),
         along(0, rolled(4))},
        {"repeat",
         "last axis",
         {{{2, 3}}},
         unary([](const Tensor& x) {
           return repeat(x, {1, 2});
         }),
         along(1, twice)},
        {"repeat",
         "a new axis",
         {{{2, 3}}},
         unary([](const Tensor& x) {
           return repeat(x, {2, 1, 1});
         }),
         [](const std::vector<Array>& in) {
           return Array{{2, 2, 3}, twice(in[0].values)};
         }},
        {"repeat_interleave",
         "first axis",
         {{{3, 2}}},
         unary([](const Tensor& x) { return repeat_interleave(x, 2, 0); }),
         along(0, each_twice)},
        {"repeat_interleave",
         "no copies",
         {{{3, 2}}},
         unary([](const Tensor& x) { return repeat_interleave(x, 0, 1); }),
         elements({3, 0}, {})},
    },
    {
        throws<ShapeError>(
            "pad", "entries",
            [] {
              pad(zeros({2, 3}), {1}, {0, 0});
            },
            "pad: before has the wrong number of entries, before is [1] and x is [2, 3]; expected one entry "
            "for "
            "each axis"),
        throws<ValueError>(
            "pad", "negative", [] { pad(zeros({2}), {0}, {-1}); },
            "pad: bad after, after is -1; expected no negative entry"),
        throws<ShapeError>(
            "roll", "axes",
            [] {
              roll(zeros({2}), {1, 2}, {0});
            },
            "roll: numbers of shifts and axes differ, shifts are [1, 2] and axes are [0]; expected one shift "
            "for each axis"),
        throws<ShapeError>(
            "repeat", "counts",
            [] {
              repeat(zeros({2, 3}), {2});
            },
            "repeat: fewer counts than axes, counts are [2] and x is [2, 3]; expected one count for each "
            "axis, "
            "or more"),
        throws<ValueError>(
            "repeat_interleave", "count", [] { repeat_interleave(zeros({2}), -1, 0); },
            "repeat_interleave: bad count, count is -1; expected count >= 0"),
    });

}  // namespace

TEST_CASE("pad puts the value on every side") {
  const Tensor y = pad(tensor({1.0, 2.0}, {1, 2}), {1, 1}, {0, 1}, 9);
  CHECK(y.shape() == Shape{2, 4});
  CHECK(y.to_vector<double>() == std::vector<double>{9, 9, 9, 9, 9, 1, 2, 9});
}
