#include <heed/core/checkpoint.h>
#include <heed/core/custom_op.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/concat.h>
#include <heed/ops/dropout.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/matmul.h>
#include <heed/ops/power.h>
#include <heed/ops/prod.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/ops/triangle.h>
#include <heed/ops/where.h>

#include "zoo.h"

// Models without attention.
namespace heed::test::zoo {
namespace {

Tensor recurrent(const Tensor& x) {
  const Tensor of_input = parameter(width, width, 8);
  const Tensor of_state = parameter(width, width, 9);
  Tensor state = zeros({samples, width}, DType::f64);
  std::vector<Tensor> states;
  for (std::int64_t t = 0; t < positions; ++t) {
    state = tanh(add(matmul(select(x, 1, t), of_input), matmul(state, of_state)));
    states.push_back(state);
  }
  return stack(states, 1);
}

Tensor convolution(const Tensor& x) {
  return relu(add(matmul(x, parameter(width, width, 8)), matmul(later(x), parameter(width, width, 9))));
}

Tensor running_mean(const Tensor& x) {
  const Tensor counts = reshape(arange(1, positions + 1, 1, DType::f64), {positions, 1});
  return div(cumsum(x, 1), counts);
}

// Σ_j≤i k_j v_jᵀ applied to q_i.
Tensor linear_attention(const Tensor& x) {
  const Tensor outer = mul(unsqueeze(dense(x), -1), unsqueeze(x, -2));
  return squeeze(matmul(unsqueeze(x, -2), cumsum(outer, 1)), -2);
}

Tensor triangular(const Tensor& x) { return matmul(tril(parameter(positions, positions)), x); }

// Each token takes the expert that its own numbers choose.
Tensor experts(const Tensor& x) {
  const Tensor first = gt(slice(x, -1, 0, 1), 0);
  return where(first, matmul(x, parameter(width, width, 8)), matmul(x, parameter(width, width, 9)));
}

// Statistics of the training run, fixed.
Tensor fixed_statistics(const Tensor& x) {
  Generator generator(2);
  const Tensor mean = randn({width}, generator, DType::f64);
  const Tensor deviation = exp(randn({width}, generator, DType::f64));
  return div(sub(x, mean), deviation);
}

Tensor custom_cube(const Tensor& x) {
  return custom_op(
      "cube", {x},
      [&](CustomSave& save) {
        save("x", x);
        return mul(x, mul(x, x));
      },
      [](CustomVjp& c) { c.set(0, mul(c.cotangent(), mul(3, square(c.saved("x"))))); });
}

Tensor dropped(const Tensor& x) {
  Generator draws(4);
  return dropout(running_mean(x), 0.3, draws);
}

// A row of its own in front, the last one cut off: y_0 hears nothing at all.
Tensor shifted_right(const Tensor& x) { return add(later(x), parameter(1, width)); }

}  // namespace

std::vector<Honest> honest_mixers() {
  std::vector<Honest> models;
  models.push_back({"position by position", dense, sequence()});
  models.push_back(
      {"norm of each position", [](const Tensor& x) { return layer_norm(x, {width}); }, sequence()});
  models.push_back({"a recurrent network", recurrent, sequence()});
  models.push_back({"a causal convolution", convolution, sequence()});
  models.push_back({"two convolutions in a checkpoint",
                    [](const Tensor& x) {
                      return checkpoint([](const Tensor& z) { return convolution(convolution(z)); }, x);
                    },
                    sequence()});
  models.push_back({"a running mean", running_mean, sequence()});
  models.push_back({"linear attention", linear_attention, sequence()});
  models.push_back({.name = "a lower triangle", .model = triangular, .x = sequence(), .warns = true});
  models.push_back({"experts", experts, sequence()});
  models.push_back({"batch statistics in eval mode", fixed_statistics, sequence()});
  models.push_back(
      {"a custom operation", [](const Tensor& x) { return running_mean(custom_cube(x)); }, sequence()});
  models.push_back({"dropout", dropped, sequence()});
  models.push_back({"shifted right", shifted_right, sequence()});
  models.push_back({"cumulative product", [](const Tensor& x) { return cumprod(tanh(x), 1); }, sequence()});
  models.push_back({"without a tape", [](const Tensor& x) { return running_mean(x.detach()); }, sequence()});
  return models;
}

}  // namespace heed::test::zoo
