#include <algorithm>
#include <cmath>
#include <utility>

#include <heed/check/line.h>
#include <heed/core/derivatives.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>

namespace heed::check {
namespace {

using Numbers = std::vector<double>;

Numbers flat(const std::vector<Tensor>& outputs, const std::vector<bool>& used) {
  Numbers row;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!used[i]) continue;
    const Numbers values = numbers_of(outputs[i]);
    row.insert(row.end(), values.begin(), values.end());
  }
  return row;
}

void move(Tensor& leaf, const Numbers& start, const Numbers& direction, double t) {
  if (!leaf.requires_grad() || leaf.numel() == 0) return;
  const NoGrad guard;
  if (leaf.dtype() == DType::f32) {
    float* x = leaf.mutable_data<float>();
    for (std::size_t i = 0; i < start.size(); ++i) x[i] = static_cast<float>(start[i] + t * direction[i]);
  } else {
    double* x = leaf.mutable_data<double>();
    for (std::size_t i = 0; i < start.size(); ++i) x[i] = start[i] + t * direction[i];
  }
}

}  // namespace

Line::Line(const char* op, const Function& function, const std::vector<Tensor>& inputs, Generator& generator)
    : function_(function), leaves_(leaves_of(op, inputs)) {
  for (Tensor& leaf : leaves_) {
    starts_.push_back(numbers_of(leaf));
    directions_.push_back(randn(leaf.shape(), generator, DType::f64).to_vector<double>());
    // Directions have about seven significant bits, so that t v and x + t v are exact for most steps t that
    // are powers of two.
    for (double& v : directions_.back()) v = leaf.requires_grad() ? std::round(v * 32) / 32 : 0.0;
  }
  const GradMode mode(true);
  for (const Tensor& y : function_(leaves_)) {
    used_.push_back(y.requires_grad());
    shapes_.push_back(y.shape());
    if (used_.back()) epsilon_ = std::max(epsilon_, epsilon_of(y.dtype()));
  }
  epsilon_ = std::max(epsilon_, coarsest_epsilon(leaves_));
}

Numbers Line::at(double t) {
  for (std::size_t i = 0; i < leaves_.size(); ++i) move(leaves_[i], starts_[i], directions_[i], t);
  return flat(evaluate(), used_);
}

std::vector<Tensor> Line::jacobian_product() {
  std::vector<Tensor> moving;
  std::vector<Tensor> tangents;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (!leaves_[i].requires_grad()) continue;
    moving.push_back(leaves_[i]);
    tangents.push_back(direction(i));
  }
  const Function of_moving = [&](const std::vector<Tensor>& x) {
    std::vector<Tensor> inputs;
    std::size_t next = 0;
    for (const Tensor& leaf : leaves_) inputs.push_back(leaf.requires_grad() ? x[next++] : leaf);
    std::vector<Tensor> used;
    const std::vector<Tensor> outputs = function_(inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (used_[i]) used.push_back(outputs[i]);
    }
    return used;
  };
  const NoGrad guard;  // the products themselves need no history; jvp records what it differentiates
  return jvp(of_moving, moving, tangents).products;
}

std::vector<double> Line::examine(Verdict& verdict, std::string& problem) {
  at(0);
  const std::vector<Tensor> once = evaluate();
  const std::vector<Tensor> product = jacobian_product();
  problem = difference_between("output", once, evaluate());
  if (problem.empty()) problem = difference_between("J v of output", product, jacobian_product());
  if (!problem.empty()) {
    verdict = Verdict::nondeterministic;
    problem = "two evaluations at one point differ: " + problem;
    return {};
  }
  problem = nonfinite_in("output", once, used_);
  if (problem.empty())
    problem = nonfinite_in("J v of output", product, std::vector<bool>(product.size(), true));
  if (!problem.empty()) {
    verdict = Verdict::nonfinite;
    problem = "not finite at the point: " + problem;
    return {};
  }
  return flat(product, std::vector<bool>(product.size(), true));
}

Numbers Line::noise() {
  // Many roundings of the inputs apart, yet very near for the function.
  const double spacing = 64 * coarsest_epsilon(wanted_of(leaves_));
  std::vector<Numbers> samples;
  for (int k = 0; k < 12; ++k) samples.push_back(at(k * spacing));
  const Numbers center = at(0);
  Numbers result;
  for (std::size_t i = 0; i < center.size(); ++i) {
    std::vector<long double> values;
    for (const Numbers& sample : samples) values.push_back(sample[i]);
    const double measured = numeric::rounding_noise(values);
    // Outputs whose rounding is the same everywhere show no noise, and yet are rounded, by about ε/4.
    result.push_back(std::max(std::isfinite(measured) ? measured : 0.0, epsilon_ / 4 * std::abs(center[i])));
  }
  return result;
}

GradcheckElement Line::place(std::int64_t entry) const {
  GradcheckElement element;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (!used_[i]) continue;
    const std::int64_t n = element_count(shapes_[i]);
    if (entry < n) return {.tensor = i, .index = entry, .position = position_of(shapes_[i], entry)};
    entry -= n;
  }
  return element;
}

std::vector<Tensor> Line::evaluate() {
  const NoGrad guard;
  ++evaluations_;
  return function_(leaves_);
}

Tensor Line::direction(std::size_t input) const {
  const Shape& shape = leaves_[input].shape();
  if (leaves_[input].dtype() == DType::f64)
    return from_span(std::span<const double>(directions_[input]), shape);
  const std::vector<float> v(directions_[input].begin(), directions_[input].end());
  return from_span(std::span<const float>(v), shape);
}

}  // namespace heed::check
