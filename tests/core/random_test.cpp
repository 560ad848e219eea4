#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>

using namespace heed;
using Catch::Matchers::Message;

namespace {
using Words = std::array<std::uint32_t, 4>;
constexpr std::uint64_t ones64 = std::numeric_limits<std::uint64_t>::max();
}  // namespace

TEST_CASE("Philox 4x32-10 gives the known answers of its authors", "[random]") {
  CHECK(philox(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(ones64, ones64, ones64) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the bits of an element are a fixed function of seed, offset and index", "[random]") {
  CHECK(random_bits({0, 0}, 0) == 0xe169c58d6627e8d5);
  CHECK(random_bits({0, 0}, 1) == 0x9b00dbd8bc57ac4c);
  std::vector<std::uint64_t> bits;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t offset = 0; offset < 10; ++offset) {
      for (std::uint64_t i = 0; i < 100; ++i) bits.push_back(random_bits({seed, offset}, i));
    }
  }
  std::sort(bits.begin(), bits.end());
  CHECK(std::adjacent_find(bits.begin(), bits.end()) == bits.end());
}

TEST_CASE("uniform numbers lie in [0, 1) for the extreme bits", "[random]") {
  CHECK(uniform_from_bits<float>(0) == 0.0f);
  CHECK(uniform_from_bits<double>(0) == 0.0);
  CHECK(uniform_from_bits<float>(ones64) == std::nextafter(1.0f, 0.0f));
  CHECK(uniform_from_bits<double>(ones64) == std::nextafter(1.0, 0.0));
}

TEST_CASE("rand stays below its upper bound where sums round up", "[random]") {
  // Between neighbours a sum has but the two bounds to round to: half of all numbers would become the upper.
  const float next = std::nextafter(1.0f, 2.0f);
  Generator generator(3);
  const auto values = rand({4000}, generator, DType::f32, 1.0, next).to_vector<float>();
  CHECK(std::all_of(values.begin(), values.end(), [](float v) { return v == 1.0f; }));
  CHECK(rand({}, generator, DType::f64, 2.0, 2.0).item<double>() == 2.0);
  const auto shifted = rand({4000}, generator, DType::f64, -3.0, 5.0).to_vector<double>();
  CHECK(*std::min_element(shifted.begin(), shifted.end()) >= -3.0);
  CHECK(*std::max_element(shifted.begin(), shifted.end()) < 5.0);
}

TEST_CASE("draws are the same for every thread count", "[random]") {
  const int former = num_threads();
  const auto draw = [](int threads) {
    set_num_threads(threads);
    Generator generator(42);
    const Shape shape{300, 1001};  // ten chunks, of odd length
    std::vector<double> all = rand(shape, generator, DType::f64).to_vector<double>();
    for (const double v : randn(shape, generator, DType::f64).to_vector<double>()) all.push_back(v);
    for (const auto v : randint(0, 1000, shape, generator).to_vector<std::int64_t>())
      all.push_back(static_cast<double>(v));
    for (const auto v : randperm(1000, generator).to_vector<std::int64_t>())
      all.push_back(static_cast<double>(v));
    return all;
  };
  const auto one = draw(1);
  for (const int threads : {2, 3, 8}) CHECK(draw(threads) == one);
  set_num_threads(former);
}

TEST_CASE("element i does not depend on how many are drawn", "[random]") {
  Generator a(5);
  Generator b(5);
  const auto few = rand({7}, a, DType::f64).to_vector<double>();
  const auto many = rand({1000}, b, DType::f64).to_vector<double>();
  CHECK(std::equal(few.begin(), few.end(), many.begin()));
}

TEST_CASE("a saved state resumes the stream, and no draw repeats another", "[random]") {
  Generator generator(9);
  const auto first = rand({8}, generator, DType::f64).to_vector<double>();
  const RandomStream state = generator.state();
  CHECK(state.seed == 9);
  CHECK(state.offset == 1);
  const auto second = rand({8}, generator, DType::f64).to_vector<double>();
  CHECK(first != second);
  Generator resumed(state.seed, state.offset);
  CHECK(rand({8}, resumed, DType::f64).to_vector<double>() == second);
  generator.set_state(state);
  CHECK(rand({8}, generator, DType::f64).to_vector<double>() == second);
  const RandomStream taken = generator.take();
  CHECK(taken.offset + 1 == generator.state().offset);
}

