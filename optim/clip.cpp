#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/optim/clip.h>

namespace heed::optim {
namespace {

constexpr std::int64_t grain = 16384;

// Σ (x · 2^exponent)². Chunks are joined in order, so the sum is the same for every thread count.
double sum_of_squares(const Tensor& gradient, int exponent) {
  const Tensor x = gradient.is_contiguous() ? gradient : copy_of(gradient);
  const double scale = std::ldexp(1.0, exponent);
  return visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* data = x.data<T>();
    const auto partial = [data, scale](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t lanes = 8;
      double sums[lanes] = {};
      const auto add = [&](double& sum, T element) {
        const double value = static_cast<double>(element) * scale;
        sum += value * value;
      };
      std::int64_t i = begin;
      for (; i + lanes <= end; i += lanes) {
        for (std::int64_t k = 0; k < lanes; ++k) add(sums[k], data[i + k]);
      }
      for (; i < end; ++i) add(sums[0], data[i]);
      double total = 0;
      for (const double sum : sums) total += sum;
      return total;
    };
    return parallel_reduce(x.numel(), grain, 0.0, partial, [](double a, double b) { return a + b; });
  });
}

// The exponent e of the largest element, 2^(e−1) <= |x| < 2^e; the least there is for zeros. Whether there is
// a NaN or an infinity goes to `finite`.
int exponent_of(const Tensor& gradient, bool& finite) {
  int largest = std::numeric_limits<double>::min_exponent - std::numeric_limits<double>::digits;
  visit_floating(gradient.dtype(), [&]<class T>(std::type_identity<T>) {
    for (const T x : gradient.to_vector<T>()) {
      finite = finite && std::isfinite(x);
      int exponent = largest;
      if (std::isfinite(x) && x != 0) std::frexp(static_cast<double>(x), &exponent);
      largest = std::max(largest, exponent);
    }
  });
  return largest;
}

// 2^-exponent √sum is the norm: f64 gradients may have squares that f64 cannot hold.
struct Norm {
  double sum = 0;
  int exponent = 0;

  double value() const { return std::ldexp(std::sqrt(sum), -exponent); }
};

// Between these, no square that matters was rounded to 0 or to infinity.
constexpr double least_sum = 1e-280;
constexpr double largest_sum = 1e300;

[[noreturn]] void refuse(const std::string& name, double norm) {
  fail<GradError>("clip_grad_norm", "a gradient's norm is not finite",
                  fmt::format("that of {} is {}", name, norm), "finite gradients");
}

// Of parameters with gradients.
Norm norm_of(const nn::NamedTensors& parameters, bool allow_nonfinite) {
  Norm norm;
  bool extreme = false;
  for (const auto& [name, parameter] : parameters) {
    const double squares = sum_of_squares(parameter.grad(), 0);
    extreme = extreme || !(squares < largest_sum);
    norm.sum += squares;
  }
  if (!extreme && norm.sum >= least_sum && norm.sum < largest_sum) return norm;
  constexpr int widest = 1000;  // exponents beyond it would leave squares no room either
  int largest = -widest;
  for (const auto& [name, parameter] : parameters) {
    bool finite = true;
    largest = std::max(largest, exponent_of(parameter.grad(), finite));
    if (!finite && !allow_nonfinite) refuse(name, std::sqrt(sum_of_squares(parameter.grad(), 0)));
    if (!finite) return norm;
  }
  norm = {0, std::clamp(-largest, -widest, widest)};
  for (const auto& [name, parameter] : parameters) {
    norm.sum += sum_of_squares(parameter.grad(), norm.exponent);
    if (!std::isfinite(norm.value()) && !allow_nonfinite) refuse(name, norm.value());
  }
  return norm;
}

// fraction · 2^exponent: the quotient of a small longest norm and a large norm may be no normal number.
struct Factor {
  double fraction;
  int exponent;
};

Factor factor_of(double max_norm, double norm) {
  int above = 0;
  int below = 0;
  const double a = std::frexp(max_norm, &above);
  const double b = std::frexp(norm, &below);
  return {a / b, above - below};
}

// A gradient may be a view, or shared with another parameter's: then it is copied before it is scaled.
void scale_gradient(Tensor parameter, const Factor& factor) {
  Tensor gradient = parameter.grad();
  parameter.set_grad({});
  if (!gradient.owns_storage_alone() || !gradient.is_contiguous()) gradient = copy_of(gradient);
  visit_floating(gradient.dtype(), [&]<class T>(std::type_identity<T>) {
    T* data = gradient.mutable_data<T>();
    const double product = std::ldexp(factor.fraction, factor.exponent);
    const bool one = product >= static_cast<double>(std::numeric_limits<T>::min());
    const T f = static_cast<T>(one ? product : std::ldexp(factor.fraction, factor.exponent / 2));
    const T g = static_cast<T>(one ? 1.0 : std::ldexp(1.0, factor.exponent - factor.exponent / 2));
    parallel_for(gradient.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) data[i] = data[i] * f * g;
    });
  });
  parameter.set_grad(std::move(gradient));
}

}  // namespace

double clip_grad_norm(const nn::NamedTensors& parameters, double max_norm, const ClipOptions& options) {
  check_value(max_norm > 0, "clip_grad_norm", "max_norm", max_norm, "above 0");
  const NoGrad guard;
  std::unordered_set<const TensorImpl*> seen;
  nn::NamedTensors with_gradient;
  for (const auto& [name, parameter] : parameters) {
    check_defined("clip_grad_norm", name, parameter);
    if (!parameter.grad().defined() || !seen.insert(parameter.impl()).second) continue;
    with_gradient.emplace_back(name, parameter);
  }
  const double norm = norm_of(with_gradient, options.allow_nonfinite).value();
  if (std::isfinite(norm) && max_norm < norm + 1e-6) {
    const Factor factor = factor_of(max_norm, norm + 1e-6);
    for (const auto& [name, parameter] : with_gradient) scale_gradient(parameter, factor);
  }
  return norm;
}

}  // namespace heed::optim
