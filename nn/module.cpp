#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/module.h>
#include <heed/ops/cast.h>

namespace heed::nn {
namespace {

// What keeps `state` from being loaded into `own`.
std::vector<std::string> problems_of(const NamedTensors& state, const NamedTensors& own) {
  std::unordered_map<std::string, const Tensor*> given;
  std::unordered_set<std::string> known;
  std::vector<std::string> problems;
  for (const auto& [path, value] : state) {
    if (!given.emplace(path, &value).second) problems.push_back(fmt::format("'{}' is given twice", path));
  }
  for (const auto& [path, tensor] : own) {
    known.insert(path);
    const auto found = given.find(path);
    if (found == given.end()) {
      problems.push_back(fmt::format("'{}' is missing, the module has {}", path, describe(tensor)));
      continue;
    }
    const Tensor& value = *found->second;
    if (!value.defined() || value.shape() != tensor.shape() || value.dtype() != tensor.dtype()) {
      problems.push_back(fmt::format("'{}' is {}, the module has {}", path,
                                     value.defined() ? describe(value) : "undefined", describe(tensor)));
    }
  }
  for (const auto& [path, value] : state) {
    if (known.count(path) == 0) problems.push_back(fmt::format("'{}' is not in the module", path));
  }
  return problems;
}

}  // namespace

std::string_view MemberVisitor::take_name(std::string_view& names) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < names.size(); ++end) {
    if (names[end] == '(') ++depth;
    if (names[end] == ')') --depth;
    if (names[end] == ',' && depth == 0) break;
  }
  const std::string_view name = names.substr(0, end);
  names.remove_prefix(std::min(end + 1, names.size()));
  names.remove_prefix(std::min(names.find_first_not_of(' '), names.size()));
  return name;
}

// The depth-first walk that the functions below are built on.
void Module::collect(const std::string& prefix, std::vector<Slot>& slots) {
  struct Visitor final : MemberVisitor {
    Visitor(const std::string& p, std::vector<Slot>& s) : prefix(p), slots(s) {}
    void parameter(std::string_view name, Tensor& parameter) override {
      slots.push_back({prefix + std::string(name), &parameter, true});
    }
    void buffer(std::string_view name, Buffer& buffer) override {
      slots.push_back({prefix + std::string(name), &buffer, false});
    }
    void child(std::string_view name, Module& child) override {
      child.collect(prefix + std::string(name) + ".", slots);
    }
    const std::string& prefix;
    std::vector<Slot>& slots;
  };
  name_children();
  Visitor visitor(prefix, slots);
  visit(visitor);
}

std::vector<Module::Slot> Module::slots() const {
  std::vector<Slot> slots;
  const_cast<Module*>(this)->collect("", slots);
  return slots;
}

void Module::collect_blocks(std::vector<BlockedParameter>& blocked) {
  struct Visitor final : MemberVisitor {
    explicit Visitor(std::vector<BlockedParameter>& b) : blocked(b) {}
    void parameter(std::string_view, Tensor&) override {}
    void buffer(std::string_view, Buffer&) override {}
    void child(std::string_view, Module& child) override { child.collect_blocks(blocked); }
    bool asks_for_blocks() const override { return true; }
    void blocks(const Tensor& parameter, int axis, const std::vector<ParameterBlock>& parts) override {
      if (parameter.defined()) blocked.push_back({"", parameter, axis, parts});
    }
    std::vector<BlockedParameter>& blocked;
  };
  Visitor visitor(blocked);
  visit(visitor);
}

std::vector<BlockedParameter> Module::blocked_parameters() const {
  std::vector<BlockedParameter> blocked;
  const_cast<Module*>(this)->collect_blocks(blocked);
  std::unordered_map<const TensorImpl*, std::string> paths;
  for (const auto& [path, parameter] : named_parameters()) paths.emplace(parameter.impl(), path);
  for (BlockedParameter& entry : blocked) entry.path = paths[entry.parameter.impl()];
  return blocked;
}

