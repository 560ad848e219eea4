#include <map>
#include <optional>

#include <fmt/format.h>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/ops/cast.h>

#include "walk.h"

namespace heed::test {
namespace {

// Every eleventh power of two or so, with another point beside it, and numbers of everyday.
template <class T>
std::vector<T> marks(double largest) {
  using Limits = std::numeric_limits<T>;
  constexpr int step = sizeof(T) == 4 ? 23 : 171;
  std::vector<T> above = {
      0, T(0.5), T(0.75), 1,   std::nextafter(T(1), T(2)), T(1.625),      2,
      3, 88,     100,     700, Limits::denorm_min(),       Limits::max(), Limits::infinity()};
  for (int e = Limits::min_exponent - Limits::digits + 1; e < Limits::max_exponent; e += step) {
    above.push_back(std::ldexp(T(1), e));
    above.push_back(std::ldexp(T(1.381966), e + 1));
  }
  std::vector<T> all;
  if (std::isinf(largest)) all.push_back(Limits::quiet_NaN());
  for (const T x : above) {
    if (static_cast<double>(x) <= largest) all.insert(all.end(), {x, -x});
  }
  return all;
}

template <class T>
struct Plane {
  std::vector<T> a, b;
  std::vector<PlaneJet> jets;
};

template <class T>
const Plane<T>& plane_of(const BinaryRow& row) {
  static std::map<const BinaryRow*, Plane<T>> all;
  auto [entry, fresh] = all.try_emplace(&row);
  if (!fresh) return entry->second;
  Plane<T>& plane = entry->second;
  for (const T a : marks<T>(row.largest_a)) {
    for (const T b : marks<T>(HUGE_VAL)) {
      plane.a.push_back(a);
      plane.b.push_back(b);
      plane.jets.push_back(row.wanted(static_cast<Quad>(a), static_cast<Quad>(b)));
    }
  }
  return plane;
}

template <class T>
void compare(const Plane<T>& plane, std::size_t order, const char* what, Quad PlaneJet::*part,
             const Tensor& got, Worst& worst) {
  const std::vector<T> g = got.to_vector<T>();
  for (std::size_t i = 0; i < g.size(); ++i) {
    const Quad right = plane.jets[i].*part;
    const double off = ulps_off<T>(g[i], right);
    if (off <= worst.ulps[order]) continue;
    worst.note(order, off,
               fmt::format("{} at ({}, {}) is {}, not {}", what, plane.a[i], plane.b[i], g[i],
                           static_cast<double>(right)));
  }
}

// Zeros where y does not depend on an operand.
std::vector<Tensor> slopes_of(const Tensor& y, const std::vector<Tensor>& x, bool record) {
  std::vector<Tensor> slopes(2);
  if (y.requires_grad()) {
    const Tensor outputs[] = {y};
    GradOptions options{.retain_graph = true, .create_graph = record, .allow_unused = true};
    options.grad_outputs = {ones(y.shape(), y.dtype())};
    slopes = grad(outputs, x, options);
  }
  for (Tensor& s : slopes) {
    if (!s.defined()) s = zeros(x[0].shape(), x[0].dtype());
  }
  return slopes;
}

template <class T>
Worst walk_typed(const BinaryRow& row, Form form) {
  const Plane<T>& plane = plane_of<T>(row);
  const auto n = static_cast<std::int64_t>(plane.a.size());
  std::optional<NoFusion> guard;
  if (form == Form::composite) guard.emplace();
  const std::vector<Tensor> x = {from_span<T>(plane.a, {n}), from_span<T>(plane.b, {n})};
  if (row.differentiable) {
    for (Tensor operand : x) operand.set_requires_grad();
  }
  const Tensor y = row.function(x[0], x[1]);
  Worst worst;
  compare(plane, 0, "y", &PlaneJet::value, cast(y.detach(), dtype_of<T>), worst);
  if (!row.differentiable) return worst;
  const auto dx = slopes_of(y, x, form != Form::fused);
  compare(plane, 1, "dy/da", &PlaneJet::a, dx[0].detach(), worst);
  compare(plane, 1, "dy/db", &PlaneJet::b, dx[1].detach(), worst);
  if (form == Form::fused) return worst;
  const auto first = slopes_of(dx[0], x, false);
  const auto second = slopes_of(dx[1], x, false);
  compare(plane, 2, "d²y/da²", &PlaneJet::aa, first[0], worst);
  compare(plane, 2, "d²y/da db", &PlaneJet::ab, first[1], worst);
  compare(plane, 2, "d²y/db da", &PlaneJet::ab, second[0], worst);
  compare(plane, 2, "d²y/db²", &PlaneJet::bb, second[1], worst);
  return worst;
}

}  // namespace

Worst walk(const BinaryRow& row, DType dtype, Form form) {
  return dtype == DType::f32 ? walk_typed<float>(row, form) : walk_typed<double>(row, form);
}

}  // namespace heed::test
