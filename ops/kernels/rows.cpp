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

// A sum whose error does not grow with the length: eight vectors are added as they come, and such parts are
// added up beside what each addition rounds off (Knuth's two-sum).
template <class D>
class LongSum {
  using V = hn::Vec<D>;
  D d_;
  V part_, sum_, rest_;
  int count_ = 0;

  HWY_INLINE void join() {
    const V sum = hn::Add(sum_, part_);
    const V taken = hn::Sub(sum, sum_);
    rest_ = hn::Add(rest_, hn::Add(hn::Sub(sum_, hn::Sub(sum, taken)), hn::Sub(part_, taken)));
    sum_ = sum;
    part_ = hn::Zero(d_);
    count_ = 0;
  }

 public:
  explicit HWY_INLINE LongSum(D d) : d_(d), part_(hn::Zero(d)), sum_(hn::Zero(d)), rest_(hn::Zero(d)) {}
  HWY_INLINE void add(V v) {
    part_ = hn::Add(part_, v);
    if (++count_ == 8) join();
  }
  HWY_INLINE void add_product(V a, V b) {
    part_ = hn::MulAdd(a, b, part_);
    if (++count_ == 8) join();
  }
  // NaN where it is not finite.
  HWY_INLINE hn::TFromD<D> total() {
    if (count_ > 0) join();
    return hn::GetLane(hn::SumOfLanes(d_, hn::Add(sum_, rest_)));
  }
};

// Σ e^(x − max) apart from the elements that are the maximum, whose terms are 1: beside these the sum would
// lose what is small.
template <class T>
struct ExpSum {
  T ties;
  T rest;
};

template <class D, class T>
HWY_INLINE ExpSum<T> exp_sum_below(D d, const T* x, T max, std::int64_t n) {
  const auto shift = hn::Set(d, max);
  auto ties = hn::Zero(d);
  LongSum<D> rest(d);
  for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
    const auto v = hn::Sub(load_or(d, x + i, count, -std::numeric_limits<T>::infinity()), shift);
    const auto top = hn::Eq(v, hn::Zero(d));
    auto e = hn::IfThenZeroElse(top, exp_below_zero(d, v));
    if (count != hn::Lanes(d)) e = hn::IfThenElseZero(hn::FirstN(d, count), e);
    ties = hn::Add(ties, hn::IfThenElseZero(top, hn::Set(d, T(1))));
    rest.add(e);
  });
  return {hn::GetLane(hn::SumOfLanes(d, ties)), rest.total()};
}

template <class T>
HWY_INLINE void softmax(const T* x, T* y, std::int64_t rows, std::int64_t n) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const T max = row_max(d, x, n);
    const auto shift = hn::Set(d, max);
    LongSum<decltype(d)> total(d);
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
      auto e =
          exp_below_zero(d, hn::Sub(load_or(d, x + i, count, -std::numeric_limits<T>::infinity()), shift));
      store(e, d, y + i, count);
      if (count != hn::Lanes(d)) e = hn::IfThenElseZero(hn::FirstN(d, count), e);
      total.add(e);
    });
    const auto inverse = hn::Set(d, T(1) / total.total());
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
    const ExpSum<T> below = exp_sum_below(d, x, max, n);
    // A row without a maximum is NaN.
    const auto log_sum = hn::Set(
        d, std::log1p(below.ties > 0 ? below.ties - 1 + below.rest : std::numeric_limits<T>::quiet_NaN()));
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
      store(hn::Sub(hn::Sub(load(d, x + i, count), top), log_sum), d, y + i, count);
    });
  }
}

// The element of a row of y above `least`, or −1: the one that has more than half of the total. By itself its
// derivative would be the difference of two numbers that agree.
template <class D, class T>
HWY_INLINE std::int64_t element_above(D d, const T* y, std::int64_t n, T least) {
  std::int64_t found = -1;
  const auto bound = hn::Set(d, least);
  for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
    const auto above = hn::Gt(load_or(d, y + i, count, least), bound);
    if (HWY_UNLIKELY(!hn::AllFalse(d, above))) found = i + hn::FindFirstTrue(d, above);
  });
  return found;
}

