#pragma once

#include <functional>
#include <utility>

#include <heed/check/function.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/matmul.h>
#include <heed/ops/softmax.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>

// Operations with a rule for the gradient of the test's choice, right or wrong.
namespace heed::test {

using Value = std::function<Tensor(const Tensor& x)>;
using Rule = std::function<Tensor(const Tensor& x, const Tensor& dy)>;

struct PlantedVjp {
  SavedTensor x;
  Rule rule;
  void vjp(VjpContext& context) const { context.set(0, rule(context.unpack(x), context.cotangent())); }
};

/// y = value(x), dx = rule(x, dy).
inline check::Function planted(Value value, Rule rule) {
  return [value = std::move(value), rule = std::move(rule)](const std::vector<Tensor>& x) {
    Tensor y = value(x[0].detach());
    record("planted", {&x[0]}, y, [&] { return PlantedVjp{save_input(x[0], "x"), rule}; });
    return std::vector<Tensor>{y};
  };
}

inline check::Function function_of(Value f) {
  return [f = std::move(f)](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x[0])}; };
}

inline Tensor point(const Shape& shape, DType dtype = DType::f64, std::uint64_t seed = 1) {
  Generator generator(seed);
  return randn(shape, generator, dtype).set_requires_grad();
}

/// exp with its gradient times `factor`.
inline check::Function scaled_exp(double factor) {
  return planted([](const Tensor& x) { return exp(x); },
                 [=](const Tensor& x, const Tensor& dy) { return mul(mul(dy, exp(x)), factor); });
}

/// exp with the gradient of element `only` times 1.01.
inline check::Function one_element_exp(std::int64_t only) {
  return planted([](const Tensor& x) { return exp(x); },
                 [=](const Tensor& x, const Tensor& dy) {
                   Tensor scale = ones(x.shape(), x.dtype());
                   if (x.dtype() == DType::f32) {
                     scale.mutable_data<float>()[only] = 1.01F;
                   } else {
                     scale.mutable_data<double>()[only] = 1.01;
                   }
                   return mul(mul(dy, exp(x)), scale);
                 });
}

/// x W for a square W with dx = dy W in the place of dy Wᵀ.
inline check::Function transposed_product(const Tensor& w) {
  return planted([=](const Tensor& x) { return matmul(x, w); },
                 [=](const Tensor&, const Tensor& dy) { return matmul(dy, w); });
}

/// softmax with the Jacobian's diagonal alone.
inline check::Function diagonal_softmax() {
  return planted([](const Tensor& x) { return softmax(x); },
                 [](const Tensor& x, const Tensor& dy) {
                   const Tensor y = softmax(x);
                   return mul(dy, sub(y, mul(y, y)));
                 });
}

/// x² with a right gradient that is detached from x: wrong in second order only.
inline check::Function first_order_square() {
  return planted([](const Tensor& x) { return mul(x, x); },
                 [](const Tensor& x, const Tensor& dy) { return mul(dy, mul(x.detach(), 2)); });
}

}  // namespace heed::test