TEST_CASE("a refused draw leaves the generator where it was", "[random]") {
  Generator generator(9);
  CHECK_THROWS_MATCHES(rand({2}, generator, DType::i32), DTypeError,
                       Message("rand: dtype not supported, result is i32[2]; expected f32 or f64"));
  CHECK_THROWS_MATCHES(randn({2}, generator, DType::boolean), DTypeError,
                       Message("randn: dtype not supported, result is boolean[2]; expected f32 or f64"));
  CHECK_THROWS_MATCHES(
      randint(0, 2, {2}, generator, DType::boolean), DTypeError,
      Message("randint: dtype not supported, result is boolean[2]; expected i32 or i64 or f32 or f64"));
  CHECK_THROWS_MATCHES(randint(3, 3, {2}, generator), ValueError,
                       Message("randint: empty range, low is 3 and high is 3; expected low < high"));
  CHECK_THROWS_MATCHES(rand({2}, generator, DType::f32, 1.0, 0.0), ValueError,
                       Message("rand: bad range, low is 1 and high is 0; expected low <= high"));
  CHECK_THROWS_MATCHES(randperm(-1, generator), ValueError,
                       Message("randperm: bad n, n is -1; expected n >= 0"));
  CHECK_THROWS_AS(rand({-1}, generator), ShapeError);
  CHECK(generator.state().offset == 0);
}

TEST_CASE("moments of uniform and normal numbers", "[random]") {
  constexpr std::int64_t n = 1000000;
  const double root = std::sqrt(static_cast<double>(n));
  const auto moment = [](const std::vector<double>& values, double centre, int power) {
    double sum = 0;
    for (const double v : values) sum += std::pow(v - centre, power);
    return sum / static_cast<double>(values.size());
  };
  Generator generator(2024);
  // Bounds of five standard errors: the deviation of what is averaged, over √n. The seed is fixed.
  const auto u = rand({n}, generator, DType::f64).to_vector<double>();
  CHECK(std::abs(moment(u, 0, 1) - 0.5) < 5 * std::sqrt(1.0 / 12) / root);
  CHECK(std::abs(moment(u, 0.5, 2) - 1.0 / 12) < 5 * std::sqrt(1.0 / 180) / root);
  const auto z = randn({n}, generator, DType::f64).to_vector<double>();
  CHECK(std::abs(moment(z, 0, 1)) < 5 * 1 / root);
  CHECK(std::abs(moment(z, 0, 2) - 1) < 5 * std::sqrt(2.0) / root);
  CHECK(std::abs(moment(z, 0, 3)) < 5 * std::sqrt(15.0) / root);
  CHECK(std::abs(moment(z, 0, 4) - 3) < 5 * std::sqrt(96.0) / root);
  CHECK(std::all_of(z.begin(), z.end(), [](double v) { return std::isfinite(v); }));
  double neighbours = 0;
  for (std::size_t i = 0; i + 1 < z.size(); ++i) neighbours += z[i] * z[i + 1];
  CHECK(std::abs(neighbours / static_cast<double>(n)) < 5 / root);
  const auto scaled = randn({n}, generator, DType::f64, 10.0, 2.0).to_vector<double>();
  CHECK(std::abs(moment(scaled, 0, 1) - 10) < 5 * 2 / root);
  CHECK(std::abs(moment(scaled, 10, 2) - 4) < 5 * 4 * std::sqrt(2.0) / root);
}

TEST_CASE("integers fill their range evenly, and only it", "[random]") {
  Generator generator(7);
  constexpr std::int64_t n = 60000;
  std::vector<double> counts(6);
  for (const auto v : randint(-2, 4, {n}, generator).to_vector<std::int64_t>())
    ++counts.at(static_cast<std::size_t>(v + 2));
  double chi_squared = 0;
  for (const double count : counts) chi_squared += (count - n / 6.0) * (count - n / 6.0) / (n / 6.0);
  CHECK(chi_squared < 25.7);  // the 99.99 % point of five degrees of freedom
  CHECK(randint(5, 6, {}, generator, DType::i32).item<std::int32_t>() == 5);
}

TEST_CASE("integers of the widest range", "[random]") {
  constexpr std::int64_t min64 = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t max64 = std::numeric_limits<std::int64_t>::max();
  Generator generator(7);
  const auto values = randint(min64, max64, {1000}, generator).to_vector<std::int64_t>();
  const auto negative = std::count_if(values.begin(), values.end(), [](std::int64_t v) { return v < 0; });
  CHECK(std::abs(static_cast<double>(negative) - 500) < 5 * std::sqrt(250.0));  // five standard deviations
  CHECK(*std::max_element(values.begin(), values.end()) < max64);
}

TEST_CASE("randperm is a permutation, and no fixed one", "[random]") {
  Generator generator(1);
  for (const std::int64_t n : {0, 1, 2, 10, 1000}) {
    auto order = randperm(n, generator).to_vector<std::int64_t>();
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(n));
    std::iota(wanted.begin(), wanted.end(), std::int64_t{0});
    if (n == 1000) CHECK(order != wanted);
    std::sort(order.begin(), order.end());
    CHECK(order == wanted);
  }
  // All six orders of three, evenly: 600 draws, five standard deviations of √(100 · 5/6).
  std::array<int, 9> counts{};
  for (int i = 0; i < 600; ++i) {
    const auto order = randperm(3, generator).to_vector<std::int64_t>();
    ++counts.at(static_cast<std::size_t>(order[0] * 3 + order[1]));
  }
  for (const std::size_t code : {1u, 2u, 3u, 5u, 6u, 7u}) CHECK(std::abs(counts.at(code) - 100) < 46);
}