// y ⊙ (dy − Σ dy ⊙ y), which is the same for dy − c of any c; c is dy at the element above one half.
template <class T>
HWY_INLINE void softmax_vjp(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    const std::int64_t top = element_above(d, y, n, T(0.5));
    const auto shift = hn::Set(d, top < 0 ? T(0) : dy[top]);
    LongSum<decltype(d)> dot(d);
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
      dot.add_product(load(d, y + i, count), hn::Sub(load(d, dy + i, count), shift));
    });
    const auto mean = hn::Set(d, dot.total());
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
      const auto g = hn::Sub(hn::Sub(load(d, dy + i, count), shift), mean);
      store(hn::Mul(load(d, y + i, count), g), d, dx + i, count);
    });
  }
}

template <class T>
HWY_INLINE void log_softmax_vjp(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    LongSum<decltype(d)> total(d);
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) { total.add(load(d, dy + i, count)); });
    const auto sum = hn::Set(d, total.total());
    const std::int64_t top = element_above(d, y, n, T(-0.69314718));
    LongSum<decltype(d)> others(d);
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
      const auto v = hn::NegMulAdd(exp_below_zero(d, load(d, y + i, count)), sum, load(d, dy + i, count));
      store(v, d, dx + i, count);
    });
    if (top < 0) continue;
    // The sum of a row of dx is 0.
    dx[top] = 0;
    for_lanes(d, n, [&](std::int64_t i, std::size_t count) { others.add(load(d, dx + i, count)); });
    dx[top] = -others.total();
  }
}

