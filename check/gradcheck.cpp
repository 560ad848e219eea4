#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <heed/check/gradcheck.h>
#include <heed/core/backward.h>
#include <heed/core/check.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>

namespace heed::check {
namespace {

struct Sum {
  long double value = 0;
  double size = 0;  // √Σ (u y)²
};

// F(x) = Σ ⟨u, f(x)⟩ at leaves that are moved in place.
class Subject {
 public:
  Subject(const Function& function, const std::vector<Tensor>& inputs, Generator& generator)
      : function_(function), leaves_(leaves_of("gradcheck", inputs)), generator_(generator) {
    // A function made of f32 parts rounds as f32 wherever its inputs are f64.
    const NoGrad guard;
    epsilon_ = std::max(coarsest_epsilon(leaves_), coarsest_epsilon(function_(leaves_)));
  }

  std::vector<Tensor>& leaves() { return leaves_; }
  double epsilon() const { return epsilon_; }
  std::int64_t evaluations() const { return evaluations_; }

  // One gradient a wanted leaf, undefined where there is no path. The first call draws the cotangents.
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

  // In long double: the sum's own rounding must not hide a small error.
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

  // What stands between the function and a comparison, in words.
  void examine(GradcheckResult& result, std::vector<Tensor>& gradients_found) {
    gradients_found = gradients();
    const std::vector<Tensor> once = evaluate();
    std::string problem = difference_between("output", once, evaluate());
    if (problem.empty()) problem = difference_between("gradient", gradients_found, gradients());
    if (!problem.empty()) {
      return result.refuse(Verdict::non_deterministic, "two evaluations at one point differ: " + problem);
    }
    std::vector<bool> used;
    for (const Tensor& u : cotangents_) used.push_back(u.defined());
    problem = non_finite_in("output", once, used);
    if (!problem.empty()) result.refuse(Verdict::not_finite, "not finite at the point: " + problem);
  }

