#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/ops/embedding.h>
#include <heed/ops/sum.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

Input indices(Shape shape, std::vector<double> values) {
  return {std::move(shape), 0, 1, std::move(values), DType::i64, false};
}

Array rows(const std::vector<Array>& in) {
  Array y{in[1].shape, {}};
  y.shape.push_back(in[0].shape[1]);
  for (const double index : in[1].values) {
    for (std::int64_t c = 0; c < in[0].shape[1]; ++c) {
      y.values.push_back(
          in[0].values[static_cast<std::size_t>(static_cast<std::int64_t>(index) * in[0].shape[1] + c)]);
    }
  }
  return y;
}

Function lookup() {
  return binary([](const Tensor& w, const Tensor& i) { return embedding(w, i); });
}

const Registration registration(
    {
        {"embedding", "a sequence", {{{4, 3}}, indices({5}, {3, 0, 0, 2, 3})}, lookup(), rows},
        {"embedding", "a batch", {{{4, 3}}, indices({2, 2}, {1, 1, 1, 0})}, lookup(), rows},
        {"embedding", "one token", {{{4, 3}}, indices({}, {2})}, lookup(), rows},
        {"embedding", "nothing", {{{4, 3}}, indices({2, 0}, {})}, lookup(), rows},
    },
    {
        throws<IndexError>(
            "embedding", "index",
            [] {
              embedding(zeros({4, 3}), tensor({0L, 4L}));
            },
            "embedding: index out of range, index is 4 at position 1; expected 0 <= index < 4"),
        throws<DTypeError>(
            "embedding", "floating indices",
            [] {
              embedding(zeros({4, 3}), zeros({2}));
            },
            "embedding: dtype not supported, index is f32[2]; expected i32 or i64"),
        throws<ValueError>(
            "embedding", "padding index",
            [] {
              embedding(zeros({4, 3}), tensor({0L}), 4);
            },
            "embedding: bad padding_index, padding_index is 4; expected a row of weight"),
    });

}  // namespace

TEST_CASE("token ids outside the table are named before anything is read") {
  for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{-4}, std::int64_t{1} << 31,
                                 std::numeric_limits<std::int64_t>::min()}) {
    CHECK_THROWS_WITH(
        embedding(zeros({4, 3}), tensor({std::int64_t{3}, bad})),
        Catch::Contains("index is " + std::to_string(bad) + " at position 1; expected 0 <= index < 4"));
  }
}

TEST_CASE("the row of the padding index gets no gradient") {
  Tensor weight = ones({3, 2}, DType::f64);
  weight.set_requires_grad();
  const Tensor y = embedding(weight, tensor({1L, 0L, 1L, 2L}), 1);
  CHECK(y.shape() == Shape{4, 2});
  CHECK(grad(sum(y), weight).to_vector<double>() == std::vector<double>{1, 1, 0, 0, 1, 1});
}

TEST_CASE("many tokens of one row add up exactly, with the same bits for any number of threads") {
  constexpr std::int64_t n = 100000;
  Tensor weight = zeros({5, 700});
  weight.set_requires_grad();
  Tensor ids = zeros({n}, DType::i64);
  for (std::int64_t i = 0; i < n; ++i) ids.mutable_data<std::int64_t>()[i] = i % 10 == 0 ? 4 : 1;
  const int threads = num_threads();
  for (const int count : {1, 2, 4}) {
    set_num_threads(count);
    Tensor cotangent = full({n, 700}, 0.1f);
    const Tensor dw = grad(embedding(weight, ids), weight, {.grad_outputs = {cotangent}});
    // Sums in double of the float 0.1, rounded once.
    CHECK(dw.to_vector<float>()[700] == static_cast<float>(90000 * static_cast<double>(0.1f)));
    CHECK(dw.to_vector<float>()[4 * 700 + 699] == static_cast<float>(10000 * static_cast<double>(0.1f)));
    CHECK(dw.to_vector<float>()[0] == 0.0f);
  }
  set_num_threads(threads);
}
