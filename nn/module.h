#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <heed/core/tensor.h>

namespace heed::nn {

class Module;

/// Tensors under their paths, such as `blocks.0.attention.qkv.weight`, in the order of the modules.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// What `Module::visit` reports its members to.
class MemberVisitor {
 public:
  virtual ~MemberVisitor() = default;
  /// A tensor that is trained. An undefined one (such as a bias that is switched off) is passed over.
  virtual void parameter(std::string_view name, Tensor& parameter) = 0;
  virtual void child(std::string_view name, Module& child) = 0;
  /// Each as a child named `name.0`, `name.1`, …
  template <class M>
  void children(std::string_view name, std::vector<M>& modules) {
    for (std::size_t i = 0; i < modules.size(); ++i) {
      child(std::string(name) + "." + std::to_string(i), modules[i]);
    }
  }
};

/// Base of everything that has parameters. A module lists its parameters and children in one place, `visit`;
/// all else follows from that list. A composite module ends its constructor with name_children(). Modules are
/// movable, not copyable; `clone()` of the concrete class copies. Calls are const and may run in several
/// threads.
class Module {
 public:
  virtual ~Module() = default;
  Module(Module&&) noexcept = default;
  Module& operator=(Module&&) noexcept = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Parameters under their paths. A tied one appears once, under its first path.
  NamedTensors named_parameters() const;
  /// Number of trained numbers, tied ones once.
  std::int64_t parameter_count() const;
  void zero_grad();

  /// The parameters as detached handles that share their elements. Tied ones once, under their first path.
  NamedTensors state_dict() const;
  /// Copies elements into the parameters; ties stay. Strict: names, shapes and dtypes must be exactly those
  /// of state_dict().
  /// Throws    ValueError that lists every problem, with both shapes; nothing is changed
  /// then.
  void load_state_dict(const NamedTensors& state);

  /// Puts other tensors in the place of the parameters, in the order of named_parameters(); tied ones stay
  /// tied. For evaluating the module as a function of its parameters.
  /// Throws    ValueError (another number of
  /// tensors), ShapeError, DTypeError.
  void replace_parameters(std::span<const Tensor> parameters);

  /// Switches training mode, in which dropout acts, on or off, here and in all children.
  void train(bool mode = true);
  void eval() { train(false); }
  bool training() const { return training_; }

  /// Converts the parameters, and their gradients, in place: handles held elsewhere, such as an optimizer's,
  /// and ties stay valid.
  /// Throws    DTypeError unless dtype is f32 or f64.
  void to(DType dtype);

  /// Name in the parent, or the class's own name: what error messages and reports call it.
  const std::string& name() const { return name_; }

 protected:
  explicit Module(std::string_view name) : name_(name) {}

  /// Reports every parameter and every child, always in the same order.
  virtual void visit(MemberVisitor& visitor) = 0;
  /// Gives the children the names that `visit` reports.
  void name_children();
  /// Takes copies of the parameters of a module of the same structure, with their dtypes, ties and need of
  /// gradients, and its mode. What `clone` is made of.
  void adopt(const Module& source);

 private:
  using ParameterCall = std::function<void(const std::string& path, Tensor& parameter)>;
  void each_parameter(const std::string& prefix, const ParameterCall& call);
  /// This module and all below it, depth first.
  std::vector<Module*> family();
  void each_child(const std::function<void(std::string_view name, Module& child)>& call);

  std::string name_;
  bool training_ = true;
};

}  // namespace heed::nn