 private:
  void draw_cotangents(const std::vector<Tensor>& outputs) {
    for (const Tensor& y : outputs) {
      // For a result of one element a random factor adds nothing but noise to the bound.
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

// One element of a leaf, moved and put back.
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
  // The power of two at or above max(1, |x|): steps that are fractions of it are exact in most cases.
  double unit() const { return std::exp2(std::ceil(std::log2(std::max(1.0, std::abs(start_))))); }
  // Returns how far it went, after rounding.
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

numeric::Pair pair_at(Subject& subject, Coordinate& x, double h) {
  numeric::Pair pair;
  pair.above = x.move(h);
  pair.f_above = subject.sum().value;
  pair.below = -x.move(-h);
  pair.f_below = subject.sum().value;
  x.restore();
  return pair;
}

// Bound on the rounding error of F near the point, from seven values along a random direction.
double noise_of(Subject& subject, const Sum& center, Generator& generator) {
  constexpr int values = 7;
  std::vector<std::pair<Coordinate, double>> line;
  for (Tensor& leaf : subject.leaves()) {
    if (!leaf.requires_grad() || leaf.numel() == 0) continue;
    const auto signs = rand(leaf.shape(), generator, DType::f64, -1, 1).to_vector<double>();
    for (std::int64_t i = 0; i < leaf.numel(); ++i) {
      Coordinate x(leaf, i);
      // 32 roundings of the element: far for rounding, near for the function.
      const double spacing = 32 * epsilon_of(leaf.dtype()) * x.unit();
      line.emplace_back(x, std::copysign(spacing, signs[static_cast<std::size_t>(i)]));
    }
  }
  std::vector<long double> sums;
  for (int k = 0; k < values; ++k) {
    for (auto& [x, spacing] : line) x.move(k * spacing);
    sums.push_back(subject.sum().value);
  }
  for (auto& [x, spacing] : line) x.restore();
  const double measured = numeric::rounding_noise(sums);
  // Three deviations; results that round in the same way everywhere still are rounded, each by ε/4 or so.
  return 3 * std::max(std::isfinite(measured) ? measured : 0.0, subject.epsilon() / 4 * center.size);
}

std::vector<std::int64_t> chosen_elements(std::int64_t n, std::int64_t most, Generator& generator) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  if (most <= 0 || n <= most) return all;
  auto order = randperm(n, generator).to_vector<std::int64_t>();
  order.resize(static_cast<std::size_t>(most));
  return order;
}

// How one element is compared: by one difference of fixed step, or by as many as a narrow bar takes.
class Comparison {
 public:
  Comparison(Subject& subject, const GradcheckOptions& options, double largest, Generator& generator)
      : subject_(subject), options_(options) {
    const bool f32 = subject.epsilon() > epsilon_of(DType::f64);
    tolerance_.largest = largest;
    tolerance_.rounding = 64 * subject.epsilon() * largest;
    if (!options.extrapolate) {
      tolerance_.rtol = options.rtol.value_or(1e-6);
      tolerance_.atol = options.atol.value_or(1e-8);
      return;
    }
    center_ = subject.sum();
    noise_ = noise_of(subject, center_, generator);
    tolerance_.rtol = options.rtol.value_or(f32 ? 1e-4 : 1e-9);
    tolerance_.atol = options.atol.value_or(0.0);
    // A bar of a hundredth in f32, of a millionth in f64, still tells wrong from right; and no bar can be narrower than
    // the rounding of F over a step.
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
    if (element.verdict <= Verdict::kink || element.verdict == Verdict::not_finite) return;
    // Before accusing: every step there is.
    differences.rtol = differences.atol = 0;
    differences.least_rows = 12;
    judge(element, extrapolated(x, differences), tolerance_);
  }

 private:
  numeric::Derivative extrapolated(Coordinate& x, const numeric::DifferenceOptions& options) {
    return numeric::differentiate(
        center_.value, noise_, [&](double h) { return pair_at(subject_, x, h); }, options);
  }

  numeric::Derivative fixed(Coordinate& x) {
    const numeric::Pair p = pair_at(subject_, x, options_.step * std::max(1.0, std::abs(x.start())));
    const long double slope = (p.f_above - p.f_below) / (static_cast<long double>(p.above) + p.below);
    return {.central = {static_cast<double>(slope), std::isfinite(slope) ? 0 : HUGE_VAL},
            .left = {},
            .right = {}};
  }

  Subject& subject_;
  GradcheckOptions options_;
  Tolerance tolerance_;
  Sum center_;
  double noise_ = 0;
};

std::vector<std::vector<double>> numbers_of_gradients(Subject& subject,
                                                      const std::vector<Tensor>& gradients) {
  std::vector<std::vector<double>> numbers;
  std::size_t k = 0;
  for (const Tensor& leaf : subject.leaves()) {
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

GradcheckResult gradcheck(const Function& function, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  Generator generator(options.seed);
  Subject subject(function, inputs, generator);
  if (!options.extrapolate) {
    for (const Tensor& x : wanted_of(inputs))
      check_dtype("gradcheck", "an input of the fast form", x, {DType::f64});
  }
  GradcheckResult result;
  if (wanted_elements(inputs) == 0) return result;
  std::vector<Tensor> gradients;
  subject.examine(result, gradients);
  if (!result.passed) return result;

  const auto analytic = numbers_of_gradients(subject, gradients);
  const double largest = largest_of(analytic);
  Comparison comparison(subject, options, largest, generator);
  for (std::size_t input = 0; input < analytic.size(); ++input) {
    Tensor& leaf = subject.leaves()[input];
    if (!leaf.requires_grad()) continue;
    for (const std::int64_t i : chosen_elements(leaf.numel(), options.max_elements, generator)) {
      GradcheckElement element{.tensor = input, .index = i, .position = position_of(leaf.shape(), i)};
      element.analytic = analytic[input][static_cast<std::size_t>(i)];
      comparison.run(element, leaf);
      result.add(element, largest);
    }
  }
  result.evaluations = subject.evaluations();
  return result;
}

}  // namespace heed::check