// A piece of a row at a time, so that its second reading finds it in the nearest cache; where the maximum
// grows, what was added up before shrinks.
template <class T>
HWY_INLINE void max_and_others(const T* x, T* max, T* others, std::int64_t rows, std::int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t piece = 2048;
  constexpr T closed = -std::numeric_limits<T>::infinity();
  for (std::int64_t r = 0; r < rows; ++r, x += n) {
    T top = closed;
    double total = 0;
    for (std::int64_t i = 0; i < n; i += piece) {
      const std::int64_t count = std::min(piece, n - i);
      const T here = row_max(d, x + i, count);
      if (here == closed) continue;
      double own = 0;  // of the element that is the maximum of all
      if (!(here <= top)) {
        if (top != closed) total = (total + 1) * static_cast<double>(std::exp(top - here));
        top = here;
        own = 1;
      }
      const ExpSum<T> below = exp_sum_below(d, x + i, top, count);
      total += static_cast<double>(below.ties) - own + static_cast<double>(below.rest);
    }
    max[r] = top;
    others[r] = top == closed ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(total);
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

// What is kept of a row, whose elements are x · scale here.
template <class T>
struct Statistics {
  T mean, rest, scale, rstd;  // the mean in two parts
  T variance;                 // ε included
};

// Differences from the first element keep their digits where the mean is large; what the rounding of the mean
// leaves is taken out of the variance.
template <class T>
HWY_INLINE Statistics<T> statistics_of(const NormRows<T>& a, const T* x, T scale) {
  const hn::ScalableTag<T> d;
  const T n = static_cast<T>(a.n);
  const auto factor = hn::Set(d, scale);
  T mean = 0;
  if (a.center && a.n > 0) {
    const T first = x[0] * scale;
    LongSum<decltype(d)> total(d);
    for_lanes(d, a.n, [&](std::int64_t i, std::size_t count) {
      const auto v = hn::Mul(load_or(d, x + i, count, x[0]), factor);
      total.add(hn::Sub(v, hn::Set(d, first)));
    });
    mean = first + total.total() / n;
  }
  LongSum<decltype(d)> rest(d);
  LongSum<decltype(d)> squares(d);
  for_lanes(d, a.n, [&](std::int64_t i, std::size_t count) {
    auto v = hn::Sub(hn::Mul(load(d, x + i, count), factor), hn::Set(d, mean));
    if (count != hn::Lanes(d)) v = hn::IfThenElseZero(hn::FirstN(d, count), v);
    if (a.center) rest.add(v);
    squares.add_product(v, v);
  });
  const T delta = a.center ? rest.total() / n : T(0);
  const auto epsilon = static_cast<T>(a.epsilon * static_cast<double>(scale) * static_cast<double>(scale));
  const T variance = std::max(squares.total() / n - delta * delta, T(0)) + epsilon;  // NaN stays
  return {mean, delta, scale, T(1) / std::sqrt(variance), variance};
}

// The power of two that brings a row, or √ε where that is larger, to numbers about 1.
template <class T>
HWY_INLINE T scale_of(const NormRows<T>& a, const T* x) {
  const hn::ScalableTag<T> d;
  auto top = hn::Zero(d);
  for_lanes(d, a.n,
            [&](std::int64_t i, std::size_t count) { top = hn::Max(top, hn::Abs(load(d, x + i, count))); });
  const double size = std::max<double>(hn::GetLane(hn::MaxOfLanes(d, top)), std::sqrt(a.epsilon));
  if (!(size > 0) || !std::isfinite(size)) return T(1);
  int exponent = 0;
  std::frexp(size, &exponent);
  constexpr int largest = std::numeric_limits<T>::max_exponent - 8;
  return static_cast<T>(std::ldexp(1.0, std::clamp(-exponent - 1, -largest, largest)));
}

template <class T>
HWY_INLINE void norm(const NormRows<T>& a, T* y, T* statistics, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<T> d;
  // Within these no square that counts was rounded to 0 or to infinity.
  constexpr bool wide = sizeof(T) == 8;
  const T least = static_cast<T>(wide ? 0x1p-600 : 0x1p-60);
  const T largest = static_cast<T>(wide ? 0x1p1000 : 0x1p120);
  for (std::int64_t r = begin; r < end; ++r) {
    const T* x = a.x + r * a.n;
    Statistics<T> s = statistics_of(a, x, T(1));
    if (HWY_UNLIKELY(a.n > 0 && !(s.variance >= least && s.variance <= largest))) {
      s = statistics_of(a, x, scale_of(a, x));
    }
    const T kept[] = {s.mean, s.rest, s.scale, s.rstd};
    std::copy_n(kept, norm_statistics, statistics + norm_statistics * r);
    T* out = y + r * a.n;
    for_lanes(d, a.n, [&](std::int64_t i, std::size_t count) {
      const auto shifted = hn::Sub(hn::Mul(load(d, x + i, count), hn::Set(d, s.scale)), hn::Set(d, s.mean));
      auto v = hn::Mul(hn::Sub(shifted, hn::Set(d, s.rest)), hn::Set(d, s.rstd));
      if (a.weight != nullptr) v = hn::Mul(v, load(d, a.weight + i, count));
      if (a.bias != nullptr) v = hn::Add(v, load(d, a.bias + i, count));
      store(v, d, out + i, count);
    });
  }
}

template <class T>
HWY_INLINE void norm_vjp(const NormRows<T>& a, const T* statistics, const T* dy, T* dx, T* dweight, T* dbias,
                         std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = begin; r < end; ++r) {
    const T* x = a.x + r * a.n;
    const T* g = dy + r * a.n;
    const T* s = statistics + norm_statistics * r;
    const auto mean = hn::Set(d, s[0]);
    const auto rest = hn::Set(d, s[1]);
    const auto scale = hn::Set(d, s[2]);
    const auto rstd = hn::Set(d, s[3]);
    const auto hat_of = [&](std::int64_t i, std::size_t count) {
      const auto shifted = hn::Sub(hn::Mul(load(d, x + i, count), scale), mean);
      return hn::Mul(hn::Sub(shifted, rest), rstd);
    };
    LongSum<decltype(d)> sum_g(d);
    LongSum<decltype(d)> sum_gx(d);
    for_lanes(d, a.n, [&](std::int64_t i, std::size_t count) {
      // Lanes beyond the row have a cotangent of 0.
      const auto hat = hat_of(i, count);
      const auto v = load(d, g + i, count);
      if (dweight != nullptr) store(hn::MulAdd(v, hat, load(d, dweight + i, count)), d, dweight + i, count);
      if (dbias != nullptr) store(hn::Add(v, load(d, dbias + i, count)), d, dbias + i, count);
      if (dx == nullptr) return;
      const auto gw = a.weight == nullptr ? v : hn::Mul(v, load(d, a.weight + i, count));
      if (a.center) sum_g.add(gw);
      sum_gx.add_product(gw, hat);
    });
    if (dx == nullptr) continue;
    const T n = static_cast<T>(a.n);
    const auto mean_g = hn::Set(d, a.center ? sum_g.total() / n : T(0));
    const auto mean_gx = hn::Set(d, sum_gx.total() / n);
    T* out = dx + r * a.n;
    for_lanes(d, a.n, [&](std::int64_t i, std::size_t count) {
      auto v = load(d, g + i, count);
      if (a.weight != nullptr) v = hn::Mul(v, load(d, a.weight + i, count));
      const auto t = hn::NegMulAdd(hat_of(i, count), mean_gx, hn::Sub(v, mean_g));
      store(hn::Mul(hn::Mul(rstd, t), scale), d, out + i, count);
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
  void max_and_others_##S(const T* x, T* max, T* others, std::int64_t rows, std::int64_t n) {               \
    max_and_others(x, max, others, rows, n);                                                                \
  }                                                                                                         \
  void exp_scale_##S(const T* x, T* y, std::int64_t n, T max, T scale, bool past_caches) {                  \
    exp_scale(x, y, n, max, scale, past_caches);                                                            \
  }                                                                                                         \
  void norm_##S(const NormRows<T>& a, T* y, T* statistics, std::int64_t begin, std::int64_t end) {          \
    norm(a, y, statistics, begin, end);                                                                     \
  }                                                                                                         \
  void norm_vjp_##S(const NormRows<T>& a, const T* statistics, const T* dy, T* dx, T* dweight, T* dbias,    \
                    std::int64_t begin, std::int64_t end) {                                                 \
    norm_vjp(a, statistics, dy, dx, dweight, dbias, begin, end);                                            \
  }
HEED_ROWS_FOR(float, f32)
HEED_ROWS_FOR(double, f64)
#undef HEED_ROWS_FOR

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

#define HEED_EXPORT_ROWS(T, S)                                                                            \
  HWY_EXPORT(softmax_##S);                                                                                \
  HWY_EXPORT(log_softmax_##S);                                                                            \
  HWY_EXPORT(softmax_vjp_##S);                                                                            \
  HWY_EXPORT(log_softmax_vjp_##S);                                                                        \
  HWY_EXPORT(max_and_others_##S);                                                                         \
  HWY_EXPORT(exp_scale_##S);                                                                              \
  HWY_EXPORT(norm_##S);                                                                                   \
  HWY_EXPORT(norm_vjp_##S);                                                                               \
  template <>                                                                                             \
  void softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n) {                                \
    HWY_DYNAMIC_DISPATCH(softmax_##S)(x, y, rows, n);                                                     \
  }                                                                                                       \
  template <>                                                                                             \
  void log_softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n) {                            \
    HWY_DYNAMIC_DISPATCH(log_softmax_##S)(x, y, rows, n);                                                 \
  }                                                                                                       \
  template <>                                                                                             \
  void softmax_vjp_rows(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) {              \
    HWY_DYNAMIC_DISPATCH(softmax_vjp_##S)(y, dy, dx, rows, n);                                            \
  }                                                                                                       \
  template <>                                                                                             \
  void log_softmax_vjp_rows(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) {          \
    HWY_DYNAMIC_DISPATCH(log_softmax_vjp_##S)(y, dy, dx, rows, n);                                        \
  }                                                                                                       \
  template <>                                                                                             \
  void max_and_others_rows(const T* x, T* max, T* others, std::int64_t rows, std::int64_t n) {            \
    HWY_DYNAMIC_DISPATCH(max_and_others_##S)(x, max, others, rows, n);                                    \
  }                                                                                                       \
  template <>                                                                                             \
  void exp_scale_row(const T* x, T* y, std::int64_t n, T max, T scale, bool past_caches) {                \
    HWY_DYNAMIC_DISPATCH(exp_scale_##S)(x, y, n, max, scale, past_caches);                                \
  }                                                                                                       \
  template <>                                                                                             \
  void norm_rows(const NormRows<T>& a, T* y, T* statistics, std::int64_t begin, std::int64_t end) {       \
    HWY_DYNAMIC_DISPATCH(norm_##S)(a, y, statistics, begin, end);                                         \
  }                                                                                                       \
  template <>                                                                                             \
  void norm_vjp_rows(const NormRows<T>& a, const T* statistics, const T* dy, T* dx, T* dweight, T* dbias, \
                     std::int64_t begin, std::int64_t end) {                                              \
    HWY_DYNAMIC_DISPATCH(norm_vjp_##S)(a, statistics, dy, dx, dweight, dbias, begin, end);                \
  }
HEED_EXPORT_ROWS(float, f32)
HEED_EXPORT_ROWS(double, f64)
#undef HEED_EXPORT_ROWS

}  // namespace heed::kernels
#endif
