#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/ops/attention/mask/attention_mask.h>
#include <heed/ops/expand.h>
#include <heed/ops/reshape.h>

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

namespace {

// More than 64 bits, for sums of positions.
__extension__ typedef __int128 Wide;

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       most = std::numeric_limits<std::int64_t>::max();

const std::vector<std::int64_t>& ends() {
  constexpr std::int64_t quarter = std::int64_t{1} << 62, half_word = std::int64_t{1} << 31;
  static const std::vector<std::int64_t> all{
      least, least + 1, -quarter - 1, -half_word,    -2,      -1,       0,   1,
      2,     3,         half_word,    half_word + 1, quarter, most - 1, most};
  return all;
}

// A mask of positions by its definition, [queries, keys].
std::vector<bool> by_definition(std::int64_t queries, std::int64_t keys, std::int64_t start, bool causal,
                                std::int64_t left, std::int64_t right) {
  std::vector<bool> open;
  for (std::int64_t i = 0; i < queries; ++i) {
    const Wide p = Wide{start} + i;
    for (std::int64_t j = 0; j < keys; ++j) {
      open.push_back((!causal || j <= p) && (left < 0 || j >= p - left) && (right < 0 || j <= p + right));
    }
  }
  return open;
}

}  // namespace

TEST_CASE("positions and windows are integers of any size", "[fault-16]") {
  const Shape scores{1, 1, 3, 4};
  for (const std::int64_t start : ends()) {
    for (const std::int64_t left : ends()) {
      for (const std::int64_t right : ends()) {
        CAPTURE(start, left, right);
        if (left < -1 || right < -1) {
          CHECK_THROWS_AS(AttentionMask::window(left, right), ValueError);
          continue;
        }
        const AttentionMask window = AttentionMask::window(left, right);
        const auto expected = by_definition(3, 4, start, false, left, right);
        REQUIRE(open(window.query_start(start), scores) == expected);
        REQUIRE(open(window.query_start(tensor<std::int64_t>({start})), scores) == expected);
        std::string picture;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          picture += expected[i] ? '#' : '.';
          if (i % 4 == 3) picture += '\n';
        }
        REQUIRE(window.query_start(start).picture(scores) == picture);
      }
    }
    REQUIRE(open(AttentionMask::causal().query_start(start), scores) ==
            by_definition(3, 4, start, true, -1, -1));
  }
  for (const std::int64_t start : ends()) {  // a slope of 1: the distance itself, to the rounding of f64
    const AttentionMask mask = AttentionMask::alibi(tensor({1.0})).query_start(start);
    const auto added = expand(mask.additive(scores, DType::f64), scores).to_vector<double>();
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 4; ++j) {
        const double distance = std::abs(static_cast<double>(Wide{start} + i - j));
        REQUIRE(added[static_cast<std::size_t>(i * 4 + j)] == Approx(-distance).epsilon(1e-15));
      }
    }
  }
}

TEST_CASE("windows without an end on one side", "[fault-16]") {
  const Shape square{1, 1, 4, 4};
  const std::vector<bool> all(16, true);
  for (const std::int64_t w : {most - 3, most - 2, most - 1, most}) {
    CHECK(open(AttentionMask::window(w, w), square) == all);
    CHECK(open(AttentionMask::window(-1, w), square) == all);
    CHECK(open(AttentionMask::window(0, w), square) ==
          bits({1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1}));
  }
  CHECK(open(AttentionMask::causal().query_start(most), square) == all);
  CHECK(open(AttentionMask::causal().query_start(least), square) == std::vector<bool>(16, false));
}

