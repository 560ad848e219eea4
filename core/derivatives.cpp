#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <heed/core/alias.h>
#include <heed/core/arguments.h>
#include <heed/core/backward.h>
#include <heed/core/derivatives.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>

namespace heed {
namespace {

using Tensors = std::vector<Tensor>;

void check_arguments(std::string_view op, const TensorFunction& function, const Tensors& inputs) {
  if (!function) fail<ValueError>(op, "function is empty", {}, "a function");
  if (inputs.empty()) fail<ValueError>(op, "there are no inputs", {}, "at least one");
  for (const Tensor& x : inputs) check_floating(op, "input", x);
}

void check_alike(std::string_view op, const char* name, const Tensors& given, const char* like,
                 const Tensors& wanted) {
  if (given.size() != wanted.size()) {
    fail<ValueError>(op, fmt::format("wrong number of {}s", name), fmt::format("{} were given", given.size()),
                     fmt::format("{}, one for each {}", wanted.size(), like));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    check_same_dtype(op, name, given[i], like, wanted[i]);
    check_same_shape(op, name, given[i], like, wanted[i]);
  }
}

bool any_history(const Tensors& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& x) { return x.requires_grad(); });
}

// Whether a derivative computed from these tensors is itself recorded.
bool to_record(const Tensors& a, const Tensors& b) {
  return grad_enabled() && (any_history(a) || any_history(b));
}

// The inputs as nodes of their own in the graph: leaves, or results that lead back to inputs with history.
Tensors points_at(const Tensors& inputs, bool with_history) {
  Tensors points;
  for (const Tensor& x : inputs) points.push_back(detail::alias(with_history ? x : x.detach(), true));
  return points;
}

// The gradients of Σ_i ⟨cotangents_i, outputs_i⟩ with respect to x; zeros where there is no path.
Tensors products_of(const Tensors& outputs, const Tensors& cotangents, const Tensors& x, bool create_graph) {
  Tensors used;
  GradOptions options{.retain_graph = true, .create_graph = create_graph, .allow_unused = true};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    used.push_back(outputs[i]);
    options.grad_outputs.push_back(cotangents[i]);
  }
  Tensors products = used.empty() ? Tensors(x.size()) : grad(used, x, options);
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!products[k].defined()) products[k] = zeros_like(x[k]);
  }
  return products;
}

Tensors detached(Tensors tensors) {
  for (Tensor& x : tensors) x = x.detach();
  return tensors;
}

// The one result, of one element.
Tensor scalar_result(std::string_view op, const Tensors& results) {
  if (results.size() != 1) {
    fail<ValueError>(op, "function has not one result", fmt::format("it has {}", results.size()),
                     "one result");
  }
  check_defined(op, "result", results[0]);
  if (results[0].numel() != 1) {
    fail<ShapeError>(op, "function's result has not one element", describe(results[0]), "one element");
  }
  return results[0];
}

Tensor empty_jacobian(const Tensor& y, const Tensor& x) {
  Shape shape = y.shape();
  for (const std::int64_t size : x.shape()) shape.push_back(size);
  return zeros(shape, x.dtype());
}

// Row `element` of a jacobian: the elements of one product.
void set_row(Tensor& jacobian, std::int64_t element, const Tensor& product) {
  View row = contiguous_view(product.shape());
  row.offset = element * product.numel();
  Tensor target(jacobian.storage(), row, jacobian.dtype());
  copy_elements(product, target);
}

std::vector<Tensors> jacobian_at(const Tensors& outputs, const Tensors& x) {
  std::vector<Tensors> result;
  for (const Tensor& y : outputs) {
    Tensors blocks;
    for (const Tensor& x_k : x) blocks.push_back(empty_jacobian(y, x_k));
    for (std::int64_t element = 0; element < y.numel(); ++element) {
      const Tensor one_hot = zeros(y.shape(), y.dtype());
      Tensor chosen(one_hot.storage(), View{Shape{}, Shape{}, element, 1}, y.dtype());
      chosen.fill_(1);
      const Tensors products = products_of({y}, {one_hot}, x, false);
      for (std::size_t k = 0; k < x.size(); ++k) set_row(blocks[k], element, products[k]);
    }
    result.push_back(std::move(blocks));
  }
  return result;
}

}  // namespace

Products vjp(const TensorFunction& function, const TensorList& inputs, const TensorList& cotangents) {
  check_arguments("vjp", function, inputs);
  const bool recorded = to_record(inputs, cotangents);
  const GradMode mode(true);
  const Tensors x = points_at(inputs, recorded);
  const Tensors y = function(x);
  check_alike("vjp", "cotangent", cotangents, "output", y);
  Tensors products = products_of(y, cotangents, x, recorded);
  if (recorded) return {y, std::move(products)};
  return {detached(y), detached(std::move(products))};
}

Products jvp(const TensorFunction& function, const TensorList& inputs, const TensorList& tangents) {
  check_arguments("jvp", function, inputs);
  check_alike("jvp", "tangent", tangents, "input", inputs);
  const bool recorded = to_record(inputs, tangents);
  const GradMode mode(true);
  const Tensors x = points_at(inputs, recorded);
  const Tensors y = function(x);
  Tensors u;
  for (const Tensor& y_i : y) {
    check_floating("jvp", "output", y_i);
    u.push_back(zeros_like(y_i).set_requires_grad());
  }
  const Tensors pulled = products_of(y, u, x, true);              // Jᵀ u
  Tensors products = products_of(pulled, tangents, u, recorded);  // ∂⟨Jᵀ u, v⟩/∂u = J v
  if (recorded) return {y, std::move(products)};
  return {detached(y), detached(std::move(products))};
}

std::vector<Tensors> jacobian(const TensorFunction& function, const TensorList& inputs) {
  check_arguments("jacobian", function, inputs);
  const GradMode mode(true);
  const Tensors x = points_at(inputs, false);
  const Tensors y = function(x);
  for (const Tensor& y_i : y) check_floating("jacobian", "output", y_i);
  return jacobian_at(y, x);
}

std::vector<Tensors> hessian(const TensorFunction& function, const TensorList& inputs) {
  check_arguments("hessian", function, inputs);
  const GradMode mode(true);
  const Tensors x = points_at(inputs, false);
  const Tensor y = scalar_result("hessian", function(x));
  return jacobian_at(products_of({y}, {ones_like(y)}, x, true), x);
}

Products hvp(const TensorFunction& function, const TensorList& inputs, const TensorList& vectors) {
  check_arguments("hvp", function, inputs);
  check_alike("hvp", "vector", vectors, "input", inputs);
  const bool recorded = to_record(inputs, vectors);
  const GradMode mode(true);
  const Tensors x = points_at(inputs, recorded);
  const Tensor y = scalar_result("hvp", function(x));
  const Tensors gradient = products_of({y}, {ones_like(y)}, x, true);
  Tensors products = products_of(gradient, vectors, x, recorded);  // H is symmetric
  if (recorded) return {{y}, std::move(products)};
  return {{y.detach()}, detached(std::move(products))};
}

}  // namespace heed
