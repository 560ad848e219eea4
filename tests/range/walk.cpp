#include "walk.h"

#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>

namespace heed::test {
namespace {

// Exponentials live where the powers of two are few: another walk in equal steps.
template <class T>
std::vector<T> points_of(const UnaryRow& row) {
  std::vector<T> points = whole_range<T>(sizeof(T) == 4 ? 2 : 1, row.switches);
  const double end = sizeof(T) == 4 ? 110 : 760;
  constexpr int steps = 3001;
  for (int i = 0; i < steps; ++i) points.push_back(static_cast<T>(-end + i * (2 * end / steps)));
  for (int i = 0; i < steps; ++i) points.push_back(static_cast<T>(-4 + i * (8.0 / steps)));
  return points;
}

Quad limit_point(Quad x) { return isinfq(x) ? copysignq(far_out(), x) : x; }

// References are computed once for all forms and targets.
template <class T>
struct Wanted {
  std::vector<T> points;
  std::vector<Jet> jets;
};
template <class T>
const Wanted<T>& wanted_of(const UnaryRow& row) {
  static std::map<const UnaryRow*, Wanted<T>> all;
  auto [entry, fresh] = all.try_emplace(&row);
  if (fresh) {
    entry->second.points = points_of<T>(row);
    for (const T x : entry->second.points)
      entry->second.jets.push_back(row.wanted(limit_point(static_cast<Quad>(x))));
  }
  return entry->second;
}

Quad limit_value(Quad wanted) {  // beyond every T, and not a NaN
  return fabsq(wanted) >= sqrtq(far_out()) / 2 ? copysignq(static_cast<Quad>(HUGE_VAL), wanted) : wanted;
}

Quad largest_term(const UnaryRow& row, int order, Quad x) {
  for (const Crossing& c : row.crossings) {
    if (c.order == order && fabsq(x - quad(c.at)) <= fabsq(quad(c.at)) / 8) return c.largest_term(x);
  }
  return 0;
}

template <class T>
void compare(const UnaryRow& row, int order, const Tensor& got, const Wanted<T>& wanted, Worst& worst) {
  const auto k = static_cast<std::size_t>(order);
  const std::vector<T> g = got.to_vector<T>();
  for (std::size_t i = 0; i < wanted.points.size(); ++i) {
    const Jet& jet = wanted.jets[i];
    const T x = wanted.points[i];
    Quad right = order == 0 ? jet.value : order == 1 ? jet.first : jet.second;
    if (std::isinf(x)) right = limit_value(right);
    const double off = ulps_off<T>(g[i], right, largest_term(row, order, static_cast<Quad>(x)));
    if (off <= worst.ulps[k]) continue;
    worst.note(k, off, fmt::format("at {} is {}, not {}", x, g[i], static_cast<double>(right)));
  }
}

// Zeros where y does not depend on x.
Tensor slope_of(const Tensor& y, const Tensor& x, bool record) {
  const Tensor one = ones(y.shape(), y.dtype());
  const Tensor dx = y.requires_grad()
                        ? grad(y, x, {.grad_outputs = {one}, .create_graph = record, .allow_unused = true})
                        : Tensor();
  return dx.defined() ? dx : zeros(x.shape(), x.dtype());
}

template <class T>
Worst walk_typed(const UnaryRow& row, Form form) {
  const Wanted<T>& wanted = wanted_of<T>(row);
  const auto n = static_cast<std::int64_t>(wanted.points.size());
  std::optional<NoFusion> guard;
  if (form == Form::composite) guard.emplace();
  Tensor x = from_span<T>(wanted.points, {n}).set_requires_grad();
  Worst worst;
  const Tensor y = row.function(x);
  compare(row, 0, y.detach(), wanted, worst);
  const Tensor dx = slope_of(y, x, form != Form::fused);
  compare(row, 1, dx, wanted, worst);
  if (form != Form::fused) compare(row, 2, slope_of(dx, x, false), wanted, worst);
  return worst;
}

}  // namespace

void Worst::note(std::size_t order, double off, const std::string& place) {
  ulps[order] = off;
  where[order] = place;
}

Worst walk(const UnaryRow& row, DType dtype, Form form) {
  return dtype == DType::f32 ? walk_typed<float>(row, form) : walk_typed<double>(row, form);
}

}  // namespace heed::test
