#include "ceiling.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace heed::bench {
namespace {

constexpr int chains = 12;  // more than latency times units, so that no addition waits for another
constexpr long rounds = 20000;

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) float run_avx2() {
  __m256 x[chains];
  for (__m256& v : x) v = _mm256_set1_ps(0.5f);
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m256& v : x) v = _mm256_fmadd_ps(v, a, b);
  }
  float sum = 0;
  for (const __m256& v : x) sum += _mm256_cvtss_f32(v);
  return sum;
}

__attribute__((target("avx512f"))) float run_avx512() {
  __m512 x[chains];
  for (__m512& v : x) v = _mm512_set1_ps(0.5f);
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m512& v : x) v = _mm512_fmadd_ps(v, a, b);
  }
  float sum = 0;
  for (const __m512& v : x) sum += _mm512_cvtss_f32(v);
  return sum;
}
#endif

float run_scalar() {
  float x[chains];
  for (float& v : x) v = 0.5f;
  for (long i = 0; i < rounds; ++i) {
    for (float& v : x) v = v * 0.999f + 0.001f;
  }
  float sum = 0;
  for (const float v : x) sum += v;
  return sum;
}

using Clock = std::chrono::steady_clock;

// The best rate of a loop in registers within this time.
double best_rate(std::chrono::microseconds time) {
  float (*run)() = run_scalar;
  int lanes = 1;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    run = run_avx512;
    lanes = 16;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    run = run_avx2;
    lanes = 8;
  }
#endif
  double best = 0;
  volatile float sink = 0;
  const auto start = Clock::now();
  while (Clock::now() - start < time) {
    const auto before = Clock::now();
    sink = run();
    const double seconds = std::chrono::duration<double>(Clock::now() - before).count();
    best = std::max(best, 2.0 * chains * lanes * static_cast<double>(rounds) / seconds * 1e-9);
  }
  static_cast<void>(sink);
  return best;
}

}  // namespace

double fma_peak() { return best_rate(std::chrono::milliseconds(50)); }

bool PeakBeside::due() const { return Clock::now() - last_ >= std::chrono::milliseconds(2); }

void PeakBeside::measure() {
  rates_.push_back(best_rate(std::chrono::microseconds(60)));
  last_ = Clock::now();
}

double PeakBeside::gflops() const {
  std::vector<double> sorted = rates_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  if (middle != sorted.end()) std::nth_element(sorted.begin(), middle, sorted.end());
  return sorted.empty() ? 0 : *middle;
}

double read_rate(const float* from, std::size_t count) {
  constexpr std::size_t lanes = 64;  // sums side by side, which the compiler makes vectors of
  double best = 0;
  volatile float sink = 0;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    float sums[lanes] = {};
    for (std::size_t at = 0; at + lanes <= count; at += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += from[at + lane];
    }
    float total = 0;
    for (const float sum : sums) total += sum;
    sink = total;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(count * sizeof(float)) / seconds.count() * 1e-9);
  }
  static_cast<void>(sink);
  return best;
}

double copy_rate() {
  constexpr std::size_t count = std::size_t{16} << 20;
  const std::vector<float> from(count, 1.0f);
  std::vector<float> to(count);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(to.data(), from.data(), count * sizeof(float));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * static_cast<double>(count * sizeof(float)) / seconds.count() * 1e-9);
  }
  return best;
}

}  // namespace heed::bench
