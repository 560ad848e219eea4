#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <heed/check/gradcheck.h>
#include <heed/core/arguments.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>

namespace heed::check {
namespace {

struct Sum {
  long double value = 0;
  double size = 0;  // √Σ (u y)², the scale of its rounding error
};

// F(x) = Σ ⟨u, f(x)⟩ of leaves whose elements are changed in place; u are the cotangents.
class WeightedSum {
 public:
  WeightedSum(const Function& function, const std::vector<Tensor>& inputs, Generator& generator)
      : function_(function), leaves_(leaves_of("gradcheck", inputs)), generator_(generator) {
    // A function that computes in f32 rounds as f32 does, even where its inputs are f64.
    const NoGrad guard;
    epsilon_ = std::max(coarsest_epsilon(leaves_), coarsest_epsilon(function_(leaves_)));
  }

  std::vector<Tensor>& leaves() { return leaves_; }
  double epsilon() const { return epsilon_; }
  std::int64_t evaluations() const { return evaluations_; }

  // The gradient of each leaf that requires grad, undefined where there is no path. The first call
  // draws the cotangents.
  std::vector<Tensor> gradients() {
    const GradMode mode(true);
    std::vector<Tensor> roots;
    GradOptions options{.allow_unused = true};
    const std::vector<Tensor> outputs = function_(leaves_);
    if (cotangents_.empty()) draw_cotangents(outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!cotangents_[i].defined()) continue;
      roots.push_back(outputs[i]);
      options.grad_outputs.push_back(cotangents_[i]);
    }
    const std::vector<Tensor> wanted = wanted_of(leaves_);
    return roots.empty() ? std::vector<Tensor>(wanted.size()) : heed::grad(roots, wanted, options);
  }

  std::vector<Tensor> evaluate() {
    const NoGrad guard;
    ++evaluations_;
    return function_(leaves_);
  }

  // In long double, because the rounding of the sum itself must not hide a small error.
  Sum sum() {
    const std::vector<Tensor> outputs = evaluate();
    Sum total;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!cotangents_[i].defined()) continue;
      const auto y = numbers_of(outputs[i]);
      for (std::size_t k = 0; k < y.size(); ++k) {
        const double u = weights_[i][k];
        if (u == 0) continue;
        total.value += static_cast<long double>(y[k]) * static_cast<long double>(u);
        total.size = std::hypot(total.size, y[k] * u);
      }
    }
    return total;
  }

  // Refuses the comparison if two evaluations differ or the function is not finite at the point.
  void examine(GradcheckResult& result, std::vector<Tensor>& gradients_found) {
    gradients_found = gradients();
    const std::vector<Tensor> once = evaluate();
    std::string problem = difference_between("output", once, evaluate());
    if (problem.empty()) problem = difference_between("gradient", gradients_found, gradients());
    if (!problem.empty()) {
      return result.refuse(Verdict::nondeterministic, "two evaluations at one point differ: " + problem);
    }
    std::vector<bool> used;
    for (const Tensor& u : cotangents_) used.push_back(u.defined());
    problem = nonfinite_in("output", once, used);
    if (!problem.empty()) result.refuse(Verdict::nonfinite, "not finite at the point: " + problem);
  }

 private:
  void draw_cotangents(const std::vector<Tensor>& outputs) {
    for (const Tensor& y : outputs) {
      // For an output of one element a random factor would only add noise to the bound.
      cotangents_.push_back(!y.requires_grad() ? Tensor()
                            : y.numel() == 1   ? ones(y.shape(), y.dtype())
                                               : randn(y.shape(), generator_, y.dtype()));
      weights_.push_back(y.requires_grad() ? numbers_of(cotangents_.back()) : std::vector<double>());
    }
  }

  const Function& function_;
  std::vector<Tensor> leaves_;
  Generator& generator_;
  double epsilon_ = 0;
  std::vector<Tensor> cotangents_;
  std::vector<std::vector<double>> weights_;
  std::int64_t evaluations_ = 0;
};

