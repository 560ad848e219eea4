#pragma once

#include <array>
#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// Where a draw begins in a stream of random numbers.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// Philox 4x32-10 (Salmon et al., 2011): four random 32-bit words for a 64-bit key and a 128-bit counter.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high);

/// 64 random bits of element `index` of a draw: a function of (seed, offset, index) alone,
/// whatever the thread count.
std::uint64_t random_bits(const RandomStream& stream, std::uint64_t index);
/// The random bits of the elements 2·pair and 2·pair + 1.
std::array<std::uint64_t, 2> random_pair(const RandomStream& stream, std::uint64_t pair);
/// Calls `value(i, bits of element i)` for begin … end−1, in order.
template <class Value>
void for_random_bits(const RandomStream& stream, std::int64_t begin, std::int64_t end, Value&& value) {
  for (std::int64_t i = begin; i < end;) {
    const auto bits = random_pair(stream, static_cast<std::uint64_t>(i) / 2);
    if (i % 2 == 0) value(i++, bits[0]);
    if (i < end) value(i++, bits[1]);
  }
}
/// Uniform in [0, 1), in T's precision (never rounded up to 1).
template <class T>
T uniform_from_bits(std::uint64_t bits);

/// A position in a stream of random numbers. There is no hidden global one: pass it to what draws.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0, std::uint64_t offset = 0) : state_{seed, offset} {}
  /// Seed and offset; a Generator made from them continues the stream.
  const RandomStream& state() const { return state_; }
  void set_state(const RandomStream& state) { state_ = state; }
  /// Hands out the stream for one draw and moves past it. Every draw goes through here.
  RandomStream take();

 private:
  RandomStream state_;
};

// A draw of no elements leaves the generator where it is.

/// Uniform in [low, high). ValueError unless low <= high.
Tensor rand(const Shape& shape, Generator& generator, DType dtype = DType::f32, double low = 0.0,
            double high = 1.0);
/// Normal, by Box–Muller from two uniforms in (0, 1].
Tensor randn(const Shape& shape, Generator& generator, DType dtype = DType::f32, double mean = 0.0,
             double deviation = 1.0);
/// Integers uniform in [low, high). ValueError unless low < high.
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator& generator,
               DType dtype = DType::i64);
/// A random order of 0 … n−1.
Tensor randperm(std::int64_t n, Generator& generator);

}  // namespace heed
