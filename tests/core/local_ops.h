// Small recorded f64 operations, so that the tape is tested without the operations of heed/ops.
#pragma once

#include <cmath>
#include <vector>

#include <heed/core/backward.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/core/view.h>

namespace heed::test {

template <class F>
Tensor map_elements(const Tensor& x, F&& f) {
  std::vector<double> values = x.to_vector<double>();
  for (double& v : values) v = f(v);
  return from_span(std::span<const double>(values), x.shape());
}

// y = s x
inline Tensor scale(const Tensor& x, double s);
struct ScaleVjp {
  double s = 0;
  void vjp(VjpContext& context) const { context.set(0, scale(context.cotangent(), s)); }
};
inline Tensor scale(const Tensor& x, double s) {
  Tensor y = map_elements(x, [s](double v) { return s * v; });
  record("scale", {&x}, y, [s] { return ScaleVjp{s}; });
  return y;
}

// y = a b
inline Tensor mul(const Tensor& a, const Tensor& b);
struct MulVjp {
  SavedTensor a;
  SavedTensor b;
  void vjp(VjpContext& context) const {
    if (context.needs(0)) context.set(0, mul(context.cotangent(), context.unpack(b)));
    if (context.needs(1)) context.set(1, mul(context.cotangent(), context.unpack(a)));
  }
};
inline Tensor mul(const Tensor& a, const Tensor& b) {
  std::vector<double> values = a.to_vector<double>();
  const std::vector<double> other = b.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= other.at(i);
  Tensor y = from_span(std::span<const double>(values), a.shape());
  record("mul", {&a, &b}, y, [&] { return MulVjp{save_input(a, "a"), save_input(b, "b")}; });
  return y;
}

// y = e^x
struct ExpVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const { context.set(0, mul(context.cotangent(), context.unpack(y))); }
};
inline Tensor exp(const Tensor& x) {
  Tensor y = map_elements(x, [](double v) { return std::exp(v); });
  record("exp", {&x}, y, [&] { return ExpVjp{save_output(y, "y")}; });
  return y;
}

// y = Σ x, without axes
inline Tensor sum(const Tensor& x);
inline Tensor broadcast(const Tensor& x, const Shape& shape);
struct SumVjp {
  Shape shape;
  void vjp(VjpContext& context) const { context.set(0, broadcast(context.cotangent(), shape)); }
};
struct BroadcastVjp {
  void vjp(VjpContext& context) const { context.set(0, sum(context.cotangent())); }
};
inline Tensor sum(const Tensor& x) {
  double total = 0;
  for (const double v : x.to_vector<double>()) total += v;
  Tensor y = scalar(total);
  record("sum", {&x}, y, [&] { return SumVjp{x.shape()}; });
  return y;
}

// A tensor without axes, repeated: a view with strides of 0.
inline Tensor broadcast(const Tensor& x, const Shape& shape) {
  Tensor y = view_of(x, expand_view("broadcast", x.view(), shape));
  record("broadcast", {&x}, y, [] { return BroadcastVjp{}; });
  return y;
}

// y0 = 2x, y1 = 3x: one node with two outputs
struct TwoVjp {
  void vjp(VjpContext& context) const {
    context.set(0, accumulate(scale(context.cotangent(0), 2), scale(context.cotangent(1), 3)));
  }
};
inline std::pair<Tensor, Tensor> double_and_triple(const Tensor& x) {
  Tensor twice = map_elements(x, [](double v) { return 2 * v; });
  Tensor thrice = map_elements(x, [](double v) { return 3 * v; });
  record("double_and_triple", {&x}, {&twice, &thrice}, [] { return TwoVjp{}; });
  return {twice, thrice};
}

inline Tensor leaf(Tensor x) { return x.set_requires_grad(); }
inline Tensor leaf(double value) { return leaf(scalar(value)); }

}  // namespace heed::test
