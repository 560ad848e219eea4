#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/gather.h>
#include <heed/ops/sum.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

Input indices(Shape shape, std::vector<double> values) {
  return {std::move(shape), 0, 1, std::move(values), DType::i64, false};
}

std::size_t at(double index) { return static_cast<std::size_t>(index); }

// y[i, j] = x[index[i, j], j]
Array gather_rows(const std::vector<Array>& in) {
  Array y{in[1].shape, {}};
  const auto width = at(static_cast<double>(in[0].shape[1]));
  const auto columns = at(static_cast<double>(in[1].shape[1]));
  for (std::size_t i = 0; i < in[1].values.size(); ++i) {
    y.values.push_back(in[0].values[at(in[1].values[i]) * width + i % columns]);
  }
  return y;
}

// y[i, index[i, j]] = (y[i, index[i, j]] if add) + source[i, j]
Reference scatter_columns(bool add) {
  return [add](const std::vector<Array>& in) {
    Array y = in[0];
    const auto width = at(static_cast<double>(in[0].shape[1]));
    const auto columns = at(static_cast<double>(in[1].shape[1]));
    for (std::size_t i = 0; i < in[1].values.size(); ++i) {
      double& element = y.values[i / columns * width + at(in[1].values[i])];
      element = (add ? element : 0) + in[2].values[i];
    }
    return y;
  };
}

Line take(const Line& x) { return {x[2], x[0], x[2], x[1]}; }

const Registration registration(
    {
        {"gather",
         "rows, more than x has, and fewer columns",
         {{{3, 4}}, indices({4, 2}, {0, 2, 1, 1, 2, 0, 2, 2})},
         binary([](const Tensor& x, const Tensor& i) { return gather(x, 0, i); }),
         gather_rows},
        {"gather",
         "nothing",
         {{{3, 4}}, indices({0, 2}, {})},
         binary([](const Tensor& x, const Tensor& i) { return gather(x, 0, i); }),
         gather_rows},
        {"scatter",
         "columns, each once",
         {{{2, 4}}, indices({2, 2}, {3, 0, 1, 2}), {{2, 2}}},
         ternary([](const Tensor& x, const Tensor& i, const Tensor& s) { return scatter(x, 1, i, s); }),
         scatter_columns(false)},
        {"scatter",
         "the last of several writes stands",
         {{{2, 4}}, indices({2, 3}, {3, 0, 3, 1, 1, 1}), {{2, 3}}},
         ternary([](const Tensor& x, const Tensor& i, const Tensor& s) { return scatter(x, 1, i, s); }),
         scatter_columns(false)},
        {"scatter_add",
         "columns, some twice",
         {{{2, 4}}, indices({2, 3}, {3, 0, 3, 1, 1, 1}), {{2, 3}}},
         ternary([](const Tensor& x, const Tensor& i, const Tensor& s) { return scatter_add(x, -1, i, s); }),
         scatter_columns(true)},
        {"index_select",
         "first axis",
         {{{3, 2, 2}}, indices({4}, {2, 0, 2, 1})},
         binary([](const Tensor& x, const Tensor& i) { return index_select(x, 0, i); }),
         along(0, take)},
        {"index_select",
         "middle axis",
         {{{2, 3, 2}}, indices({4}, {2, 0, 2, 1})},
         binary([](const Tensor& x, const Tensor& i) { return index_select(x, 1, i); }),
         along(1, take)},
        {"index_add",
         "first axis, some rows twice",
         {{{3, 2}}, indices({4}, {2, 0, 2, 2}), {{4, 2}}},
         ternary([](const Tensor& x, const Tensor& i, const Tensor& s) { return index_add(x, 0, i, s); }),
         [](const std::vector<Array>& in) {
           Array y = in[0];
           for (std::size_t k = 0; k < 8; ++k)
             y.values[at(in[1].values[k / 2]) * 2 + k % 2] += in[2].values[k];
           return y;
         }},
        {"index_add",
         "last axis",
         {{{2, 3}}, indices({2}, {1, 1}), {{2, 2}}},
         ternary([](const Tensor& x, const Tensor& i, const Tensor& s) { return index_add(x, -1, i, s); }),
         [](const std::vector<Array>& in) {
           Array y = in[0];
           for (std::size_t k = 0; k < 4; ++k) y.values[k / 2 * 3 + 1] += in[2].values[k];
           return y;
         }},
        {.op = "one_hot",
         .name = "three classes",
         .inputs = {indices({2, 2}, {0, 2, 1, 1})},
         .function = unary([](const Tensor& i) { return one_hot(i, 3); }),
         .reference = elements({2, 2, 3}, {1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0}),
         .differentiable = false},
    },
    {
        throws<IndexError>(
            "gather", "index",
            [] {
              gather(zeros({3}), 0, tensor({0L, 3L}));
            },
            "gather: index out of range, index is 3 at position 1; expected 0 <= index < 3"),
        throws<ShapeError>(
            "gather", "shape",
            [] {
              gather(zeros({3, 2}), 0, zeros({1, 3}, DType::i64));
            },
            "gather: indices do not fit x, indices is [1, 3] and x is [3, 2]; expected the same rank and, "
            "but "
            "along axis 0, no larger sizes"),
        throws<DTypeError>(
            "gather", "dtype of indices", [] { gather(zeros({3}), 0, zeros({2})); },
            "gather: dtype not supported, index is f32[2]; expected i32 or i64"),
        throws<IndexError>(
            "scatter", "index", [] { scatter(zeros({3}), 0, tensor({-1L}), zeros({1})); },
            "scatter: index out of range, index is -1 at position 0; expected 0 <= index < 3"),
        throws<ShapeError>(
            "scatter_add", "source", [] { scatter_add(zeros({3}), 0, tensor({1L}), zeros({2})); },
            "scatter_add: source has the wrong shape, source is [2]; expected [1], the shape of indices"),
        throws<IndexError>(
            "index_select", "index",
            [] {
              index_select(zeros({3, 2}), 1, tensor({2L}));
            },
            "index_select: index out of range, index is 2 at position 0; expected 0 <= index < 2"),
        throws<ShapeError>(
            "index_add", "source",
            [] {
              index_add(zeros({3, 2}), 0, tensor({2L}), zeros({2, 2}));
            },
            "index_add: source has the wrong shape, source is [2, 2]; expected [1, 2], the shape of x with "
            "one "
            "row for each index"),
        throws<IndexError>(
            "one_hot", "index", [] { one_hot(tensor({4L}), 4); },
            "one_hot: index out of range, index is 4 at position 0; expected 0 <= index < 4"),
    });

}  // namespace

