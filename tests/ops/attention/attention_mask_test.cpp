#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/attention/mask/attention_mask.h>
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

TEST_CASE("a mask says in words why a pair is open or closed") {
  const Shape scores{2, 2, 2, 6};
  const AttentionMask causal = AttentionMask::causal();
  REQUIRE(causal.explain(scores, 0, 0, 0, 5) ==
          "query 0 at position 4 may not attend key 5: causal (5 > 4) closes it");
  REQUIRE(causal.explain(scores, 0, 0, 1, 5) ==
          "query 1 at position 5 may attend key 5: causal (5 <= 5) leaves it open");
  REQUIRE(AttentionMask().explain(scores, 0, 0, 0, 5) ==
          "query 0 at position 4 may attend key 5: nothing closes it");
  REQUIRE((causal & AttentionMask::window(2, -1)).explain(scores, 0, 0, 1, 1) ==
          "query 1 at position 5 may not attend key 1: window (keys 3 to any) closes it");
  const AttentionMask lengths = AttentionMask::key_lengths(tensor<std::int64_t>({6, 3}));
  REQUIRE(
      (lengths & causal).explain(scores, 1, 0, 0, 4) ==
      "query 0 at position 1 may not attend key 4: causal (4 > 1) and key length (3 of sample 1) closes it");
  REQUIRE(AttentionMask::attend(tensor({true, false}, {2, 1})).explain(scores, 0, 1, 1, 0) ==
          "query 1 at position 5 may not attend key 0: the boolean mask closes it");
  const Tensor bias = tensor({0.5, -std::numeric_limits<double>::infinity()}, {2, 1});
  REQUIRE(AttentionMask::bias(bias).explain(scores, 0, 0, 1, 2) ==
          "query 1 at position 5 may not attend key 2: a bias of -inf closes it");
  REQUIRE(
      (AttentionMask::bias(bias) & AttentionMask::alibi(tensor({1.0, 0.25}))).explain(scores, 0, 1, 0, 2) ==
      "query 0 at position 4 may attend key 2: nothing closes it; added to its logit: bias 0.5, ALiBi -0.5");
  REQUIRE(AttentionMask::documents(tensor<std::int64_t>({7, 7, 9})).explain({3, 3}, 0, 0, 2, 1) ==
          "query 2 at position 2 may not attend key 1: documents (9 and 7) closes it");
  REQUIRE_THROWS_WITH(causal.explain(scores, 0, 2, 0, 0),
                      "explain: there is no such head, 2; expected 0 <= head < 2");
}

TEST_CASE("a small mask as a picture") {
  REQUIRE(AttentionMask::causal().picture({3, 4}) == "##..\n###.\n####\n");
  REQUIRE((AttentionMask::causal() & AttentionMask::window(1, 0)).picture({1, 1, 3, 3}) == "#..\n##.\n.##\n");
  REQUIRE(
      AttentionMask::bias(tensor({0.0, -std::numeric_limits<double>::infinity()}, {1, 2})).picture({2, 2}) ==
      "+.\n+.\n");
  REQUIRE_THROWS_WITH(AttentionMask().picture({300, 2}),
                      "picture: too large to print, [300, 2]; expected at most 256 queries and keys");
}

TEST_CASE("positions of queries: by key length, by one for each sample") {
  const Shape scores{2, 1, 2, 4};
  const AttentionMask mask =
      AttentionMask::causal() & AttentionMask::key_lengths(tensor<std::int64_t>({4, 3}));
  REQUIRE(mask.picture(scores, 0) == "###.\n####\n");
  REQUIRE(mask.picture(scores, 1) == "##..\n###.\n");
  REQUIRE(AttentionMask::causal().query_start(tensor<std::int64_t>({0, 1})).picture(scores, 1) ==
          "##..\n###.\n");
  REQUIRE(mask.query_start(0).picture(scores, 1) == "#...\n##..\n");
  REQUIRE_THROWS_AS(AttentionMask::causal().query_start(tensor<std::int64_t>({0})).picture(scores),
                    ShapeError);
}
