#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <heed/ops/kernels/rows.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/kernels/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include <heed/ops/kernels/lanes-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE void softmax(const T* x, T* y, std::int64_t rows, std::int64_t n) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const T max = row_max(d, x, n);
    const auto inverse = hn::Set(d, T(1) / exp_sum(d, x, y, max, n));
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
      store(hn::Mul(load(d, y + i, count), inverse), d, y + i, count);
    });
  }
}

template <class T>
HWY_INLINE void log_softmax(const T* x, T* y, std::int64_t rows, std::int64_t n) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const T max = row_max(d, x, n);
    const auto top = hn::Set(d, max);
    const auto log_sum = hn::Set(d, std::log(exp_sum(d, x, static_cast<T*>(nullptr), max, n)));
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
      store(hn::Sub(hn::Sub(load(d, x + i, count), top), log_sum), d, y + i, count);
    });
  }
}

template <class T>
HWY_INLINE void softmax_vjp(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    auto dot = hn::Zero(d);
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
      dot = hn::MulAdd(load(d, y + i, count), load(d, dy + i, count), dot);
    });
    const auto mean = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, dot)));
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
      store(hn::Mul(load(d, y + i, count), hn::Sub(load(d, dy + i, count), mean)), d, dx + i, count);
    });
  }
}

template <class T>
HWY_INLINE void log_softmax_vjp(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    auto total = hn::Zero(d);
    for_lanes(d, n,
              [&](std::int64_t i, std::size_t count) { total = hn::Add(total, load(d, dy + i, count)); });
    const auto sum = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, total)));
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
      store(hn::NegMulAdd(exp_below_zero(d, load(d, y + i, count)), sum, load(d, dy + i, count)), d, dx + i,
            count);
    });
  }
}

// A piece of a row at a time, so that its second reading finds it in the nearest cache; where the maximum
// grows, what was added up before shrinks.
template <class T>
HWY_INLINE void max_and_sum(const T* x, T* max, T* sum, std::int64_t rows, std::int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t piece = 2048;
  constexpr T closed = -std::numeric_limits<T>::infinity();
  for (std::int64_t r = 0; r < rows; ++r, x += n) {
    T top = closed;
    T total = 0;
    for (std::int64_t i = 0; i < n; i += piece) {
      const std::int64_t count = std::min(piece, n - i);
      const T here = row_max(d, x + i, count);
      if (here == closed) continue;
      if (!(here <= top)) {
        total *= std::exp(top - here);
        top = here;
      }
      total += exp_sum(d, x + i, static_cast<T*>(nullptr), top, count);
    }
    max[r] = top;
    sum[r] = top == closed ? std::numeric_limits<T>::quiet_NaN() : total;
  }
}

// Results that no cache will hold go past it: a write need not read its line first.
template <class T>
HWY_INLINE void exp_scale(const T* x, T* y, std::int64_t n, T max, T scale, bool past_caches) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (past_caches && reinterpret_cast<std::uintptr_t>(y) % (sizeof(T) * hn::Lanes(d)) == 0) {
    const std::int64_t whole = n - n % lanes;
    for (std::int64_t i = 0; i < whole; i += lanes) {
      const auto e = exp_below_zero(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, max)));
      hn::Stream(hn::Mul(e, hn::Set(d, scale)), d, y + i);
    }
    hwy::FlushStream();
    x += whole;
    y += whole;
    n -= whole;
  }
  exp_sum(d, x, y, max, n, scale);
}

template <class T>
HWY_INLINE T mean_of(const T* x, std::int64_t n) {
  const hn::ScalableTag<T> d;
  auto total = hn::Zero(d);
  for_lanes(d, n, [&](std::int64_t i, std::size_t count) { total = hn::Add(total, load(d, x + i, count)); });
  return hn::GetLane(hn::SumOfLanes(d, total)) / static_cast<T>(n);
}

