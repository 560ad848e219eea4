#include <algorithm>
#include <cmath>

#include <heed/check/jvp_check.h>
#include <heed/check/line.h>

namespace heed::check {
namespace {

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

// A tableau for each output element, all fed by the same sequence of steps.
std::vector<numeric::Derivative> differentiate_along(Line& line, const Tolerance& tolerance) {
  const std::vector<double> center = line.at(0);
  const std::vector<double> noise = line.noise();
  numeric::DifferenceOptions options{
      .rtol = tolerance.rtol / 4, .atol = tolerance.atol / 4, .least_rows = 12};
  options.atol += options.rtol * 1e-3 * tolerance.largest;
  std::vector<numeric::Differences> differences;
  for (std::size_t i = 0; i < center.size(); ++i) differences.emplace_back(center[i], 3 * noise[i], options);
  const auto all_settled = [&] {
    return std::all_of(differences.begin(), differences.end(), [](const auto& d) { return d.settled(); });
  };
  for (double h = options.first_step; !all_settled(); h /= 2) {
    const std::vector<double> above = line.at(h);
    const std::vector<double> below = line.at(-h);
    for (std::size_t i = 0; i < center.size(); ++i) {
      if (!differences[i].settled()) differences[i].add({h, h, above[i], below[i]});
    }
  }
  std::vector<numeric::Derivative> result;
  for (const numeric::Differences& d : differences) result.push_back(d.result());
  return result;
}

void check_direction(GradcheckResult& result, Line& line, const JvpCheckOptions& options) {
  Verdict verdict = Verdict::agrees;
  std::string problem;
  const std::vector<double> product = line.examine(verdict, problem);
  if (!problem.empty()) return result.refuse(verdict, problem);

  const bool f32 = line.epsilon() > epsilon_of(DType::f64);
  Tolerance tolerance{.rtol = options.rtol.value_or(f32 ? 1e-4 : 1e-9), .atol = options.atol.value_or(0.0)};
  tolerance.largest = largest_of(product);
  tolerance.rounding = 64 * line.epsilon() * tolerance.largest;
  tolerance.resolution = f32 ? 1e-2 : 1e-6;
  tolerance.floor = 1e-3 * tolerance.resolution * largest_of(line.at(0));
  const std::vector<numeric::Derivative> differences = differentiate_along(line, tolerance);
  for (std::size_t i = 0; i < product.size(); ++i) {
    GradcheckElement element = line.place(static_cast<std::int64_t>(i));
    element.analytic = product[i];
    judge(element, differences[i], tolerance);
    result.add(element, tolerance.largest);
  }
}

}  // namespace

GradcheckResult jvp_check(const Function& function, const TensorList& inputs,
                          const JvpCheckOptions& options) {
  GradcheckResult result;
  result.check = "jvp_check";
  Generator generator(options.seed);
  for (std::int64_t i = 0; i < options.directions && result.problem.empty(); ++i) {
    Line line("jvp_check", function, inputs, generator);
    if (line.moves()) check_direction(result, line, options);
    result.evaluations += line.evaluations();
  }
  return result;
}

}  // namespace heed::check
