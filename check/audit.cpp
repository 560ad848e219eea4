#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/check/audit.h>
#include <heed/check/audit_tape.h>
#include <heed/check/function.h>
#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/node.h>

namespace heed::check {
namespace {

void add(AuditReport& report, AuditFinding finding) {
  report.passed = report.passed && finding.warning();
  report.findings.push_back(std::move(finding));
}

void look_at(AuditReport& report, const std::string& name, const Tensor& parameter, const Tensor& gradient) {
  if (!gradient.defined()) {
    return add(report, {AuditProblem::no_path, name, "the loss does not depend on it"});
  }
  const std::vector<double> values = numbers_of(gradient);
  const auto bad = std::find_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
  if (bad != values.end()) {
    const auto count = std::count_if(bad, values.end(), [](double v) { return !std::isfinite(v); });
    return add(report, {AuditProblem::nonfinite, name,
                        fmt::format("{} of {} elements, the first at {}: {}", count, values.size(),
                                    position_of(parameter.shape(), bad - values.begin()).str(), *bad)});
  }
  if (!values.empty() && std::all_of(values.begin(), values.end(), [](double v) { return v == 0; })) {
    add(report, {AuditProblem::zero_gradient, name, fmt::format("all {} elements", values.size())});
  }
}

// The first byte of a parameter and the byte after its last one.
std::pair<const std::byte*, const std::byte*> byte_range_of(const Tensor& x) {
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
      const auto [begin, end] = byte_range_of(parameter);
      const auto [other_begin, other_end] = byte_range_of(other);
      const std::less<> before;
      if (before(begin, other_end) && before(other_begin, end)) {
        add(report, {AuditProblem::aliased, name, fmt::format("shares elements with {}", other_name)});
      }
    }
  }
}

// For each index along an axis, whether the gradient has an element there that is not zero.
std::vector<bool> indices_that_hear(const Tensor& gradient, int axis) {
  std::int64_t behind = 1;
  for (int a = axis + 1; a < gradient.rank(); ++a) behind *= gradient.size(a);
  const std::vector<double> values = numbers_of(gradient);
  std::vector<bool> hear(static_cast<std::size_t>(gradient.size(axis)), false);
  for (std::size_t e = 0; e < values.size(); ++e) {
    if (values[e] != 0) hear[e / static_cast<std::size_t>(behind) % hear.size()] = true;
  }
  return hear;
}

void check_sizes(const nn::BlockedParameter& blocked) {
  std::int64_t total = 0;
  for (const nn::ParameterBlock& block : blocked.blocks) total += block.size;
  const Shape& shape = blocked.parameter.shape();
  const bool has_axis = blocked.axis >= 0 && blocked.axis < shape.rank();
  if (has_axis && total == shape[blocked.axis]) return;
  fail<ShapeError>(
      "audit", fmt::format("the blocks of {} do not fit", blocked.path),
      fmt::format("sizes that add up to {} along axis {} of {}", total, blocked.axis, shape.str()),
      "the size of an axis");
}

// A part of an axis whose gradient is zero.
struct Silence {
  const TensorImpl* parameter;
  int axis;
  std::int64_t begin, end;
  bool holds(const Silence& part) const {
    return parameter == part.parameter && axis == part.axis && begin <= part.begin && part.end <= end;
  }
};

// Finds parts without a gradient. Parts within such a part are not reported again.
void look_at_blocks(AuditReport& report, const nn::BlockedParameter& blocked, const Tensor& gradient,
                    std::vector<Silence>& silences) {
  check_sizes(blocked);
  const std::vector<bool> hear = indices_that_hear(gradient, blocked.axis);
  std::int64_t begin = 0;
  for (const nn::ParameterBlock& block : blocked.blocks) {
    const Silence part{blocked.parameter.impl(), blocked.axis, begin, begin + block.size};
    begin += block.size;
    if (block.name.empty() || block.size == 0) continue;
    ++report.blocks;
    if (std::find(hear.begin() + part.begin, hear.begin() + part.end, true) != hear.begin() + part.end)
      continue;
    const bool known =
        std::any_of(silences.begin(), silences.end(), [&](const Silence& s) { return s.holds(part); });
    if (known) continue;
    silences.push_back(part);
    add(report, {AuditProblem::zero_gradient, blocked.path,
                 fmt::format("all of [{}, {}) along axis {}", part.begin, part.end, part.axis), block.name});
  }
}

