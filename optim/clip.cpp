#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/optim/clip.h>

namespace heed::optim {
namespace {

constexpr std::int64_t grain = 16384;

// Chunks are joined in order, so the sum is the same for every thread count.
double sum_of_squares(const Tensor& gradient) {
  const Tensor x = gradient.is_contiguous() ? gradient : copy_of(gradient);
  return visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* data = x.data<T>();
    const auto partial = [data](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t lanes = 8;
      double sums[lanes] = {};
      std::int64_t i = begin;
      for (; i + lanes <= end; i += lanes) {
        for (std::int64_t k = 0; k < lanes; ++k) {
          const auto value = static_cast<double>(data[i + k]);
          sums[k] += value * value;
        }
      }
      for (; i < end; ++i) sums[0] += static_cast<double>(data[i]) * static_cast<double>(data[i]);
      double total = 0;
      for (const double sum : sums) total += sum;
      return total;
    };
    return parallel_reduce(x.numel(), grain, 0.0, partial, [](double a, double b) { return a + b; });
  });
}

// A gradient may be a view, or shared with another parameter's: then it is copied before it is scaled.
void scale_gradient(Tensor parameter, double factor) {
  Tensor gradient = parameter.grad();
  parameter.set_grad({});
  if (!gradient.owns_storage_alone() || !gradient.is_contiguous()) gradient = copy_of(gradient);
  visit_floating(gradient.dtype(), [&]<class T>(std::type_identity<T>) {
    T* data = gradient.mutable_data<T>();
    const T f = static_cast<T>(factor);
    parallel_for(gradient.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) data[i] *= f;
    });
  });
  parameter.set_grad(std::move(gradient));
}

}  // namespace

double clip_grad_norm(const nn::NamedTensors& parameters, double max_norm, const ClipOptions& options) {
  check_value(max_norm > 0, "clip_grad_norm", "max_norm", max_norm, "above 0");
  const NoGrad guard;
  std::unordered_set<const TensorImpl*> seen;
  std::vector<Tensor> with_gradient;
  double total = 0;
  for (const auto& [name, parameter] : parameters) {
    check_defined("clip_grad_norm", name, parameter);
    if (!parameter.grad().defined() || !seen.insert(parameter.impl()).second) continue;
    const double squares = sum_of_squares(parameter.grad());
    if (!std::isfinite(squares) && !options.allow_nonfinite) {
      fail<GradError>("clip_grad_norm", "a gradient's norm is not finite",
                      fmt::format("that of {} is {}", name, std::sqrt(squares)), "finite gradients");
    }
    total += squares;
    with_gradient.push_back(parameter);
  }
  const double norm = std::sqrt(total);
  const double factor = max_norm / (norm + 1e-6);
  if (std::isfinite(norm) && factor < 1) {
    for (const Tensor& parameter : with_gradient) scale_gradient(parameter, factor);
  }
  return norm;
}

}  // namespace heed::optim