// One element of a leaf, which can be changed and restored.
class Coordinate {
 public:
  Coordinate(Tensor& leaf, std::int64_t index) : index_(index) {
    const NoGrad guard;
    if (leaf.dtype() == DType::f32) {
      f32_ = leaf.mutable_data<float>();
    } else {
      f64_ = leaf.mutable_data<double>();
    }
    start_ = get();
  }
  double start() const { return start_; }
  // The power of two at or above max(1, |x|): steps that are fractions of it are mostly exact.
  double unit() const { return std::exp2(std::ceil(std::log2(std::max(1.0, std::abs(start_))))); }
  // Returns how far the element moved, after rounding.
  double move(double offset) {
    set(start_ + offset);
    return get() - start_;
  }
  void restore() { set(start_); }

 private:
  double get() const { return f32_ != nullptr ? static_cast<double>(f32_[index_]) : f64_[index_]; }
  void set(double value) {
    if (f32_ != nullptr) {
      f32_[index_] = static_cast<float>(value);
    } else {
      f64_[index_] = value;
    }
  }
  std::int64_t index_;
  float* f32_ = nullptr;
  double* f64_ = nullptr;
  double start_ = 0;
};

numeric::Pair pair_at(WeightedSum& weighted_sum, Coordinate& x, double h) {
  numeric::Pair pair;
  pair.above = x.move(h);
  pair.f_above = weighted_sum.sum().value;
  pair.below = -x.move(-h);
  pair.f_below = weighted_sum.sum().value;
  x.restore();
  return pair;
}

// A bound on the rounding error of F near the point, from seven values along a random direction.
double noise_of(WeightedSum& weighted_sum, const Sum& center, Generator& generator) {
  constexpr int values = 7;
  std::vector<std::pair<Coordinate, double>> line;
  for (Tensor& leaf : weighted_sum.leaves()) {
    if (!leaf.requires_grad() || leaf.numel() == 0) continue;
    const auto signs = rand(leaf.shape(), generator, DType::f64, -1, 1).to_vector<double>();
    for (std::int64_t i = 0; i < leaf.numel(); ++i) {
      Coordinate x(leaf, i);
      // 32 times the rounding of the element: many roundings apart, yet very near for the function.
      const double spacing = 32 * epsilon_of(leaf.dtype()) * x.unit();
      line.emplace_back(x, std::copysign(spacing, signs[static_cast<std::size_t>(i)]));
    }
  }
  std::vector<long double> sums;
  for (int k = 0; k < values; ++k) {
    for (auto& [x, spacing] : line) x.move(k * spacing);
    sums.push_back(weighted_sum.sum().value);
  }
  for (auto& [x, spacing] : line) x.restore();
  const double measured = numeric::rounding_noise(sums);
  // Three standard deviations. Outputs whose rounding is the same everywhere show no noise, and yet are
  // rounded, by about ε/4 each.
  return 3 * std::max(std::isfinite(measured) ? measured : 0.0, weighted_sum.epsilon() / 4 * center.size);
}

std::vector<std::int64_t> chosen_elements(std::int64_t n, std::int64_t most, Generator& generator) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  if (most <= 0 || n <= most) return all;
  auto order = randperm(n, generator).to_vector<std::int64_t>();
  order.resize(static_cast<std::size_t>(most));
  return order;
}

// Compares single elements: by one difference of fixed step, or by as many differences as the
// error bar needs.
class Comparison {
 public:
  Comparison(WeightedSum& weighted_sum, const GradcheckOptions& options, double largest, Generator& generator)
      : weighted_sum_(weighted_sum), options_(options) {
    const bool f32 = weighted_sum.epsilon() > epsilon_of(DType::f64);
    tolerance_.largest = largest;
    tolerance_.rounding = 64 * weighted_sum.epsilon() * largest;
    if (!options.extrapolate) {
      tolerance_.rtol = options.rtol.value_or(1e-6);
      tolerance_.atol = options.atol.value_or(1e-8);
      return;
    }
    center_ = weighted_sum.sum();
    noise_ = noise_of(weighted_sum, center_, generator);
    tolerance_.rtol = options.rtol.value_or(f32 ? 1e-4 : 1e-9);
    tolerance_.atol = options.atol.value_or(0.0);
    // A relative bar of 1e-2 in f32, or 1e-6 in f64, still tells a right derivative from a wrong one. No
    // bar can be narrower than the rounding error of F divided by the step.
    tolerance_.resolution = f32 ? 1e-2 : 1e-6;
    tolerance_.floor = 1e-3 * tolerance_.resolution * center_.size;
  }

