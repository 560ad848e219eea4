#pragma once

#include <cstdint>

namespace heed::kernels {

// Elementwise f32 loops over dense memory, compiled for several SIMD targets and chosen at run time. The bits
// of an element depend on its operands alone, not on its place. Results may overwrite an operand.

enum class Map : int { exp, tanh, erf, relu, sigmoid, silu, gelu, gelu_tanh };

/// `*_vjp`: dy · f'(x) from (x, dy); relu from (y, dy).
enum class Map2 : int {
  add,
  sub,
  mul,
  div,
  tanh_vjp,
  relu_vjp,
  sigmoid_vjp,
  silu_vjp,
  gelu_vjp,
  gelu_tanh_vjp
};

/// y[i] = f(x[i])
void map(Map f, const float* x, float* y, std::int64_t n);

/// y[i] = f(a[i], b[i])
void map2(Map2 f, const float* a, const float* b, float* y, std::int64_t n);

}  // namespace heed::kernels