// Finds rows of a table that an embedding looked up and that get no gradient.
void look_at_rows(AuditReport& report, const Tensor& loss, const std::string& name, const Tensor& table,
                  const Tensor& gradient) {
  if (table.rank() != 2 || table.numel() == 0) return;
  const std::vector<bool> taken = rows_looked_up(loss, table);
  if (taken.empty()) return;
  const std::vector<bool> hear = indices_that_hear(gradient, 0);
  std::int64_t idle = 0;
  std::size_t first = 0;
  for (std::size_t row = 0; row < taken.size(); ++row) {
    if (taken[row] && !hear[row] && idle++ == 0) first = row;
  }
  if (idle == 0) return;
  const auto count = std::count(taken.begin(), taken.end(), true);
  add(report, {AuditProblem::idle_rows, name,
               fmt::format("{} of the {} rows that occurred, the first is {}", idle, count, first)});
}

void look_for_other_leaves(AuditReport& report, const Tensor& loss, const nn::NamedTensors& parameters,
                           const AuditOptions& options) {
  std::unordered_set<const void*> known;
  for (const auto& [name, parameter] : parameters) known.insert(parameter.impl()->node.get());
  for (const Tensor& leaf : options.known) {
    if (leaf.requires_grad()) known.insert(leaf.impl()->node.get());
  }
  for (const TapeLeaf& leaf : leaves_on_tape(loss)) {
    if (known.count(leaf.node) == 0) add(report, {AuditProblem::not_listed, "", leaf.reader});
  }
}

bool is_silent(const Tensor& gradient) {
  if (!gradient.defined()) return true;
  const std::vector<double> values = numbers_of(gradient);
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

std::string subject_of(const AuditFinding& finding) {
  if (finding.problem == AuditProblem::not_listed) return "(no parameter)";
  return finding.block.empty() ? finding.parameter : finding.parameter + ": " + finding.block;
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
    case AuditProblem::not_listed:
      return "not listed";
    case AuditProblem::idle_rows:
      return "idle rows";
    case AuditProblem::aliased:
      break;
  }
  return "aliased";
}

AuditReport audit(const Tensor& loss, const nn::Module& module, const AuditOptions& options) {
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
  std::unordered_map<const TensorImpl*, Tensor> heard;  // gradients that are not all zero
  std::size_t k = 0;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.requires_grad()) continue;
    const Tensor& gradient = gradients[k++];
    look_at(report, name, parameter, gradient);
    if (is_silent(gradient)) continue;
    heard.emplace(parameter.impl(), gradient);
    look_at_rows(report, loss, name, parameter, gradient);
  }
  std::vector<Silence> silences;
  for (const nn::BlockedParameter& blocked : module.blocked_parameters()) {
    const auto at = heard.find(blocked.parameter.impl());
    if (at != heard.end()) look_at_blocks(report, blocked, at->second, silences);
  }
  look_for_aliases(report, parameters);
  look_for_other_leaves(report, loss, parameters, options);
  return report;
}

std::string AuditReport::report() const {
  std::string text = fmt::format("audit: {} parameters", parameters);
  if (frozen > 0) text += fmt::format(", {} of them frozen", frozen);
  if (passed) {
    text += ", each an array of its own; every gradient has a path, is finite and not all zero";
    if (blocks > 0) text += fmt::format(", in {} named parts too", blocks);
  }
  if (!findings.empty()) text += fmt::format(", {} {}", findings.size(), passed ? "warnings" : "findings");
  std::size_t widest = 0;
  for (const AuditFinding& f : findings) widest = std::max(widest, subject_of(f).size());
  for (const AuditFinding& f : findings) {
    text += fmt::format("\n  {:<{}}  {:<13}  {}", subject_of(f), widest, name_of(f.problem), f.detail);
  }
  return text;
}

std::string AuditReport::to_json() const {
  using Json = nlohmann::ordered_json;
  Json json = {{"check", "audit"}, {"passed", passed}, {"parameters", parameters}, {"frozen", frozen}};
  json["blocks"] = blocks;
  json["findings"] = Json::array();
  for (const AuditFinding& f : findings) {
    json["findings"].push_back({{"parameter", f.parameter},
                                {"block", f.block},
                                {"problem", name_of(f.problem)},
                                {"warning", f.warning()},
                                {"detail", f.detail}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace heed::check
