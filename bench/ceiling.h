#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace heed::bench {

/// The peak rate of fused multiply-adds of one core on float32 in registers, in GFLOP/s (each counts as two
/// operations). No product can be faster. Measures for a twentieth of a second.
double fma_peak();

/// The same beside other work: a CPU under heavy products lowers its clock, and a probe that runs alone would
/// see the higher one.
class PeakBeside {
 public:
  /// After a round of the work, outside of its time: measures for some 60 microseconds, if the last time was
  /// at least 2 milliseconds ago. `state` is that of Google Benchmark.
  template <class State>
  void between(State& state) {
    if (!due()) return;
    state.PauseTiming();
    measure();
    state.ResumeTiming();
  }
  /// The median, in GFLOP/s; of one thread.
  double gflops() const;

 private:
  bool due() const;
  void measure();

  std::vector<double> rates_;
  std::chrono::steady_clock::time_point last_ = {};
};

/// Bytes read and written per second by a copy of 64 MiB on one core, in GB/s; the best of five copies.
double copy_rate();

/// Bytes read per second by one thread that adds up `count` floats, in GB/s; the best of three times.
double read_rate(const float* from, std::size_t count);

}  // namespace heed::bench
