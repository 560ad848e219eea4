#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/check/audit.h>
#include <heed/check/function.h>
#include <heed/core/backward.h>

namespace heed::check {
namespace {

void add(AuditReport& report, AuditProblem problem, const std::string& parameter, std::string detail) {
  report.passed = false;
  report.findings.push_back({problem, parameter, std::move(detail)});
}

void examine(AuditReport& report, const std::string& name, const Tensor& parameter, const Tensor& gradient) {
  if (!gradient.defined()) return add(report, AuditProblem::no_path, name, "the loss does not depend on it");
  const std::vector<double> values = numbers_of(gradient);
  const auto bad = std::find_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
  if (bad != values.end()) {
    const auto count = std::count_if(bad, values.end(), [](double v) { return !std::isfinite(v); });
    return add(report, AuditProblem::nonfinite, name,
               fmt::format("{} of {} elements, the first at {}: {}", count, values.size(),
                           position_of(parameter.shape(), bad - values.begin()).str(), *bad));
  }
  if (!values.empty() && std::all_of(values.begin(), values.end(), [](double v) { return v == 0; })) {
    add(report, AuditProblem::zero_gradient, name, fmt::format("all {} elements", values.size()));
  }
}

// The first byte of a parameter and the byte after its last one.
std::pair<const std::byte*, const std::byte*> bytes_of(const Tensor& x) {
  std::int64_t first = x.offset();
  std::int64_t last = x.offset();
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t reach = (x.shape()[axis] - 1) * x.strides()[axis];
    (reach < 0 ? first : last) += reach;
  }
  const auto size = static_cast<std::int64_t>(size_of(x.dtype()));
  const std::byte* data = x.storage()->data();
  return {data + first * size, data + (last + 1) * size};
}

void look_for_aliases(AuditReport& report, const nn::NamedTensors& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const auto& [name, parameter] = parameters[i];
      const auto& [other_name, other] = parameters[k];
      if (parameter.numel() == 0 || other.numel() == 0) continue;
      const auto [begin, end] = bytes_of(parameter);
      const auto [other_begin, other_end] = bytes_of(other);
      const std::less<> before;
      if (before(begin, other_end) && before(other_begin, end)) {
        add(report, AuditProblem::aliased, name, fmt::format("shares elements with {}", other_name));
      }
    }
  }
}

}  // namespace

std::string_view name_of(AuditProblem problem) {
  switch (problem) {
    case AuditProblem::no_path:
      return "no path";
    case AuditProblem::zero_gradient:
      return "zero gradient";
    case AuditProblem::nonfinite:
      return "not finite";
    case AuditProblem::aliased:
      break;
  }
  return "aliased";
}

AuditReport audit(const Tensor& loss, const nn::Module& module) {
  AuditReport report;
  const nn::NamedTensors parameters = module.named_parameters();
  std::vector<Tensor> wanted;
  for (const auto& [name, parameter] : parameters) {
    ++report.parameters;
    if (parameter.requires_grad()) {
      wanted.push_back(parameter);
    } else {
      ++report.frozen;
    }
  }
  const Tensor outputs[] = {loss};
  const auto gradients = heed::grad(outputs, wanted, {.retain_graph = true, .allow_unused = true});
  std::size_t k = 0;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.requires_grad()) examine(report, name, parameter, gradients[k++]);
  }
  look_for_aliases(report, parameters);
  return report;
}

std::string AuditReport::report() const {
  std::string text = fmt::format("audit: {} parameters", parameters);
  if (frozen > 0) text += fmt::format(", {} of them frozen", frozen);
  if (passed)
    return text + ", each an array of its own; every gradient has a path, is finite and not all zero";
  text += fmt::format(", {} findings", findings.size());
  std::size_t widest = 0;
  for (const AuditFinding& f : findings) widest = std::max(widest, f.parameter.size());
  for (const AuditFinding& f : findings) {
    text += fmt::format("\n  {:<{}}  {:<13}  {}", f.parameter, widest, name_of(f.problem), f.detail);
  }
  return text;
}

std::string AuditReport::to_json() const {
  using Json = nlohmann::ordered_json;
  Json json = {{"check", "audit"}, {"passed", passed}, {"parameters", parameters}, {"frozen", frozen}};
  json["findings"] = Json::array();
  for (const AuditFinding& f : findings) {
    json["findings"].push_back(
        {{"parameter", f.parameter}, {"problem", name_of(f.problem)}, {"detail", f.detail}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace heed::check
