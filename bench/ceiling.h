#pragma once

#include <cstddef>

namespace heed::bench {

/// The peak rate of fused multiply-adds of one core on float32 in registers, in GFLOP/s (each counts as two
/// operations). No product can be faster. Measures for a twentieth of a second.
double fma_peak();

/// Bytes read and written per second by a copy of 64 MiB on one core, in GB/s; the best of five copies.
double copy_rate();

/// Bytes read per second by one thread that adds up `count` floats, in GB/s; the best of three times.
double read_rate(const float* from, std::size_t count);

}  // namespace heed::bench
