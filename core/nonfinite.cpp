#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include <heed/core/anomaly.h>
#include <heed/core/check.h>
#include <heed/core/nonfinite.h>
#include <heed/core/strided_loop.h>
#include <heed/core/watch.h>

// Masks are −inf and anomalies NaN. Programs that use heed may be compiled as they like.
#if defined(__FAST_MATH__)
#error "heed itself must not be compiled with -ffast-math"
#endif

namespace heed {
namespace {

// Row-major number of the first element for which `test` holds.
template <class T, class Test>
std::optional<std::int64_t> find_first(const Tensor& x, Test&& test) {
  const T* base = x.data<T>() - x.offset();
  const StridedLoop<1> loop({&x.view()});
  std::int64_t seen = 0;
  std::optional<std::int64_t> found;
  loop.run(0, loop.numel(), [&](const auto& at, const auto& step, std::int64_t count) {
    for (std::int64_t i = 0; i < count && !found; ++i) {
      if (test(base[at[0] + i * step[0]])) found = seen + i;
    }
    seen += count;
  });
  return found;
}

std::string index_of(std::int64_t element, const Shape& shape) {
  Shape index = Shape::filled(shape.rank(), 0);
  for (int k = shape.rank() - 1; k >= 0; --k) {
    index[k] = element % shape[k];
    element /= shape[k];
  }
  return index.str();
}

[[noreturn]] void fail_nonfinite(const Node& node, const std::string& problem, const Nonfinite& found,
                                 const Tensor& x) {
  const std::string module = node.scope() == nullptr ? std::string() : node.scope()->path();
  fail<GradError>(
      node.op(),
      fmt::format("{} {} at {}", problem, found.is_nan ? "NaN" : "Inf", index_of(found.element, x.shape())),
      fmt::format("{}{}", describe(x), module.empty() ? "" : " in " + module),
      "finite numbers (AnomalyMode)");
}

}  // namespace

AnomalyMode::AnomalyMode() noexcept : former_(detail::watch().anomaly) { detail::watch().anomaly = true; }
AnomalyMode::~AnomalyMode() { detail::watch().anomaly = former_; }

bool anomaly_mode() noexcept { return detail::watch().anomaly; }

std::optional<Nonfinite> find_nonfinite(const Tensor& x) {
  if (!is_floating(x.dtype())) return {};
  return visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) -> std::optional<Nonfinite> {
    const auto first = find_first<T>(x, [](T v) { return !std::isfinite(v); });
    if (!first) return {};
    if (const auto nan = find_first<T>(x, [](T v) { return std::isnan(v); })) return Nonfinite{true, *nan};
    return Nonfinite{false, *first};
  });
}

namespace detail {

void check_results(const Node& node, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                   bool may_be_infinite) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto found = find_nonfinite(*outputs[i]);
    if (!found) continue;
    const auto finite = [](const Tensor* x) { return !x->defined() || !find_nonfinite(*x); };
    const bool finite_inputs = std::all_of(inputs.begin(), inputs.end(), finite);
    if (!found->is_nan && (may_be_infinite || !finite_inputs)) continue;
    const std::string which = outputs.size() == 1 ? "the result" : fmt::format("result {}", i);
    fail_nonfinite(node, which + (finite_inputs ? " became" : " of operands that are not all finite is"),
                   *found, *outputs[i]);
  }
}

void check_cotangent(const Node& node, std::size_t output, const Tensor& cotangent) {
  if (const auto found = find_nonfinite(cotangent)) {
    fail_nonfinite(node, fmt::format("the cotangent of result {}, as given or added up, is", output), *found,
                   cotangent);
  }
}

void check_gradient(const Node& node, std::size_t input, const Tensor& gradient) {
  if (const auto found = find_nonfinite(gradient)) {
    fail_nonfinite(node, fmt::format("the gradient of input {} became", input), *found, gradient);
  }
}

}  // namespace detail
}  // namespace heed