  void run(GradcheckElement& element, Tensor& leaf) {
    Coordinate x(leaf, element.index);
    if (!options_.extrapolate) return judge(element, fixed(x), tolerance_);
    const double wanted = tolerance_.rtol / 4;
    numeric::DifferenceOptions differences{.first_step = x.unit() / 8,
                                           .rtol = wanted,
                                           .atol = tolerance_.atol / 4 + wanted * 1e-3 * tolerance_.largest};
    judge(element, extrapolated(x, differences), tolerance_);
    if (element.verdict <= Verdict::kink || element.verdict == Verdict::nonfinite) return;
    // Before an element is called wrong, every possible step is tried.
    differences.rtol = differences.atol = 0;
    differences.least_rows = 12;
    judge(element, extrapolated(x, differences), tolerance_);
  }

 private:
  numeric::Derivative extrapolated(Coordinate& x, const numeric::DifferenceOptions& options) {
    return numeric::differentiate(
        center_.value, noise_, [&](double h) { return pair_at(weighted_sum_, x, h); }, options);
  }

  numeric::Derivative fixed(Coordinate& x) {
    const numeric::Pair p = pair_at(weighted_sum_, x, options_.step * std::max(1.0, std::abs(x.start())));
    const long double slope = (p.f_above - p.f_below) / (static_cast<long double>(p.above) + p.below);
    return {.central = {static_cast<double>(slope), std::isfinite(slope) ? 0 : HUGE_VAL},
            .left = {},
            .right = {}};
  }

  WeightedSum& weighted_sum_;
  GradcheckOptions options_;
  Tolerance tolerance_;
  Sum center_;
  double noise_ = 0;
};

std::vector<std::vector<double>> numbers_of_gradients(WeightedSum& weighted_sum,
                                                      const std::vector<Tensor>& gradients) {
  std::vector<std::vector<double>> numbers;
  std::size_t k = 0;
  for (const Tensor& leaf : weighted_sum.leaves()) {
    numbers.emplace_back();
    if (!leaf.requires_grad()) continue;
    const Tensor& gradient = gradients[k++];
    numbers.back() = gradient.defined() ? numbers_of(gradient)
                                        : std::vector<double>(static_cast<std::size_t>(leaf.numel()), 0.0);
  }
  return numbers;
}

double largest_of(const std::vector<std::vector<double>>& numbers) {
  double largest = 0;
  for (const auto& values : numbers) {
    for (const double v : values) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
  }
  return largest;
}

}  // namespace

GradcheckResult gradcheck(const Function& function, const TensorList& inputs,
                          const GradcheckOptions& options) {
  Generator generator(options.seed);
  WeightedSum weighted_sum(function, inputs, generator);
  if (!options.extrapolate) {
    for (const Tensor& x : wanted_of(inputs))
      check_dtype("gradcheck", "an input of the fast form", x, {DType::f64});
  }
  GradcheckResult result;
  if (wanted_elements(inputs) == 0) return result;
  std::vector<Tensor> gradients;
  weighted_sum.examine(result, gradients);
  if (!result.passed) return result;

  const auto analytic = numbers_of_gradients(weighted_sum, gradients);
  const double largest = largest_of(analytic);
  Comparison comparison(weighted_sum, options, largest, generator);
  for (std::size_t input = 0; input < analytic.size(); ++input) {
    Tensor& leaf = weighted_sum.leaves()[input];
    if (!leaf.requires_grad()) continue;
    for (const std::int64_t i : chosen_elements(leaf.numel(), options.max_elements, generator)) {
      GradcheckElement element{.tensor = input, .index = i, .position = position_of(leaf.shape(), i)};
      element.analytic = analytic[input][static_cast<std::size_t>(i)];
      comparison.run(element, leaf);
      result.add(element, largest);
    }
  }
  result.evaluations = weighted_sum.evaluations();
  return result;
}

}  // namespace heed::check
