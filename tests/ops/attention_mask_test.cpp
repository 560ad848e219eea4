#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/attention_mask.h>
#include <heed/ops/expand.h>

using namespace heed;

namespace {

// Rows of 1 and 0.
std::vector<bool> open(const AttentionMask& mask, const Shape& scores) {
  return expand(mask.open_pairs(scores), scores).to_vector<bool>();
}

std::vector<bool> bits(std::initializer_list<bool> values) {
  return std::vector<bool>(values.begin(), values.end());
}

}  // namespace

TEST_CASE("a mask opens what every part opens") {
  const Shape square{1, 1, 3, 3};
  REQUIRE(open(AttentionMask::causal(), square) == bits({1, 0, 0, 1, 1, 0, 1, 1, 1}));
  REQUIRE(open(AttentionMask::window(0, 1), square) == bits({1, 1, 0, 0, 1, 1, 0, 0, 1}));
  REQUIRE(open(AttentionMask::window(1, -1) & AttentionMask::causal(), square) ==
          bits({1, 0, 0, 1, 1, 0, 0, 1, 1}));
  REQUIRE(open(AttentionMask::key_lengths(tensor<std::int64_t>({2})), square) ==
          bits({1, 1, 0, 1, 1, 0, 1, 1, 0}));
  REQUIRE(open(AttentionMask::documents(tensor<std::int64_t>({7, 7, 9})), square) ==
          bits({1, 1, 0, 1, 1, 0, 0, 0, 1}));
  REQUIRE(open(AttentionMask::ignore(tensor({true, false, false})), square) ==
          bits({0, 1, 1, 0, 1, 1, 0, 1, 1}));
}

TEST_CASE("the last query sits on the last key unless a start is given") {
  const Shape wide{1, 1, 2, 4};
  REQUIRE(open(AttentionMask::causal(), wide) == bits({1, 1, 1, 0, 1, 1, 1, 1}));
  REQUIRE(open(AttentionMask::causal().query_start(0), wide) == bits({1, 0, 0, 0, 1, 1, 0, 0}));
  REQUIRE(open(AttentionMask::causal(), {1, 1, 3, 1}) == bits({0, 0, 1}));
}

TEST_CASE("a mask of one key length a sample differs between samples") {
  REQUIRE(open(AttentionMask::key_lengths(tensor<std::int64_t>({1, 2})), {2, 1, 1, 2}) == bits({1, 0, 1, 1}));
}

TEST_CASE("biases and slopes are added, -inf closes") {
  const double inf = std::numeric_limits<double>::infinity();
  const AttentionMask mask = AttentionMask::bias(tensor({1.0, -inf})) & AttentionMask::alibi(tensor({0.5}));
  const Shape scores{1, 1, 2, 2};
  REQUIRE(open(mask, scores) == bits({1, 0, 1, 0}));
  REQUIRE(expand(mask.additive(scores, DType::f64), scores).to_vector<double>() ==
          std::vector<double>{1, -0.5, 0.5, 0});
}

TEST_CASE("parts that do not fit are refused by name") {
  const Shape scores{2, 1, 3, 3};
  REQUIRE_THROWS_WITH(
      AttentionMask::key_lengths(tensor<std::int64_t>({1})).check("attention", scores, DType::f32),
      "attention: key lengths has the wrong shape, key lengths is [1]; expected [2], one length for each "
      "sample");
  REQUIRE_THROWS_WITH(AttentionMask::bias(zeros({3}, DType::f64)).check("attention", scores, DType::f32),
                      "attention: dtype not supported, bias is f64[3]; expected f32");
  REQUIRE_THROWS_AS(AttentionMask::attend(zeros({3})), DTypeError);
  REQUIRE_THROWS_WITH(AttentionMask::window(-2, 0), "window: bad left, left is -2; expected left >= -1");
  REQUIRE_THROWS_AS(AttentionMask::causal().query_start(1) & AttentionMask::causal().query_start(2),
                    ValueError);
}
