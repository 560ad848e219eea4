#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <heed/check/function.h>
#include <heed/core/arguments.h>
#include <heed/core/elements.h>

namespace heed::check {

std::vector<Tensor> leaves_of(std::string_view op, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) {
    Tensor leaf = copy_of(x);
    if (x.requires_grad()) {
      check_dtype(op, "an input that requires grad", x, {DType::f32, DType::f64});
      leaf.set_requires_grad();
    }
    leaves.push_back(std::move(leaf));
  }
  if (wanted_of(leaves).empty()) fail<GradError>(op, "no input requires grad", {}, "at least one");
  return leaves;
}

std::vector<Tensor> wanted_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> wanted;
  std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(wanted),
               [](const Tensor& x) { return x.requires_grad(); });
  return wanted;
}

std::int64_t wanted_elements(const std::vector<Tensor>& leaves) {
  std::int64_t n = 0;
  for (const Tensor& x : wanted_of(leaves)) n += x.numel();
  return n;
}

std::vector<double> numbers_of(const Tensor& x) {
  const auto convert = [](const auto& values) { return std::vector<double>(values.begin(), values.end()); };
  switch (x.dtype()) {
    case DType::boolean:
      return convert(x.to_vector<bool>());
    case DType::i32:
      return convert(x.to_vector<std::int32_t>());
    case DType::i64:
      return convert(x.to_vector<std::int64_t>());
    case DType::f32:
      return convert(x.to_vector<float>());
    default:
      return x.to_vector<double>();
  }
}

double epsilon_of(DType dtype) {
  return dtype == DType::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
}

double coarsest_epsilon(const std::vector<Tensor>& tensors) {
  double epsilon = epsilon_of(DType::f64);
  for (const Tensor& x : tensors) epsilon = std::max(epsilon, epsilon_of(x.dtype()));
  return epsilon;
}

Shape position_of(const Shape& shape, std::int64_t index) {
  Shape position = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    position[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return position;
}

std::string difference_between(std::string_view name, const std::vector<Tensor>& a,
                               const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return fmt::format("{} {}s, then {}", a.size(), name, b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].defined() != b[i].defined()) return fmt::format("{} {} is undefined at times", name, i);
    if (!a[i].defined()) continue;
    if (a[i].shape() != b[i].shape()) {
      return fmt::format("{} {} is {}, then {}", name, i, a[i].shape().str(), b[i].shape().str());
    }
    const auto x = numbers_of(a[i]);
    const auto y = numbers_of(b[i]);
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (std::bit_cast<std::uint64_t>(x[k]) == std::bit_cast<std::uint64_t>(y[k])) continue;
      return fmt::format("{} {} at {} is {:.17g}, then {:.17g}", name, i,
                         position_of(a[i].shape(), static_cast<std::int64_t>(k)).str(), x[k], y[k]);
    }
  }
  return {};
}

std::string nonfinite_in(std::string_view name, const std::vector<Tensor>& tensors,
                         const std::vector<bool>& used) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!used[i]) continue;
    const auto values = numbers_of(tensors[i]);
    const auto bad = std::find_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
    if (bad == values.end()) continue;
    return fmt::format("{} {} at {} is {}", name, i,
                       position_of(tensors[i].shape(), bad - values.begin()).str(), *bad);
  }
  return {};
}

}  // namespace heed::check