template <class T>
HWY_INLINE void norm(const NormRows<T>& a, T* y, T* mean, T* rstd, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = begin; r < end; ++r) {
    const T* x = a.x + r * a.n;
    const T mu = a.center ? mean_of(x, a.n) : T(0);
    const auto shift = hn::Set(d, mu);
    auto rest = hn::Zero(d);
    auto squares = hn::Zero(d);
    for_lanes(d, a.n, [&](std::int64_t i, std::size_t count) {
      const auto v = hn::Sub(load_or(d, x + i, count, mu), shift);
      rest = hn::Add(rest, v);
      squares = hn::MulAdd(v, v, squares);
    });
    const T n = static_cast<T>(a.n);
    const T delta = a.center ? hn::GetLane(hn::SumOfLanes(d, rest)) / n : T(0);
    const T variance =
        std::max(hn::GetLane(hn::SumOfLanes(d, squares)) / n - delta * delta, T(0));  // NaN stays
    const T inverse = T(1) / std::sqrt(variance + static_cast<T>(a.epsilon));
    mean[2 * r] = mu;
    mean[2 * r + 1] = delta;
    rstd[r] = inverse;
    const auto correction = hn::Set(d, delta);
    const auto scale = hn::Set(d, inverse);
    T* out = y + r * a.n;
    for_lanes(d, a.n, [&](std::int64_t i, std::size_t count) {
      auto v = hn::Mul(hn::Sub(hn::Sub(load(d, x + i, count), shift), correction), scale);
      if (a.weight != nullptr) v = hn::Mul(v, load(d, a.weight + i, count));
      if (a.bias != nullptr) v = hn::Add(v, load(d, a.bias + i, count));
      store(v, d, out + i, count);
    });
  }
}

template <class T>
HWY_INLINE void norm_vjp(const NormRows<T>& a, const T* mean, const T* rstd, const T* dy, T* dx, T* dweight,
                         T* dbias, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = begin; r < end; ++r) {
    const T* x = a.x + r * a.n;
    const T* g = dy + r * a.n;
    const auto shift = hn::Set(d, mean[2 * r]);
    const auto correction = hn::Set(d, mean[2 * r + 1]);
    const auto scale = hn::Set(d, rstd[r]);
    const auto hat_of = [&](std::int64_t i, std::size_t count) {
      return hn::Mul(hn::Sub(hn::Sub(load(d, x + i, count), shift), correction), scale);
    };
    auto sum_g = hn::Zero(d);
    auto sum_gx = hn::Zero(d);
    for_lanes(d, a.n, [&](std::int64_t i, std::size_t count) {
      // Lanes beyond the row have a cotangent of 0.
      const auto hat = hat_of(i, count);
      const auto v = load(d, g + i, count);
      if (dweight != nullptr) store(hn::MulAdd(v, hat, load(d, dweight + i, count)), d, dweight + i, count);
      if (dbias != nullptr) store(hn::Add(v, load(d, dbias + i, count)), d, dbias + i, count);
      const auto gw = a.weight == nullptr ? v : hn::Mul(v, load(d, a.weight + i, count));
      sum_g = hn::Add(sum_g, gw);
      sum_gx = hn::MulAdd(gw, hat, sum_gx);
    });
    if (dx == nullptr) continue;
    const T n = static_cast<T>(a.n);
    const auto mean_g = hn::Set(d, a.center ? hn::GetLane(hn::SumOfLanes(d, sum_g)) / n : T(0));
    const auto mean_gx = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, sum_gx)) / n);
    T* out = dx + r * a.n;
    for_lanes(d, a.n, [&](std::int64_t i, std::size_t count) {
      auto v = load(d, g + i, count);
      if (a.weight != nullptr) v = hn::Mul(v, load(d, a.weight + i, count));
      store(hn::Mul(scale, hn::NegMulAdd(hat_of(i, count), mean_gx, hn::Sub(v, mean_g))), d, out + i, count);
    });
  }
}

