#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <heed/check/gradcheck.h>
#include <heed/core/backward.h>
#include <heed/core/check.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>

namespace heed::check {
namespace {

constexpr std::size_t most_failures = 20;

// Leaves of their own for every input, so that the caller's tensors are neither written nor given gradients.
std::vector<Tensor> leaves_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) {
    Tensor leaf = copy_of(x);
    if (x.requires_grad()) {
      check_dtype("gradcheck", "an input that requires grad", x, {DType::f64});
      leaf.set_requires_grad();
    }
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

// Σ ⟨u, f(x)⟩ over the results that have a cotangent, in long double: its rounding must not hide a small
// error.
long double weighted_sum(const Function& function, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& cotangents) {
  const NoGrad guard;
  const std::vector<Tensor> outputs = function(inputs);
  long double total = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!cotangents[i].defined()) continue;
    const auto y = outputs[i].to_vector<double>();
    const auto u = cotangents[i].to_vector<double>();
    for (std::size_t k = 0; k < y.size(); ++k) {
      if (u[k] != 0) total += static_cast<long double>(y[k]) * static_cast<long double>(u[k]);
    }
  }
  return total;
}

std::vector<std::int64_t> chosen_elements(std::int64_t n, std::int64_t most, Generator& generator) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  if (most <= 0 || n <= most) return all;
  auto order = randperm(n, generator).to_vector<std::int64_t>();
  order.resize(static_cast<std::size_t>(most));
  return order;
}

void keep(GradcheckResult& result, const GradcheckElement& element) {
  ++result.checked;
  if (!(element.error <= result.worst.error)) result.worst = element;
  if (element.error <= 1) return;
  result.passed = false;
  result.failures.push_back(element);
  std::stable_sort(result.failures.begin(), result.failures.end(), [](const auto& a, const auto& b) {
    return a.error > b.error || (std::isnan(a.error) && !std::isnan(b.error));
  });
  if (result.failures.size() > most_failures) result.failures.pop_back();
}

}  // namespace

GradcheckResult gradcheck(const Function& function, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  std::vector<Tensor> leaves = leaves_of(inputs);
  std::vector<Tensor> wanted;
  std::copy_if(leaves.begin(), leaves.end(), std::back_inserter(wanted),
               [](const Tensor& x) { return x.requires_grad(); });
  if (wanted.empty()) fail<GradError>("gradcheck", "no input requires grad", {}, "at least one");

  Generator generator(options.seed);
  std::vector<Tensor> gradients(wanted.size());
  std::vector<Tensor> cotangents;
  {
    const GradMode mode(true);
    std::vector<Tensor> roots;
    GradOptions grad_options{.allow_unused = true};
    for (const Tensor& y : function(leaves)) {
      const bool used = y.requires_grad();
      // For a result of one element a random factor adds nothing but noise to the bound.
      cotangents.push_back(!used            ? Tensor()
                           : y.numel() == 1 ? ones(y.shape(), DType::f64)
                                            : randn(y.shape(), generator, DType::f64));
      if (!used) continue;
      roots.push_back(y);
      grad_options.grad_outputs.push_back(cotangents.back());
    }
    if (!roots.empty()) gradients = heed::grad(roots, wanted, grad_options);
  }

  GradcheckResult result;
  std::size_t k = 0;
  for (std::size_t input = 0; input < leaves.size(); ++input) {
    if (!leaves[input].requires_grad()) continue;
    const Tensor& gradient = gradients[k++];
    const auto analytic = gradient.defined()
                              ? gradient.to_vector<double>()
                              : std::vector<double>(static_cast<std::size_t>(leaves[input].numel()), 0.0);
    const NoGrad guard;
    double* x = leaves[input].numel() == 0 ? nullptr : leaves[input].mutable_data<double>();
    for (const std::int64_t i : chosen_elements(leaves[input].numel(), options.max_elements, generator)) {
      const double at = x[i];
      const double h = options.step * std::max(1.0, std::abs(at));
      x[i] = at + h;
      const double above = x[i];
      const long double f_above = weighted_sum(function, leaves, cotangents);
      x[i] = at - h;
      const double below = x[i];
      const long double f_below = weighted_sum(function, leaves, cotangents);
      x[i] = at;
      const auto numeric =
          static_cast<double>((f_above - f_below) / (static_cast<long double>(above) - below));
      const double a = analytic[static_cast<std::size_t>(i)];
      const double bound = options.atol + options.rtol * std::max(std::abs(a), std::abs(numeric));
      keep(result, {input, i, a, numeric, std::abs(a - numeric) / bound});
    }
  }
  return result;
}

GradcheckResult gradgradcheck(const Function& function, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options) {
  // g(x, u) = vjp of f at x with cotangents u: checked in x (second order) and in u (f is recorded right in
  // its vjp).
  std::vector<Tensor> extended = inputs;
  Generator generator(options.seed + 1);
  std::vector<bool> used;
  {
    const GradMode mode(true);
    for (const Tensor& y : function(leaves_of(inputs))) {
      used.push_back(y.requires_grad());
      if (used.back()) extended.push_back(randn(y.shape(), generator, DType::f64).set_requires_grad());
    }
  }
  const std::size_t n = inputs.size();
  const Function gradient = [&](const std::vector<Tensor>& all) {
    const GradMode mode(true);
    std::vector<Tensor> points(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
    std::vector<Tensor> wanted;
    for (std::size_t i = 0; i < n; ++i) {
      // The outer difference runs without gradients, where inputs are plain copies: differentiate at leaves
      // then.
      if (inputs[i].requires_grad() && !points[i].requires_grad()) points[i].set_requires_grad();
      if (inputs[i].requires_grad()) wanted.push_back(points[i]);
    }
    std::vector<Tensor> roots;
    GradOptions grad_options{.create_graph = true, .allow_unused = true};
    const std::vector<Tensor> outputs = function(points);
    std::size_t next = n;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!used[i]) continue;
      roots.push_back(outputs[i]);
      grad_options.grad_outputs.push_back(all[next++]);
    }
    std::vector<Tensor> gradients = heed::grad(roots, wanted, grad_options);
    std::erase_if(gradients, [](const Tensor& g) { return !g.defined(); });
    return gradients;
  };
  return gradcheck(gradient, extended, options);
}

std::string GradcheckResult::report() const {
  if (passed) {
    return fmt::format("gradcheck: {} elements agree, the worst within {:.2g} of its bound", checked,
                       worst.error);
  }
  std::string text = fmt::format(
      "gradcheck: gradients differ, {} of {} elements are listed\n{:>6} {:>8} {:>24} {:>24} {:>12}\n",
      failures.size(), checked, "input", "index", "analytic", "numeric", "error/bound");
  for (const GradcheckElement& e : failures) {
    text += fmt::format("{:>6} {:>8} {:>24.16g} {:>24.16g} {:>12.3g}\n", e.input, e.index, e.analytic,
                        e.numeric, e.error);
  }
  return text;
}

}  // namespace heed::check
