#include "graph_ops.h"

#include <cstdint>

#include <heed/core/factory.h>
#include <heed/ops.h>

namespace heed::test::fuzz {
namespace {

std::int64_t axis(std::uint32_t variant) { return variant % 2; }

// [2, 4] of 0 … n−1.
Tensor numbers(std::uint32_t variant, std::int64_t n) {
  Tensor x = empty({2, 4}, DType::i64);
  auto* values = x.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < 8; ++i) values[i] = (i * 3 + variant % 5) % n;
  return x;
}

Tensor bits(std::uint32_t variant) { return eq(numbers(variant, 3), 0); }

Tensor over(Tensor (*reduce)(const Tensor&, const Shape&, bool), const Tensor& x, std::uint32_t variant) {
  return expand(reduce(x, {axis(variant)}, true), {2, 4});
}

}  // namespace

const std::vector<GraphOp>& graph_ops() {
  using T = const Tensor&;
  using V = std::uint32_t;
  static const std::vector<GraphOp> ops = {
      // Element by element.
      {"tanh(a)", [](T a, T, V) { return tanh(a); }},
      {"sigmoid(a)", [](T a, T, V) { return sigmoid(a); }},
      {"erf(a)", [](T a, T, V) { return erf(a); }},
      {"silu(a)", [](T a, T, V) { return silu(a); }},
      {"gelu(a)", [](T a, T, V) { return gelu(a); }},
      {"gelu(a, tanh)", [](T a, T, V) { return gelu(a, Gelu::tanh); }},
      {"softplus(a)", [](T a, T, V) { return softplus(a); }},
      {"log_sigmoid(a)", [](T a, T, V) { return log_sigmoid(a); }},
      {"mish(a)", [](T a, T, V) { return mish(a); }},
      {"sin(a)", [](T a, T, V) { return sin(a); }},
      {"cos(a)", [](T a, T, V) { return cos(a); }},
      {"atan(a)", [](T a, T, V) { return atan(a); }},
      {"asin(sin(a) / 2)", [](T a, T, V) { return asin(sin(a) / 2); }},
      {"tan(tanh(a))", [](T a, T, V) { return tan(tanh(a)); }},
      {"exp(tanh(a))", [](T a, T, V) { return exp(tanh(a)); }},
      {"expm1(-softplus(a))", [](T a, T, V) { return expm1(-softplus(a)); }},
      {"log(1 + square(a))", [](T a, T, V) { return log(1 + square(a)); }},
      {"log1p(square(a))", [](T a, T, V) { return log1p(square(a)); }},
      {"sqrt(1 + square(a))", [](T a, T, V) { return sqrt(1 + square(a)); }},
      {"rsqrt(1 + square(a))", [](T a, T, V) { return rsqrt(1 + square(a)); }},
      {"reciprocal(1 + square(a))", [](T a, T, V) { return reciprocal(1 + square(a)); }},
      {"pow(1 + square(a), 0.3)", [](T a, T, V) { return pow(1 + square(a), 0.3); }},
      {"1.5 - a", [](T a, T, V) { return 1.5 - a; }},
      // Of two operands.
      {"a + b", [](T a, T b, V) { return a + b; }},
      {"a - b", [](T a, T b, V) { return a - b; }},
      {"a * tanh(b)", [](T a, T b, V) { return a * tanh(b); }},
      {"a / (1 + square(b))", [](T a, T b, V) { return a / (1 + square(b)); }},
      {"atan2(a, 1 + square(b))", [](T a, T b, V) { return atan2(a, 1 + square(b)); }},
      {"pow(1 + sigmoid(a), tanh(b))", [](T a, T b, V) { return pow(1 + sigmoid(a), tanh(b)); }},
      {"where(c, a, b)", [](T a, T b, V v) { return where(bits(v), a, b); }},
      {"masked_fill(a, c, 0.5)", [](T a, T, V v) { return masked_fill(a, bits(v), 0.5); }},
      {"dropout_with_keep(a, c, 0.25)", [](T a, T, V v) { return dropout_with_keep(a, bits(v), 0.25); }},
      // Along an axis.
      {"softmax(a, axis)", [](T a, T, V v) { return softmax(a, axis(v)); }},
      {"log_softmax(a, axis)", [](T a, T, V v) { return log_softmax(a, axis(v)); }},
      {"logsumexp(a, axis) expanded", [](T a, T, V v) { return over(logsumexp, a, v); }},
      {"mean(a, axis) expanded", [](T a, T, V v) { return over(mean, a, v); }},
      {"sum(a, axis) / 4 expanded", [](T a, T, V v) { return over(sum, a / 4, v); }},
      {"variance(tanh(a), axis) expanded",
       [](T a, T, V v) { return expand(variance(tanh(a), {axis(v)}, 1, true), {2, 4}); }},
      {"vector_norm(1 + square(tanh(a)), axis) expanded",
       [](T a, T, V v) { return expand(vector_norm(1 + square(tanh(a)), 2, {axis(v)}, true), {2, 4}); }},
      {"prod(tanh(a), axis) expanded", [](T a, T, V v) { return expand(prod(tanh(a), axis(v), true), {2, 4}); }},
      {"cumsum(a, axis) / 4", [](T a, T, V v) { return cumsum(a, axis(v)) / 4; }},
      {"cumprod(tanh(a), axis)", [](T a, T, V v) { return cumprod(tanh(a), axis(v)); }},
      {"layer_norm(a, weight b[0], bias b[1])",
       [](T a, T b, V) { return layer_norm(a, {4}, tanh(select(b, 0, 0)), select(b, 0, 1), 0.1); }},
      {"rms_norm(a, weight b[0])", [](T a, T b, V) { return rms_norm(a, {4}, tanh(select(b, 0, 0)), 0.1); }},
      {"cumulated glu of (a, b)", [](T a, T b, V v) { return glu(concat({a, b}, axis(v)), axis(v)); }},
      {"swiglu of (tanh(a), b)", [](T a, T b, V v) { return swiglu(concat({tanh(a), b}, axis(v)), axis(v)); }},
      // Products.
      {"matmul(matmul(a, tanh(b)^T) / 4, tanh(a))",
       [](T a, T b, V) { return matmul(matmul(a, transpose(tanh(b))) / 4, tanh(a)); }},
      {"linear(a, weight tanh of (b, b), bias a[0]) / 4",
       [](T a, T b, V) { return linear(a, tanh(concat({b, b})), select(a, 0, 0)) / 4; }},
      {"addmm(a, softmax(a b^T), b)",
       [](T a, T b, V) { return addmm(a, softmax(matmul(a, transpose(b))), b, 0.5, 0.5); }},
      {"einsum(ik,jk,jl->il of a, tanh(b), tanh(a)) / 8",
       [](T a, T b, V) { return einsum("ik,jk,jl->il", {a, tanh(b), tanh(a)}) / 8; }},
      {"attention(a, b, b)", [](T a, T b, V) { return attention(a, b, b).output; }},
      {"attention(a, b, a, causal, softcap 2)",
       [](T a, T b, V) { return attention(a, b, a, {.mask = AttentionMask::causal(), .softcap = 2}).output; }},
      {"scaled_dot_product_attention(b, a, a)",
       [](T a, T b, V) { return scaled_dot_product_attention(b, a, a).output; }},
      // Elements moved.
      {"reshape(transpose(a), [2, 4])", [](T a, T, V) { return reshape(transpose(a), {2, 4}); }},
      {"permuted [2, 2, 2] of a", [](T a, T, V) { return reshape(permute(reshape(a, {2, 2, 2}), {2, 0, 1}), {2, 4}); }},
      {"flip(a, axis)", [](T a, T, V v) { return flip(a, {axis(v)}); }},
      {"roll(a, 1, axis)", [](T a, T, V v) { return roll(a, {1}, {axis(v)}); }},
      {"narrow of (a, b)", [](T a, T b, V v) { return narrow(concat({a, b}, 1), 1, v % 5, 4); }},
      {"every other of (a, b)", [](T a, T b, V v) { return slice(concat({a, b}, 1), 1, v % 2, {}, 2); }},
      {"stack of a[0] and b[1]", [](T a, T b, V) { return stack({select(a, 0, 0), select(b, 0, 1)}); }},
      {"padded part of a", [](T a, T, V) { return pad(narrow(a, 1, 1, 2), {0, 1}, {0, 1}, 0.25); }},
      {"repeat of a's half", [](T a, T, V) { return repeat(narrow(a, 1, 0, 2), {1, 2}); }},
      {"repeat_interleave of a's half", [](T a, T, V) { return repeat_interleave(narrow(a, 1, 1, 2), 2, 1); }},
      {"tril(a)", [](T a, T, V) { return tril(a); }},
      {"triu(a, 1)", [](T a, T, V) { return triu(a, 1); }},
      {"gather(a, 1, i)", [](T a, T, V v) { return gather(a, 1, numbers(v, 4)); }},
      {"scatter_add(a, 1, i, b)", [](T a, T b, V v) { return scatter_add(a, 1, numbers(v, 4), b) / 4; }},
      {"index_select(a, 0, [1, 1])", [](T a, T, V) { return index_select(a, 0, tensor<std::int64_t>({1, 1})); }},
      {"embedding(a, [1, 0])", [](T a, T, V) { return embedding(a, tensor<std::int64_t>({1, 0})); }},
      {"rope(a)", [](T a, T, V v) {
         return rope(a, tensor<std::int64_t>({1, 5}), {.layout = v % 2 ? RopeLayout::half : RopeLayout::interleaved});
       }},
      // Losses, as factors.
      {"b * cross_entropy(a, [1, 3])",
       [](T a, T b, V) { return tanh(b) * cross_entropy(a, tensor<std::int64_t>({1, 3})); }},
      {"b * mse_loss(tanh(a), b)", [](T a, T b, V) { return tanh(b) * mse_loss(tanh(a), tanh(b)); }},
      {"binary_cross_entropy_with_logits(a, sigmoid(b), none)",
       [](T a, T b, V) {
         return binary_cross_entropy_with_logits(a, sigmoid(b), {}, {}, Reduction::none);
       }},
      {"kl_div(log_softmax(a), softmax(b), none)",
       [](T a, T b, V) { return kl_div(log_softmax(a), softmax(b), Reduction::none); }},
  };
  return ops;
}

}  // namespace heed::test::fuzz