// One plain function for each element type, for the dispatch tables.
#define HEED_ROWS_FOR(T, S)                                                                                 \
  void softmax_##S(const T* x, T* y, std::int64_t rows, std::int64_t n) { softmax(x, y, rows, n); }         \
  void log_softmax_##S(const T* x, T* y, std::int64_t rows, std::int64_t n) { log_softmax(x, y, rows, n); } \
  void softmax_vjp_##S(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) {                 \
    softmax_vjp(y, dy, dx, rows, n);                                                                        \
  }                                                                                                         \
  void log_softmax_vjp_##S(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) {             \
    log_softmax_vjp(y, dy, dx, rows, n);                                                                    \
  }                                                                                                         \
  void max_and_sum_##S(const T* x, T* max, T* sum, std::int64_t rows, std::int64_t n) {                     \
    max_and_sum(x, max, sum, rows, n);                                                                      \
  }                                                                                                         \
  void exp_scale_##S(const T* x, T* y, std::int64_t n, T max, T scale, bool past_caches) {                  \
    exp_scale(x, y, n, max, scale, past_caches);                                                            \
  }                                                                                                         \
  void norm_##S(const NormRows<T>& a, T* y, T* mean, T* rstd, std::int64_t begin, std::int64_t end) {       \
    norm(a, y, mean, rstd, begin, end);                                                                     \
  }                                                                                                         \
  void norm_vjp_##S(const NormRows<T>& a, const T* mean, const T* rstd, const T* dy, T* dx, T* dweight,     \
                    T* dbias, std::int64_t begin, std::int64_t end) {                                       \
    norm_vjp(a, mean, rstd, dy, dx, dweight, dbias, begin, end);                                            \
  }
HEED_ROWS_FOR(float, f32)
HEED_ROWS_FOR(double, f64)
#undef HEED_ROWS_FOR

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

#define HEED_EXPORT_ROWS(T, S)                                                                           \
  HWY_EXPORT(softmax_##S);                                                                               \
  HWY_EXPORT(log_softmax_##S);                                                                           \
  HWY_EXPORT(softmax_vjp_##S);                                                                           \
  HWY_EXPORT(log_softmax_vjp_##S);                                                                       \
  HWY_EXPORT(max_and_sum_##S);                                                                           \
  HWY_EXPORT(exp_scale_##S);                                                                             \
  HWY_EXPORT(norm_##S);                                                                                  \
  HWY_EXPORT(norm_vjp_##S);                                                                              \
  template <>                                                                                            \
  void softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n) {                               \
    HWY_DYNAMIC_DISPATCH(softmax_##S)(x, y, rows, n);                                                    \
  }                                                                                                      \
  template <>                                                                                            \
  void log_softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n) {                           \
    HWY_DYNAMIC_DISPATCH(log_softmax_##S)(x, y, rows, n);                                                \
  }                                                                                                      \
  template <>                                                                                            \
  void softmax_vjp_rows(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) {             \
    HWY_DYNAMIC_DISPATCH(softmax_vjp_##S)(y, dy, dx, rows, n);                                           \
  }                                                                                                      \
  template <>                                                                                            \
  void log_softmax_vjp_rows(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) {         \
    HWY_DYNAMIC_DISPATCH(log_softmax_vjp_##S)(y, dy, dx, rows, n);                                       \
  }                                                                                                      \
  template <>                                                                                            \
  void max_and_sum_rows(const T* x, T* max, T* sum, std::int64_t rows, std::int64_t n) {                 \
    HWY_DYNAMIC_DISPATCH(max_and_sum_##S)(x, max, sum, rows, n);                                         \
  }                                                                                                      \
  template <>                                                                                            \
  void exp_scale_row(const T* x, T* y, std::int64_t n, T max, T scale, bool past_caches) {               \
    HWY_DYNAMIC_DISPATCH(exp_scale_##S)(x, y, n, max, scale, past_caches);                               \
  }                                                                                                      \
  template <>                                                                                            \
  void norm_rows(const NormRows<T>& a, T* y, T* mean, T* rstd, std::int64_t begin, std::int64_t end) {   \
    HWY_DYNAMIC_DISPATCH(norm_##S)(a, y, mean, rstd, begin, end);                                        \
  }                                                                                                      \
  template <>                                                                                            \
  void norm_vjp_rows(const NormRows<T>& a, const T* mean, const T* rstd, const T* dy, T* dx, T* dweight, \
                     T* dbias, std::int64_t begin, std::int64_t end) {                                   \
    HWY_DYNAMIC_DISPATCH(norm_vjp_##S)(a, mean, rstd, dy, dx, dweight, dbias, begin, end);               \
  }
HEED_EXPORT_ROWS(float, f32)
HEED_EXPORT_ROWS(double, f64)
#undef HEED_EXPORT_ROWS

}  // namespace heed::kernels
#endif