TEST_CASE("indices outside their range are named before anything is read") {
  const Tensor x = zeros({4});
  for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{-4}, std::int64_t{1} << 31,
                                 std::numeric_limits<std::int64_t>::min()}) {
    const Tensor indices_of_one = tensor({std::int64_t{3}, bad});
    const std::string wanted = "index is " + std::to_string(bad) + " at position 1; expected 0 <= index < 4";
    CHECK_THROWS_WITH(gather(x, 0, indices_of_one), Catch::Contains(wanted));
    CHECK_THROWS_WITH(index_select(x, 0, indices_of_one), Catch::Contains(wanted));
    CHECK_THROWS_WITH(scatter_add(x, 0, indices_of_one, zeros({2})), Catch::Contains(wanted));
    CHECK_THROWS_WITH(one_hot(indices_of_one, 4), Catch::Contains(wanted));
  }
}

TEST_CASE("32-bit indices work") {
  const Tensor i = tensor({std::int32_t{2}, std::int32_t{0}});
  CHECK(gather(tensor({5.0, 6.0, 7.0}), 0, i).to_vector<double>() == std::vector<double>{7, 5});
}

TEST_CASE("a replaced write gets no gradient") {
  Tensor source = tensor({1.0, 2.0});
  source.set_requires_grad();
  const Tensor y = scatter(zeros({2}, DType::f64), 0, tensor({1L, 1L}), source);
  CHECK(y.to_vector<double>() == std::vector<double>{0, 2});
  CHECK(grad(sum(y), source).to_vector<double>() == std::vector<double>{0, 1});
}
