#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/ops/multinomial.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

double uniform(std::uint64_t seed, std::size_t index) {
  return uniform_from_bits<double>(random_bits({seed, 0}, index));
}

/// Walks along the row until the sum passes the point.
Array drawn_one_by_one(const std::vector<Array>& in, std::int64_t count) {
  Array y{{in[0].shape[0], count}, {}};
  const auto size = static_cast<std::size_t>(in[0].shape[1]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(y.shape[0] * count); ++i) {
    const double* p = in[0].values.data() + i / static_cast<std::size_t>(count) * size;
    double point = uniform(5, i) * std::accumulate(p, p + size, 0.0);
    std::size_t j = 0;
    while (point >= p[j]) point -= p[j++];
    y.values.push_back(static_cast<double>(j));
  }
  return y;
}

/// The smallest of −log(1 − u) / p, the first one first.
Array first_to_come(const std::vector<Array>& in, std::int64_t count) {
  Array y{{in[0].shape[0], count}, {}};
  const auto size = static_cast<std::size_t>(in[0].shape[1]);
  for (std::size_t r = 0; r < static_cast<std::size_t>(y.shape[0]); ++r) {
    std::map<double, std::size_t> times;
    for (std::size_t j = 0; j < size; ++j) {
      times[-std::log(1 - uniform(5, r * size + j)) / in[0].values[r * size + j]] = j;
    }
    auto next = times.begin();
    for (std::int64_t i = 0; i < count; ++i) y.values.push_back(static_cast<double>((next++)->second));
  }
  return y;
}

OpCase draws(std::string name, std::int64_t count, bool replacement, Reference reference) {
  return {.op = "multinomial",
          .name = std::move(name),
          .inputs = {{{2, 4}, 0, 0, {0.5, 1, 0, 2.5, 3, 0.25, 0.75, 1}}},
          .function = unary([=](const Tensor& p) {
            Generator generator(5);
            return multinomial(p, count, generator, replacement);
          }),
          .reference = std::move(reference),
          .differentiable = false};
}

ErrorCase refused(std::string name, const std::vector<double>& p, std::int64_t count, std::string message) {
  return throws<ValueError>(
      "multinomial", std::move(name),
      [=] {
        Generator generator(1);
        multinomial(tensor(p), count, generator);
      },
      "multinomial: " + message);
}

const double infinity = std::numeric_limits<double>::infinity();

const Registration registration(
    {draws("with replacement", 7, true, [](const std::vector<Array>& in) { return drawn_one_by_one(in, 7); }),
     draws("without replacement", 3, false,
           [](const std::vector<Array>& in) { return first_to_come(in, 3); })},
    {refused("negative", {1, -0.5}, 1,
             "a probability is negative or not finite, that of 1 in row 0 is -0.5; expected 0 or more"),
     refused("NaN", {-std::nan(""), 1}, 1,
             "a probability is negative or not finite, that of 0 in row 0 is nan; expected 0 or more"),
     refused("infinite", {infinity, 1}, 1,
             "a probability is negative or not finite, that of 0 in row 0 is inf; expected 0 or more"),
     refused("zeros", {0, 0}, 1,
             "there is nothing to draw, row 0 has no positive probability; expected a sum above 0"),
     refused("count", {1, 1}, -1, "bad count, count is -1; expected 0 or more"),
     refused("too many", {1, 0, 1}, 3,
             "count is too large without replacement, count is 3 and row 0 has 2 positive probabilities; "
             "expected at "
             "most that many"),
     throws<DTypeError>(
         "multinomial", "dtype",
         [] {
           Generator generator(1);
           multinomial(ones({2}, DType::i64), 1, generator);
         },
         "multinomial: dtype not supported, probabilities is i64[2]; expected f32 or f64")});

/// Whether `hits` of n draws of probability p are within five standard deviations of what is expected.
void check_frequency(std::int64_t hits, std::int64_t n, double p) {
  const auto draws = static_cast<double>(n);
  CHECK(std::fabs(static_cast<double>(hits) - draws * p) <= 5 * std::sqrt(draws * p * (1 - p)));
}

}  // namespace

TEST_CASE("with replacement: frequencies are the probabilities over their sum", "[fault-48]") {
  const std::int64_t n = 100000;
  // Sums of every size: the largest is above what f64 holds, the smallest of subnormal numbers.
  for (const double unit : {1.0, 1e-3, 4e307, 5e-324}) {
    CAPTURE(unit);
    Generator generator(11);
    const std::vector<double> p = {1, 0, 4, 2, 3, 0};
    std::vector<double> scaled;
    for (const double v : p) scaled.push_back(v * unit);
    std::map<std::int64_t, std::int64_t> hits;
    for (const auto j : multinomial(tensor(scaled), n, generator, true).to_vector<std::int64_t>()) ++hits[j];
    for (std::size_t j = 0; j < p.size(); ++j)
      check_frequency(hits[static_cast<std::int64_t>(j)], n, p[j] / 10);
  }
}

TEST_CASE("without replacement: ordered pairs have the probability p_i p_j / (1 − p_i)", "[fault-48]") {
  const std::int64_t n = 100000;
  const std::vector<double> p = {0.1, 0.4, 0.2, 0.3};
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(n), p);
  for (auto& row : rows) {
    for (double& v : row) v *= 6;  // the sum need not be 1
  }
  Generator generator(12);
  const auto drawn = multinomial(tensor(rows), 2, generator).to_vector<std::int64_t>();
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> hits;
  for (std::size_t r = 0; r < drawn.size(); r += 2) ++hits[{drawn[r], drawn[r + 1]}];
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      CAPTURE(i, j);
      const double first = p[static_cast<std::size_t>(i)];
      const double pair = i == j ? 0 : first * p[static_cast<std::size_t>(j)] / (1 - first);
      check_frequency(hits[{i, j}], n, pair);
    }
  }
}

TEST_CASE("all of a row without replacement is an order of its positive probabilities", "[fault-48]") {
  Generator generator(3);
  const Tensor p = tensor({1e-300, 0.0, 1e300, 5e-324, 1.0});
  const auto drawn = multinomial(p, 4, generator).to_vector<std::int64_t>();
  CHECK(std::set<std::int64_t>(drawn.begin(), drawn.end()) == std::set<std::int64_t>{0, 2, 3, 4});
  CHECK(drawn[0] == 2);
}

TEST_CASE("a stream goes on where it was, and drawing nothing leaves it there", "[fault-48]") {
  const Tensor p = tensor({1.0f, 2.0f, 3.0f});
  Generator generator(7);
  CHECK(multinomial(p, 0, generator).shape() == Shape{0});
  CHECK(multinomial(zeros({0, 3}), 2, generator).shape() == Shape{0, 2});
  CHECK(generator.state().offset == 0);
  const auto first = multinomial(p, 50, generator, true).to_vector<std::int64_t>();
  CHECK(multinomial(p, 50, generator, true).to_vector<std::int64_t>() != first);
  generator.set_state({7, 0});
  CHECK(multinomial(p, 50, generator, true).to_vector<std::int64_t>() == first);
  CHECK(multinomial(ones({2, 3, 4}), 2, generator).shape() == Shape{2, 3, 2});
}
