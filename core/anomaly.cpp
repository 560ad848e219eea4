#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <heed/core/anomaly.h>
#include <heed/core/arguments.h>
#include <heed/core/node.h>
#include <heed/core/nonfinite.h>

namespace heed {
namespace {

constinit thread_local bool anomaly_checks = false;

std::string index_of(std::int64_t element, const Shape& shape) {
  Shape index = Shape::filled(shape.rank(), 0);
  for (int k = shape.rank() - 1; k >= 0; --k) {
    index[k] = element % shape[k];
    element /= shape[k];
  }
  return index.str();
}

[[noreturn]] void fail_nonfinite(const Node& node, const std::string& problem, const Nonfinite& found,
                                 const Tensor& x) {
  const Scope place(node.scope());
  fail<GradError>(
      node.op(),
      fmt::format("{} {} at {}", problem, found.is_nan ? "NaN" : "Inf", index_of(found.element, x.shape())),
      describe(x), "finite numbers (AnomalyMode)");
}

}  // namespace

AnomalyMode::AnomalyMode(bool enable) noexcept : TapeObserver("anomaly"), enabled_(anomaly_checks, enable) {}

bool anomaly_mode() noexcept { return anomaly_checks; }

void AnomalyMode::on_recorded(const RecordedOperation& operation) {
  if (!anomaly_checks) return;
  const auto& outputs = operation.outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto found = find_nonfinite(*outputs[i]);
    if (!found) continue;
    const auto finite = [](const Tensor* x) { return !x->defined() || !find_nonfinite(*x); };
    const bool finite_inputs = std::all_of(operation.inputs.begin(), operation.inputs.end(), finite);
    if (!found->is_nan && (operation.may_be_infinite || !finite_inputs)) continue;
    const std::string which = outputs.size() == 1 ? "the result" : fmt::format("result {}", i);
    fail_nonfinite(operation.node,
                   which + (finite_inputs ? " became" : " of operands that are not all finite is"), *found,
                   *outputs[i]);
  }
}

void AnomalyMode::on_cotangent(const Node& node, std::size_t output, const Tensor& cotangent) {
  if (!anomaly_checks) return;
  if (const auto found = find_nonfinite(cotangent)) {
    fail_nonfinite(node, fmt::format("the cotangent of result {}, as given or added up, is", output), *found,
                   cotangent);
  }
}

void AnomalyMode::on_gradient(const Node& node, std::size_t input, const Tensor& gradient) {
  if (!anomaly_checks) return;
  if (const auto found = find_nonfinite(gradient)) {
    fail_nonfinite(node, fmt::format("the gradient of input {} became", input), *found, gradient);
  }
}

}  // namespace heed
