#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/module.h>
#include <heed/ops/cast.h>

namespace heed::nn {

// The depth-first walk that everything below stands on: every parameter slot,
// tied ones each time.
void Module::each_parameter(const std::string& prefix, const ParameterCall& call) {
  struct Visitor final : MemberVisitor {
    Visitor(const std::string& p, const ParameterCall& c) : prefix(p), call(c) {}
    void parameter(std::string_view name, Tensor& parameter) override {
      if (parameter.defined()) call(prefix + std::string(name), parameter);
    }
    void child(std::string_view name, Module& child) override {
      child.each_parameter(prefix + std::string(name) + ".", call);
    }
    const std::string& prefix;
    const ParameterCall& call;
  };
  Visitor visitor(prefix, call);
  visit(visitor);
}

void Module::each_child(const std::function<void(std::string_view, Module&)>& call) {
  struct Visitor final : MemberVisitor {
    explicit Visitor(const std::function<void(std::string_view, Module&)>& c) : call(c) {}
    void parameter(std::string_view, Tensor&) override {}
    void child(std::string_view name, Module& child) override { call(name, child); }
    const std::function<void(std::string_view, Module&)>& call;
  };
  Visitor visitor(call);
  visit(visitor);
}

NamedTensors Module::named_parameters() const {
  NamedTensors parameters;
  std::unordered_set<const TensorImpl*> seen;
  // A visit hands out handles to be filled or read; reading is all that happens
  // here.
  const_cast<Module*>(this)->each_parameter("", [&](const std::string& path, Tensor& parameter) {
    if (seen.insert(parameter.impl()).second) parameters.emplace_back(path, parameter);
  });
  return parameters;
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& [path, parameter] : named_parameters()) count += parameter.numel();
  return count;
}

void Module::zero_grad() {
  for (auto& [path, parameter] : named_parameters()) {
    if (parameter.requires_grad()) parameter.zero_grad();
  }
}

NamedTensors Module::state_dict() const {
  NamedTensors state = named_parameters();
  for (auto& [path, parameter] : state) parameter = parameter.detach();
  return state;
}

void Module::load_state_dict(const NamedTensors& state) {
  NamedTensors own = named_parameters();
  std::unordered_map<std::string, const Tensor*> given;
  std::vector<std::string> problems;
  for (const auto& [path, value] : state) {
    if (!given.emplace(path, &value).second) problems.push_back(fmt::format("'{}' is given twice", path));
  }
  for (const auto& [path, parameter] : own) {
    const auto found = given.find(path);
    if (found == given.end()) {
      problems.push_back(fmt::format("'{}' is missing, the module has {}", path, describe(parameter)));
      continue;
    }
    const Tensor& value = *found->second;
    if (!value.defined() || value.shape() != parameter.shape() || value.dtype() != parameter.dtype()) {
      problems.push_back(fmt::format("'{}' is {}, the module has {}", path,
                                     value.defined() ? describe(value) : "undefined", describe(parameter)));
    }
  }
  for (const auto& [path, value] : state) {
    const std::string& name = path;  // clang captures no structured binding
    const bool known = std::any_of(own.begin(), own.end(), [&](const auto& o) { return o.first == name; });
    if (!known) problems.push_back(fmt::format("'{}' is not in the module", path));
  }
  if (!problems.empty()) {
    fail<ValueError>("load_state_dict", fmt::format("the state does not fit {}", name_),
                     fmt::format("{}", fmt::join(problems, "; ")));
  }
  const NoGrad guard;
  for (auto& [path, parameter] : own) parameter.copy_(*given.at(path));
}

void Module::replace_parameters(std::span<const Tensor> parameters) {
  const NamedTensors own = named_parameters();
  if (own.size() != parameters.size()) {
    fail<ValueError>("replace_parameters", "number of tensors differs", std::to_string(parameters.size()),
                     std::to_string(own.size()));
  }
  std::unordered_map<const TensorImpl*, Tensor> replacement;
  for (std::size_t i = 0; i < own.size(); ++i) {
    check_shape("replace_parameters", own[i].first, parameters[i], own[i].second.shape());
    check_same_dtype("replace_parameters", own[i].first, parameters[i], "the parameter", own[i].second);
    replacement.emplace(own[i].second.impl(), parameters[i]);
  }
  each_parameter("", [&](const std::string&, Tensor& slot) { slot = replacement.at(slot.impl()); });
}

std::vector<Module*> Module::family() {
  std::vector<Module*> modules = {this};
  each_child([&](std::string_view, Module& child) {
    const std::vector<Module*> below = child.family();
    modules.insert(modules.end(), below.begin(), below.end());
  });
  return modules;
}

void Module::train(bool mode) {
  for (Module* module : family()) module->training_ = mode;
}

void Module::to(DType dtype) {
  if (!is_floating(dtype)) fail<DTypeError>("to", "dtype is not floating", name_of(dtype), "f32 or f64");
  const NoGrad guard;
  for (auto& [path, parameter] : named_parameters()) {
    if (parameter.dtype() == dtype) continue;
    const bool trained = parameter.requires_grad();
    const Tensor gradient = parameter.grad();
    const Tensor converted = cast(parameter.detach(), dtype);
    parameter.set_requires_grad(false);
    TensorImpl& impl = *parameter.impl();
    impl.storage = converted.storage();
    impl.view = converted.view();
    impl.dtype = dtype;
    parameter.set_requires_grad(trained);
    if (gradient.defined()) parameter.set_grad(cast(gradient, dtype));
  }
}

void Module::name_children() {
  each_child([](std::string_view name, Module& child) { child.name_ = name; });
}

void Module::adopt(const Module& source) {
  std::vector<Tensor> originals;
  const_cast<Module&>(source).each_parameter(
      "", [&](const std::string&, Tensor& parameter) { originals.push_back(parameter); });
  std::unordered_map<const TensorImpl*, Tensor> copies;
  std::size_t next = 0;
  each_parameter("", [&](const std::string&, Tensor& slot) {
    const Tensor& original = originals.at(next++);
    Tensor& copy = copies[original.impl()];
    if (!copy.defined()) copy = copy_of(original).set_requires_grad(original.requires_grad());
    slot = copy;
  });
  name_ = source.name_;
  const std::vector<Module*> modules = family();
  const std::vector<Module*> models = const_cast<Module&>(source).family();
  for (std::size_t i = 0; i < modules.size(); ++i) modules[i]->training_ = models.at(i)->training_;
}

}  // namespace heed::nn