void Module::each_child(const std::function<void(std::string_view, Module&)>& call) {
  struct Visitor final : MemberVisitor {
    explicit Visitor(const std::function<void(std::string_view, Module&)>& c) : call(c) {}
    void parameter(std::string_view, Tensor&) override {}
    void buffer(std::string_view, Buffer&) override {}
    void child(std::string_view name, Module& child) override { call(name, child); }
    const std::function<void(std::string_view, Module&)>& call;
  };
  Visitor visitor(call);
  visit(visitor);
}

// Calls may come from several threads at once: the first one writes the names, and the others wait for it.
void Module::name_children() const {
  if (children_named_.raised()) return;
  static std::mutex naming;
  const std::lock_guard lock(naming);
  if (children_named_.raised()) return;
  const_cast<Module*>(this)->each_child([](std::string_view name, Module& child) { child.name_ = name; });
  children_named_.raise();
}

Scope Module::enter() const {
  name_children();
  return Scope(name_);
}

NamedTensors Module::distinct(bool trained) const {
  NamedTensors tensors;
  std::unordered_set<const TensorImpl*> seen;
  for (const Slot& slot : slots()) {
    if (slot.trained != trained || !slot.tensor->defined()) continue;
    if (seen.insert(slot.tensor->impl()).second) tensors.emplace_back(slot.path, *slot.tensor);
  }
  return tensors;
}

NamedTensors Module::named_parameters() const { return distinct(true); }

NamedTensors Module::named_buffers() const { return distinct(false); }

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
  for (auto& named : named_buffers()) state.push_back(std::move(named));
  for (auto& [path, tensor] : state) tensor = tensor.detach();
  return state;
}

void Module::load_state_dict(const NamedTensors& state) {
  NamedTensors own = state_dict();  // its handles share their elements
  const std::vector<std::string> problems = problems_of(state, own);
  if (!problems.empty()) {
    fail<ValueError>("load_state_dict", fmt::format("the state does not fit {}", name_),
                     fmt::format("{}", fmt::join(problems, "; ")));
  }
  const NoGrad guard;
  const std::unordered_map<std::string, Tensor> given(state.begin(), state.end());
  for (auto& [path, tensor] : own) tensor.copy_(given.at(path));
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
  for (const Slot& slot : slots()) {
    if (slot.trained && slot.tensor->defined()) *slot.tensor = replacement.at(slot.tensor->impl());
  }
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
  for (const Slot& slot : slots()) {
    Tensor& tensor = *slot.tensor;
    if (!tensor.defined() || tensor.dtype() == dtype || !is_floating(tensor.dtype())) continue;
    const bool trained = tensor.requires_grad();
    const Tensor gradient = tensor.grad();
    const Tensor converted = cast(tensor.detach(), dtype);
    tensor.set_requires_grad(false);
    TensorImpl& impl = *tensor.impl();
    impl.storage = converted.storage();
    impl.view = converted.view();
    impl.dtype = dtype;
    tensor.set_requires_grad(trained);
    if (gradient.defined()) tensor.set_grad(cast(gradient, dtype));
  }
}

void Module::adopt(const Module& source) {
  const std::vector<Slot> own = slots();
  const std::vector<Slot> theirs = source.slots();
  const bool same = std::equal(own.begin(), own.end(), theirs.begin(), theirs.end(),
                               [](const Slot& a, const Slot& b) { return a.path == b.path; });
  if (!same) {
    fail<ValueError>("clone", fmt::format("{} has other members than its options make", source.name_));
  }
  std::unordered_map<const TensorImpl*, Tensor> copies;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Tensor& original = *theirs[i].tensor;
    Tensor& copy = copies[original.impl()];
    if (!copy.defined() && original.defined()) {
      copy = copy_of(original).set_requires_grad(original.requires_grad());
    }
    *own[i].tensor = copy;
  }
  name_ = source.name_;
  const std::vector<Module*> modules = family();
  const std::vector<Module*> models = const_cast<Module&>(source).family();
  for (std::size_t i = 0; i < modules.size(); ++i) modules[i]->training_ = models.at(i)->training_;
}

}  // namespace heed::nn