TEST_CASE("causality and windows with short key lengths ask where the queries stand",
          "[fault-20][fault-45]") {
  const Shape scores{2, 1, 4, 4};
  const AttentionMask lengths = AttentionMask::key_lengths(tensor<std::int64_t>({4, 2}));
  for (const AttentionMask& placed :
       {AttentionMask::causal(), AttentionMask::window(1, -1), AttentionMask::window(-1, 0)}) {
    CHECK_THROWS_WITH((placed & lengths).check("attention", scores, DType::f32),
                      "attention: a key length is below the number of queries, and nothing says where they "
                      "start, the length is 2 and Tq is 4; expected mask.query_start(0) for texts padded at "
                      "their end, or mask.query_start(lengths - 4) for the newest tokens of a cache");
    CHECK_THROWS_AS((placed & lengths).picture(scores), ValueError);
    CHECK_NOTHROW((placed & lengths).query_start(0).check("attention", scores, DType::f32));
    CHECK_NOTHROW(
        (placed & lengths).query_start(tensor<std::int64_t>({0, -2})).check("attention", scores, DType::f32));
    CHECK_NOTHROW((placed & lengths).check("attention", {2, 1, 2, 4}, DType::f32));
  }
  CHECK_NOTHROW(lengths.check("attention", scores, DType::f32));
  CHECK_NOTHROW((AttentionMask::window(-1, -1) & lengths).check("attention", scores, DType::f32));
}

TEST_CASE("key lengths, starts and documents are i32 or i64, and lengths count keys", "[fault-48]") {
  const Shape scores{2, 1, 2, 3};
  const Tensor narrow = tensor({2, 3});
  REQUIRE(narrow.dtype() == DType::i32);
  const AttentionMask lengths = AttentionMask::key_lengths(narrow) & AttentionMask::causal();
  CHECK(lengths.picture(scores, 0) == "#..\n##.\n");
  CHECK(lengths.query_start(tensor({0, 1})).picture(scores, 1) == "##.\n###\n");
  CHECK(
      lengths.explain(scores, 0, 0, 0, 2) ==
      "query 0 at position 0 may not attend key 2: causal (2 > 0) and key length (2 of sample 0) closes it");
  CHECK(AttentionMask::documents(tensor({5, 5, 6})).picture({3, 3}) == "##.\n##.\n..#\n");
  CHECK_THROWS_AS(AttentionMask::key_lengths(tensor({2.0, 3.0})), DTypeError);
  for (const std::int64_t length : {least, std::int64_t{-1}, std::int64_t{4}, most}) {
    CAPTURE(length);
    const AttentionMask wrong = AttentionMask::key_lengths(tensor<std::int64_t>({3, length}));
    CHECK_THROWS_WITH(wrong.check("attention", scores, DType::f32),
                      "attention: bad key length, key length is " + std::to_string(length) +
                          "; expected 0 <= length <= 3, the number of keys");
  }
}

TEST_CASE("a padding mask of samples and keys is not taken for one of queries and keys", "[fault-48]") {
  const Tensor padding = tensor({false, false, true, false, true, true}, {2, 3});
  const std::string expected =
      "; expected key_lengths(lengths) or a mask [2, 1, 1, 3] for padding, [1, 2, 3] for pairs of queries "
      "and "
      "keys";
  CHECK_THROWS_WITH(
      AttentionMask::ignore(padding).check("attention", {2, 4, 2, 3}, DType::f32),
      "attention: rows of a mask may be samples or queries, mask is [2, 3] and logits are [2, 4, "
      "2, 3]" +
          expected);
  const auto samples_alone = [&](const AttentionMask& mask) {
    CHECK_THROWS_WITH(
        mask.check("attention", {2, 4, 3, 3}, DType::f32),
        "attention: a mask has samples for queries, mask is [2, 3] and logits are [2, 4, 3, 3]; "
        "expected key_lengths(lengths) or a mask [2, 1, 1, 3] for padding, [1, 3, 3] for pairs "
        "of queries and keys");
  };
  samples_alone(AttentionMask::ignore(padding));
  samples_alone(AttentionMask::attend(padding));
  // What is said aloud is taken.
  for (const Tensor& explicit_mask : {reshape(padding, {1, 2, 3}), reshape(padding, {2, 1, 1, 3})}) {
    CHECK_NOTHROW(AttentionMask::ignore(explicit_mask).check("attention", {2, 4, 2, 3}, DType::f32));
  }
  CHECK_NOTHROW(AttentionMask::ignore(padding).check("attention", {1, 4, 2, 3}, DType::f32));
  CHECK_NOTHROW(AttentionMask::ignore(padding).check("attention", {5, 4, 2, 3}, DType::f32));
  CHECK_NOTHROW(AttentionMask::attend(padding).check("attention", {2, 4, 2, 3}, DType::f32));
}
