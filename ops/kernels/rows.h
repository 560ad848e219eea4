#pragma once

#include <cstdint>

namespace heed::kernels {

// Loops over the rows of dense row-major matrices [rows, n], one row at a time. Serial; a row's bits depend
// on n alone. Compiled for several SIMD targets, chosen at run time. T is float or double.

/// y = exp(x − max) / Σ exp(x − max). A row of −inf alone gives NaN. y may be x.
template <class T>
void softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n);

/// y = x − max − log Σ exp(x − max). y may be x.
template <class T>
void log_softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n);

/// dx = y ⊙ (dy − Σ dy ⊙ y), y from softmax_rows.
template <class T>
void softmax_vjp_rows(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n);

/// dx = dy − exp(y) Σ dy, y from log_softmax_rows.
template <class T>
void log_softmax_vjp_rows(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n);

/// max[r] and others[r] = Σ exp(x − max[r]) − 1, without its cancellation. A row of −inf alone gives
/// −inf and NaN.
template <class T>
void max_and_others_rows(const T* x, T* max, T* others, std::int64_t rows, std::int64_t n);

/// y = scale · exp(x − max) for one row. With `past_caches` the results are written around the caches, for
/// rows too large to be kept there; y may be x only without it.
template <class T>
void exp_scale_row(const T* x, T* y, std::int64_t n, T max, T scale, bool past_caches = false);

/// Operands of layer_norm and rms_norm; `center` tells them apart. weight and bias may be null.
template <class T>
struct NormRows {
  bool center;
  std::int64_t n;
  double epsilon;
  const T* x;
  const T* weight;
  const T* bias;
};

/// y = (x − μ) r ⊙ weight + bias, r = 1/√(σ² + ε), two-pass statistics; μ = 0 and σ² = mean x² without
/// `center`. Stores for each row μ in two parts, the power of two that the row was multiplied with before (1
/// but for rows whose squares T cannot hold), and r; μ and r are those of the multiplied row.
template <class T>
void norm_rows(const NormRows<T>& a, T* y, T* statistics, std::int64_t begin, std::int64_t end);
inline constexpr std::int64_t norm_statistics = 4;

/// dx = r (g − mean g − x̂ mean(g ⊙ x̂)), g = dy ⊙ weight, x̂ = (x − μ) r (without `center`, no mean g). Adds
/// dy ⊙ x̂ to dweight and dy to dbias [n]. Null results are left out. mean and rstd are from norm_rows.
template <class T>
void norm_vjp_rows(const NormRows<T>& a, const T* statistics, const T* dy, T* dx, T* dweight, T* dbias,
                   std::int64_t begin, std::int64_t end);

}  // namespace heed::kernels
