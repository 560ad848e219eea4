#include "graph.h"

#include <algorithm>
#include <array>

#include <heed/core/backward.h>

namespace heed::conformance {
namespace {

constexpr std::array known_types{"F64", "F32", "F16", "BF16", "I64", "I32", "BOOL"};
constexpr std::array known_domains{"", "ai.onnx", "ai.onnx.preview", "ai.onnx.preview.training"};

const Operation& find_operation(const Case& test, const Node& node) {
  const Table& table = test.suite == "torch" ? torch_table() : onnx_table();
  const auto found = table.find(node.op);
  const bool known =
      std::find(known_domains.begin(), known_domains.end(), node.domain) != known_domains.end();
  if (found == table.end() || !known) {
    throw Skip("operation " + (node.domain.empty() ? "" : node.domain + ".") + node.op + " is not known");
  }
  return found->second;
}

Call make_call(const Case& test, const Node& node, const Environment& values) {
  Call call{node.op,
            node.opset,
            node.inputs,
            {},
            node.outputs,
            Attributes(node.attributes, [&test](const std::string& name) {
              return test.file.load(name); })};
  for (const std::string& name : node.inputs)
    call.inputs.push_back(name.empty() ? Tensor() : values.at(name));
  return call;
}

/// ONNX's Gradient: d y / d x for every x in `xs`, with the values the graph
/// has given them.
Tensors gradient_node(const Call& call, const Environment& values) {
  std::vector<Tensor> sources;
  for (const std::string& name : call.attributes.texts("xs")) sources.push_back(values.at(name));
  // What `zs` lists takes part as a constant, which it is unless it also stands in xs.
  if (call.attributes.has("zs")) {
    for (const std::string& name : call.attributes.texts("zs")) (void)values.at(name);
  }
  const std::vector<Tensor> targets{values.at(call.attributes.text("y", ""))};
  GradOptions options;
  options.create_graph = true;
  options.allow_unused = true;
  std::vector<Tensor> gradients = grad(targets, sources, options);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) throw Skip("Gradient: y does not depend on an x");
  }
  return gradients;
}

void run_node(const Case& test, const Node& node, Environment& values) {
  const bool is_gradient = node.op == "Gradient" && node.domain == "ai.onnx.preview.training";
  const Operation* operation = is_gradient ? nullptr : &find_operation(test, node);
  const Call call = make_call(test, node, values);
  const Tensors results = operation ? (*operation)(call) : gradient_node(call, values);
  call.attributes.require_all_read(node.op);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) values[node.outputs[i]] = i < results.size() ? results[i] : Tensor();
  }
}

}  // namespace

void run_nodes(const Case& test, Environment& values) {
  const bool differentiates = std::any_of(test.nodes.begin(), test.nodes.end(),
                                          [](const Node& node) { return node.op == "Gradient"; });
  for (auto& [name, value] : values) {
    if (differentiates && is_floating(value.dtype())) value.set_requires_grad();
  }
  for (const Node& node : test.nodes) run_node(test, node, values);
}

void require_known_types(const Case& test) {
  for (const auto& [name, entry] : test.file.entries()) {
    if (std::find(known_types.begin(), known_types.end(), entry.dtype) == known_types.end()) {
      throw Skip("heed has no type " + entry.dtype);
    }
  }
}

}  // namespace heed::conformance
