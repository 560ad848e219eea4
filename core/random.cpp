#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/checked_arithmetic.h>
#include <heed/core/draw_log.h>
#include <heed/core/elements.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/core/strided_loop.h>

namespace heed {

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                    std::uint64_t counter_high) {
  std::array<std::uint32_t, 4> c{
      static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
      static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

// A block serves two elements.
std::array<std::uint64_t, 2> random_pair(const RandomStream& stream, std::uint64_t pair) {
  const auto words = philox(stream.seed, pair, stream.offset);
  return {(std::uint64_t{words[1]} << 32) | words[0], (std::uint64_t{words[3]} << 32) | words[2]};
}

std::uint64_t random_bits(const RandomStream& stream, std::uint64_t index) {
  return random_pair(stream, index / 2)[index % 2];
}

template <>
float uniform_from_bits(std::uint64_t bits) {
  return static_cast<float>(bits >> 40) * 0x1.0p-24f;
}
template <>
double uniform_from_bits(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

RandomStream Generator::take() { return detail::draw(state_); }

namespace {

// y[i] = value(bits of element i), in parallel; chunk borders do not matter to the result.
template <class T, class Value>
void fill_from_bits(Tensor& y, const RandomStream& stream, Value&& value) {
  T* data = y.mutable_data<T>();
  parallel_for(y.numel(), elementwise_grain, [&](std::int64_t begin, std::int64_t end) {
    for_random_bits(stream, begin, end, [&](std::int64_t i, std::uint64_t bits) { data[i] = value(bits); });
  });
}

}  // namespace

Tensor rand(const Shape& shape, Generator& generator, DType dtype, double low, double high) {
  if (!(low <= high)) {
    fail<ValueError>("rand", "bad range", fmt::format("low is {} and high is {}", low, high), "low <= high");
  }
  Tensor y = empty(shape, dtype);
  check_floating("rand", "result", y);
  if (y.numel() == 0) return y;
  const RandomStream stream = generator.take();
  visit_floating(dtype, [&]<class T>(std::type_identity<T>) {
    const T base = static_cast<T>(low);
    const T width = static_cast<T>(high - low);
    const T last = std::nextafter(static_cast<T>(high), base);  // the sum may round up to high
    fill_from_bits<T>(y, stream, [&](std::uint64_t bits) {
      return std::min(base + width * uniform_from_bits<T>(bits), last);
    });
  });
  return y;
}

Tensor randn(const Shape& shape, Generator& generator, DType dtype, double mean, double deviation) {
  Tensor y = empty(shape, dtype);
  check_floating("randn", "result", y);
  if (y.numel() == 0) return y;
  const RandomStream stream = generator.take();
  visit_floating(dtype, [&]<class T>(std::type_identity<T>) {
    fill_from_bits<T>(y, stream, [&](std::uint64_t bits) {
      const double u1 = (static_cast<double>(bits & 0xFFFFFFFFu) + 1.0) * 0x1.0p-32;
      const double u2 = (static_cast<double>(bits >> 32) + 1.0) * 0x1.0p-32;
      const double z = std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * std::numbers::pi * u2);
      return static_cast<T>(mean + deviation * z);
    });
  });
  return y;
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator& generator, DType dtype) {
  if (low >= high) {
    fail<ValueError>("randint", "empty range", fmt::format("low is {} and high is {}", low, high),
                     "low < high");
  }
  if (dtype == DType::i32) {
    check_fits_i32("randint", "low", low);
    check_fits_i32("randint", "the largest number", high - 1);
  }
  Tensor y = empty(shape, dtype);
  check_numeric("randint", "result", y);
  if (y.numel() == 0) return y;
  const RandomStream stream = generator.take();
  const auto width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  visit_numeric(dtype, [&]<class T>(std::type_identity<T>) {
    fill_from_bits<T>(y, stream, [&](std::uint64_t bits) {
      // High half of a 64 × 64 bit product: unbiased to within width / 2^64.
      __extension__ using wide = unsigned __int128;
      const auto scaled = static_cast<std::uint64_t>((wide{bits} * width) >> 64);
      return static_cast<T>(static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + scaled));
    });
  });
  return y;
}

Tensor randperm(std::int64_t n, Generator& generator) {
  check_value(n >= 0, "randperm", "n", n, "n >= 0");
  Tensor order = arange(0, n);
  if (n == 0) return order;
  const RandomStream stream = generator.take();
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(n));
  for_random_bits(stream, 0, n,
                  [&](std::int64_t i, std::uint64_t bits) { keys[static_cast<std::size_t>(i)] = bits; });
  auto* data = order.mutable_data<std::int64_t>();
  std::stable_sort(data, data + n, [&](std::int64_t a, std::int64_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace heed
