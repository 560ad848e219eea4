#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <heed/check/gradcheck.h>
#include <heed/check/model_gradcheck.h>
#include <heed/core/backward.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/nn/clone.h>
#include <heed/ops/arithmetic.h>

namespace heed::check {
namespace {

double largest_magnitude(const nn::NamedTensors& parameters) {
  double largest = 0;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.grad().defined()) continue;
    for (const double g : parameter.grad().to_vector<double>()) largest = std::max(largest, std::abs(g));
  }
  return largest;
}

// The loss of a model on fixed tokens as a function of its parameters, scaled so that the largest
// gradient is 1.
class ScaledLoss {
 public:
  ScaledLoss(const nn::CausalLM& model, const ModelGradcheckOptions& options) : model_(clone(model)) {
    model_.eval();
    model_.to(DType::f64);
    model_.zero_grad();
    const auto& o = model.options();
    Generator generator(options.seed);
    const Shape shape = {options.batch, std::min(options.context, o.context)};
    inputs_ = randint(0, o.vocab_size, shape, generator);
    targets_ = randint(0, o.vocab_size, shape, generator);
    backward(model_.loss(inputs_, targets_));
    parameters_ = model_.named_parameters();
    const double largest = largest_magnitude(parameters_);
    scale_ = largest > 0 ? 1 / largest : 1;
  }

  const nn::NamedTensors& parameters() const { return parameters_; }

  Tensor operator()(const std::vector<Tensor>& parameters) {
    model_.replace_parameters(parameters);
    return model_.loss(inputs_, targets_) * scale_;
  }

 private:
  nn::CausalLM model_;
  nn::NamedTensors parameters_;
  Tensor inputs_;
  Tensor targets_;
  double scale_ = 1;
};

// The largest gradient is scaled to 1, so the rule of the header becomes an absolute bound.
GradcheckOptions bounds(const ModelGradcheckOptions& options) {
  return {
      .extrapolate = false, .rtol = 0, .atol = 1e-7, .max_elements = options.elements, .seed = options.seed};
}

void merge(ModelGradcheckResult& result, const GradcheckResult& part) {
  result.passed = result.passed && part.passed;
  if (!(part.worst.error <= result.worst)) result.worst = part.worst.error;
}

std::string line(const std::string& name, const GradcheckElement& e) {
  return fmt::format("\n  {}: analytic {:.12g}, numeric {:.12g}, {:.3g} times the bound", name, e.analytic,
                     e.numeric, e.error);
}

// Compares elements of every parameter and returns a line for each that differs.
std::string check_elements(ModelGradcheckResult& result, ScaledLoss& loss,
                           const std::vector<Tensor>& parameters, const ModelGradcheckOptions& options) {
  const auto by_element =
      gradcheck([&](const std::vector<Tensor>& at) { return std::vector<Tensor>{loss(at)}; }, parameters,
                bounds(options));
  merge(result, by_element);
  result.elements = by_element.checked;
  std::string failures;
  if (!by_element.problem.empty()) failures += "\n  " + by_element.problem;
  for (const auto& e : by_element.failures) {
    failures += line(fmt::format("{} [{}]", loss.parameters()[e.tensor].first, e.index), e);
  }
  return failures;
}

// A random direction over all parameters together, whose length is about 1.
std::vector<Tensor> random_direction(const std::vector<Tensor>& parameters, std::int64_t parameter_count,
                                     Generator& generator) {
  std::vector<Tensor> direction;
  for (const Tensor& p : parameters) {
    direction.push_back(
        randn(p.shape(), generator, DType::f64, 0.0, 1 / std::sqrt(static_cast<double>(parameter_count))));
  }
  return direction;
}

// Compares the derivative along one direction and returns a line if it differs.
std::string check_direction(ModelGradcheckResult& result, ScaledLoss& loss,
                            const std::vector<Tensor>& parameters, const std::vector<Tensor>& direction,
                            const ModelGradcheckOptions& options) {
  const auto along = [&](const std::vector<Tensor>& t) {
    std::vector<Tensor> moved;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      moved.push_back(parameters[i].detach() + t[0] * direction[i]);
    }
    return std::vector<Tensor>{loss(moved)};
  };
  const auto by_direction = gradcheck(along, {scalar(0.0).set_requires_grad()}, bounds(options));
  merge(result, by_direction);
  std::string failures;
  if (!by_direction.problem.empty()) failures += "\n  " + by_direction.problem;
  for (const auto& e : by_direction.failures) {
    failures += line(fmt::format("direction {}", result.directions), e);
  }
  return failures;
}

}  // namespace

ModelGradcheckResult gradcheck_model(const nn::CausalLM& model, const ModelGradcheckOptions& options) {
  ScaledLoss loss(model, options);
  std::vector<Tensor> parameters;
  for (const auto& named : loss.parameters()) {
    parameters.push_back(copy_of(named.second).set_requires_grad());
  }
  ModelGradcheckResult result;
  std::string failures = check_elements(result, loss, parameters, options);
  Generator generator(options.seed + 1);
  for (; result.directions < options.directions; ++result.directions) {
    const auto direction = random_direction(parameters, model.parameter_count(), generator);
    failures += check_direction(result, loss, parameters, direction, options);
  }
  result.report = result.passed
                      ? fmt::format("{} elements and {} directions agree, the worst at {:.2g} of its bound",
                                    result.elements, result.directions, result.worst)
                      : "gradients differ:" + failures;
  return result;
}

}  // namespace heed::check
