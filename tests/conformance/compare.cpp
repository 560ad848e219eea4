#include "compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <heed/core/factory.h>

namespace heed::conformance {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_short_float(const std::string& type) { return type == "F16" || type == "BF16"; }

std::string short_name(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "BOOL";
    case DType::i32:
      return "I32";
    case DType::i64:
      return "I64";
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::bf16:
      return "BF16";
  }
  return "?";
}

std::vector<double> as_doubles(const Tensor& x) {
  return visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const std::vector<T> values = x.to_vector<T>();
    return std::vector<double>(values.begin(), values.end());
  });
}

std::vector<std::int64_t> as_integers(const Tensor& x) {
  return visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const std::vector<T> values = x.to_vector<T>();
    std::vector<std::int64_t> result(values.size());
    std::transform(values.begin(), values.end(), result.begin(),
                   [](T value) { return static_cast<std::int64_t>(value); });
    return result;
  });
}

/// How many times the bound the error is: at most 1 where the element is right.
double excess(double got, double want, const Bound& bound) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : infinity;
  if (std::isinf(want) || std::isinf(got)) return got == want ? 0 : infinity;
  const double error = std::fabs(got - want);
  const double allowed = bound.atol + bound.rtol * std::fabs(want);
  if (error <= allowed) return allowed > 0 ? error / allowed : 0;
  return allowed > 0 ? error / allowed : infinity;
}

std::string index_text(std::int64_t position, const Shape& shape) {
  Shape index = Shape::filled(shape.rank(), 0);
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return index.str();
}

std::optional<std::string> compare_floats(const Tensor& got, const Tensor& want, const std::string& type,
                                          const Bound& bound) {
  std::vector<double> actual = as_doubles(got);
  const std::vector<double> wanted = as_doubles(want);
  if (is_short_float(type)) {
    for (double& value : actual) value = round_to_format(value, type);
  }
  std::size_t worst = 0;
  std::size_t wrong = 0;
  double worst_excess = -1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double times = excess(actual[i], wanted[i], bound);
    if (!(times <= 1)) ++wrong;
    if (times > worst_excess) {
      worst_excess = times;
      worst = i;
    }
  }
  if (wrong == 0) return {};
  return fmt::format("element {}: got {}, want {}, bound {:.3g}; {} of {} wrong",
                     index_text(static_cast<std::int64_t>(worst), want.shape()), actual[worst], wanted[worst],
                     bound.atol + bound.rtol * std::fabs(wanted[worst]), wrong, wanted.size());
}

std::optional<std::string> compare_exactly(const Tensor& got, const Tensor& want) {
  const std::vector<std::int64_t> actual = as_integers(got);
  const std::vector<std::int64_t> wanted = as_integers(want);
  std::size_t worst = wanted.size();
  std::size_t wrong = 0;
  const auto distance = [&](std::size_t i) {
    return std::fabs(static_cast<double>(actual[i]) - static_cast<double>(wanted[i]));
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (actual[i] == wanted[i]) continue;
    ++wrong;
    if (worst == wanted.size() || distance(i) > distance(worst)) worst = i;
  }
  if (wrong == 0) return {};
  return fmt::format("element {}: got {}, want {}, bound 0; {} of {} wrong",
                     index_text(static_cast<std::int64_t>(worst), want.shape()), actual[worst], wanted[worst],
                     wrong, wanted.size());
}

}  // namespace

double round_to_format(double value, const std::string& format) {
  const bool half = format == "F16";
  const int fraction_bits = half ? 10 : 7;
  const int least_exponent = half ? -14 : -126;
  const int greatest_exponent = half ? 15 : 127;
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), least_exponent);
  const double step = std::ldexp(1.0, exponent - fraction_bits);
  const double rounded = std::nearbyint(value / step) * step;
  const double limit = std::ldexp(1.0, greatest_exponent + 1);
  return std::fabs(rounded) >= limit ? std::copysign(infinity, value) : rounded;
}

Tensor round_to_format(const Tensor& x, const std::string& format) {
  const std::vector<double> values = as_doubles(x);
  std::vector<float> rounded(values.size());
  std::transform(values.begin(), values.end(), rounded.begin(),
                 [&](double value) { return static_cast<float>(round_to_format(value, format)); });
  return from_span(std::span<const float>(rounded), x.shape());
}

std::optional<std::string> compare_form(const Tensor& got, const Tensor& want, const std::string& type) {
  if (!got.defined()) return "was not computed";
  const bool right_type = is_short_float(type) ? is_floating(got.dtype()) : short_name(got.dtype()) == type;
  if (!right_type) return fmt::format("type is {}, want {}", short_name(got.dtype()), type);
  if (!(got.shape() == want.shape())) {
    return fmt::format("shape is {}, want {}", got.shape().str(), want.shape().str());
  }
  return {};
}

std::optional<std::string> compare(const Tensor& got, const Tensor& want, const std::string& type,
                                   const Bound& bound) {
  if (std::optional<std::string> difference = compare_form(got, want, type)) return difference;
  return is_floating(got.dtype()) ? compare_floats(got, want, type, bound) : compare_exactly(got, want);
}

}  // namespace heed::conformance
