#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/record.h>
#include <heed/core/restore.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/extremum.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rounding.h>
#include <heed/ops/where.h>
#include <heed/ops/zero_norm.h>

namespace heed::detail {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The norm whose rule asks, while it does: only there is the slope at 0 of a norm, which is none, taken as 0.
constinit thread_local const Node* asking = nullptr;

struct NoDerivativeVjp {
  SavedTensor where_none;                // boolean, expands to the cotangent
  void vjp(VjpContext& context) const {  // y = v
    const Tensor& dy = context.cotangent();
    const Tensor asked = logical_and(context.unpack(where_none), ne(dy.detach(), 0));
    context.set(0, masked_fill(dy, asked, nan));
  }
};

// v, but 0 in the rows of the mask, where its derivative is NaN.
Tensor without_derivative(const Tensor& v, const Tensor& where_none) {
  Tensor y = contiguous(masked_fill(v.detach(), where_none, 0));
  record("zero_norm", {&v}, y, [&] { return NoDerivativeVjp{save_input(where_none, "where_none")}; });
  return y;
}

// Numbers of which no two have a simple ratio, in the rows of the mask; 0 in the others.
Tensor probe(const Tensor& zero, DType dtype, double step) {
  Tensor result = zeros(zero.shape(), dtype);
  visit_floating(dtype, [&]<class T>(std::type_identity<T>) {
    const std::vector<bool> at = zero.to_vector<bool>();
    T* to = result.mutable_data<T>();
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (at[i]) to[i] = static_cast<T>(1 + std::fmod(static_cast<double>(i + 1) * step, 1.0));
    }
  });
  return result;
}

// ∂dy/∂y of the rows of the mask, and where there is none: dy is no function of y's own element alone.
struct Slope {
  Tensor slope;  // in y's shape, with history; undefined where it is 0 throughout
  Tensor none;   // boolean, in y's shape
};

Slope slope_of(const Tensor& dy, const ZeroNorm& norm, const Tensor& zero) {
  const Tensor none = zeros(zero.shape(), DType::boolean);
  if (!dy.requires_grad()) return {{}, none};
  const Tensor ask = probe(zero, dy.dtype(), 0.6180339887498949);
  const Tensor again = probe(zero, dy.dtype(), 0.4142135623730951);
  const Restore<const Node*> asks(asking, norm.y.impl()->node.get());
  const auto with = [&](const Tensor& cotangent, const Tensor& input, bool record) {
    return grad(
        std::span(&dy, 1), std::span(&input, 1),
        {.grad_outputs = {cotangent}, .retain_graph = true, .create_graph = record, .allow_unused = true})[0];
  };
  const Tensor slope = with(ask, norm.y, true);
  const NoGrad guard;
  Tensor mixed = none;
  if (slope.defined()) {
    // Two questions agree on ∂dy_i/∂y_i unless other elements of y speak too.
    const Tensor first = mul(slope.detach(), again);
    const Tensor second = mul(with(again, norm.y, false), ask);
    const double rounding = dy.dtype() == DType::f32 ? 1e-4 : 1e-10;  // of a chain of operations
    // NaN is no agreement.
    mixed = logical_not(le(abs(sub(first, second)), mul(add(abs(first), abs(second)), rounding)));
  }
  const Tensor other = with(ask, norm.x, false);
  if (other.defined()) {
    // Along y nothing arrives at x, since a norm has no slope at 0: what does arrive came another way.
    Shape axes;
    for (int k = 0; k < norm.x.rank(); ++k) {
      if (norm.kept[k] != norm.x.shape()[k]) axes.push_back(k);
    }
    const Tensor size = axes.empty() ? abs(other) : amax(abs(other), axes, true);
    mixed = logical_or(mixed, ne(reshape(size, zero.shape()), 0));
  }
  mixed = logical_and(mixed, zero);
  return {slope.defined() ? div(slope, masked_fill(ask, logical_not(zero), 1)) : Tensor(), mixed};
}

}  // namespace

Tensor cotangent_of_norm(const Tensor& dy, const Tensor& y, const Shape& kept) {
  const Tensor cotangent = reshape(dy, kept);
  const Tensor zero = reshape(eq(y.detach(), 0), kept);
  if (asking == nullptr || asking == y.impl()->node.get()) return masked_fill(cotangent, zero, 0);
  return masked_fill(masked_fill(cotangent, zero, 0), logical_and(zero, ne(cotangent.detach(), 0)), nan);
}

Tensor slope_at_zero_norm(VjpContext& context, const ZeroNorm& norm) {
  if (norm.x.numel() == 0) return {};
  const Tensor& dy = context.cotangent();
  const Tensor zero = contiguous(eq(norm.y.detach(), 0));
  bool any = false;
  for (const bool at : zero.to_vector<bool>()) any = any || at;
  if (!any) return {};
  const Tensor flat = logical_and(zero, eq(dy.detach(), 0));
  auto [slope, none] = slope_of(dy, norm, flat);
  if (norm.kinks) none = logical_or(none, logical_and(zero, logical_not(flat)));
  if (slope.defined() && !norm.euclidean) none = logical_or(none, logical_and(flat, ne(slope.detach(), 0)));
  Tensor factor = slope.defined() ? masked_fill(slope, logical_or(logical_not(flat), none), 0)
                                  : zeros(norm.y.shape(), norm.y.dtype());
  // An infinite v of another row would make its 0 a NaN.
  const Tensor at_zero = masked_fill(norm.v, reshape(logical_not(zero), norm.kept), 0);
  const Tensor v = without_derivative(at_zero, reshape(none, norm.kept));
  return mul(v, reshape(masked_fill(factor, none, 1), norm.kept));
}

}  // namespace heed::detail
