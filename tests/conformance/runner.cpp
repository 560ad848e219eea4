#include "runner.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/sum.h>

#include "call.h"
#include "graph.h"

namespace heed::conformance {
namespace {

/// Compares results with a case's wanted tensors and collects one line for each
/// that is wrong.
class Judge {
 public:
  Judge(const Case& test, const RunOptions& options) : test_(test), options_(options) {}

  void check(const std::string& wanted, const Tensor& got) {
    const auto& entries = test_.file.entries();
    const auto entry = entries.find(wanted);
    if (entry == entries.end()) throw Skip("the file has no tensor '" + wanted + "'");
    const std::string& type = entry->second.dtype;
    const Tensor want = test_.file.load(wanted);
    const std::optional<std::string> difference =
        test_.random ? compare_form(got, want, type) : compare(got, want, type, bound_for(type));
    if (difference) lines_.push_back(fmt::format("{}: {}: {}", test_.name, wanted, *difference));
  }
  std::vector<std::string> take_lines() { return std::move(lines_); }

 private:
  Bound bound_for(const std::string& type) const {
    const bool tighten = options_.strict && test_.suite == "onnx" && type == "F32";
    return tighten ? Bound{1e-5, 1e-6} : test_.bound;
  }

  const Case& test_;
  const RunOptions& options_;
  std::vector<std::string> lines_;
};

Environment load_operands(const Case& test) {
  Environment values;
  for (const auto& [name, entry] : test.file.entries()) {
    for (const std::string_view prefix : {"in.", "init."}) {
      if (name.starts_with(prefix)) values[name.substr(prefix.size())] = test.file.load(name);
    }
  }
  for (const std::string& name : test.gradients) values.at(name).set_requires_grad();
  return values;
}

/// Gradients of Σ ⟨cotangent, output⟩; zeros where no output depends on the
/// operand.
std::vector<Tensor> gradients_of(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents,
                                 const std::vector<Tensor>& operands, bool create_graph) {
  std::vector<Tensor> recorded;
  GradOptions options;
  options.create_graph = create_graph;
  options.allow_unused = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    recorded.push_back(outputs[i]);
    options.grad_outputs.push_back(cotangents[i]);
  }
  std::vector<Tensor> result(operands.size());
  if (!recorded.empty()) result = grad(recorded, operands, options);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!result[i].defined()) result[i] = zeros_like(operands[i]);
  }
  return result;
}

Tensor half_squared_norm(const std::vector<Tensor>& gradients) {
  Tensor total;
  for (const Tensor& gradient : gradients) {
    const Tensor part = sum(mul(gradient, gradient));
    total = total.defined() ? add(total, part) : part;
  }
  return mul(total, 0.5);
}

// An output may bear the name of an operand, so the two are looked up apart.
void check_gradients(const Case& test, const Environment& results, const Environment& arguments,
                     Judge& judge) {
  std::vector<Tensor> outputs;
  std::vector<Tensor> cotangents;
  std::vector<Tensor> operands;
  for (const std::string& name : test.cotangents) {
    outputs.push_back(results.at(name));
    cotangents.push_back(test.file.load("cot." + name));
  }
  for (const std::string& name : test.gradients) operands.push_back(arguments.at(name));
  if (outputs.empty() || operands.empty()) return;
  const std::vector<Tensor> first = gradients_of(outputs, cotangents, operands, test.second);
  for (std::size_t i = 0; i < first.size(); ++i) judge.check("grad." + test.gradients[i], first[i]);
  if (!test.second) return;
  const Tensor value = half_squared_norm(first);
  judge.check("second.value", value);
  const std::vector<Tensor> second = gradients_of({value}, {Tensor()}, operands, false);
  for (std::size_t i = 0; i < second.size(); ++i) {
    const std::string name = "second." + test.gradients[i];
    if (test.file.entries().contains(name)) judge.check(name, second[i]);
  }
}

Report judged(const Case& test, const RunOptions& options) {
  require_known_types(test);
  Judge judge(test, options);
  Environment values = load_operands(test);
  const Environment operands = values;
  run_nodes(test, values);
  for (const std::string& name : test.outputs) {
    if (!name.empty()) judge.check("out." + name, values.at(name));
  }
  check_gradients(test, values, operands, judge);
  Report report{Outcome::passed, judge.take_lines()};
  if (!report.lines.empty()) report.outcome = Outcome::failed;
  return report;
}

}  // namespace

Report run_case(const Case& test, const RunOptions& options) {
  try {
    return judged(test, options);
  } catch (const Skip& reason) {
    return {Outcome::skipped, {fmt::format("{}: {}", test.name, reason.what())}};
  } catch (const DTypeError& error) {
    return {Outcome::skipped, {fmt::format("{}: {}", test.name, error.what())}};
  } catch (const IoError&) {
    throw;
  } catch (const std::exception& error) {
    return {Outcome::failed, {fmt::format("{}: threw: {}", test.name, error.what())}};
  }
}

}  // namespace heed::conformance
