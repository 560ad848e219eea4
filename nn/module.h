#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <heed/core/scope.h>
#include <heed/core/tensor.h>
#include <heed/nn/member_visitor.h>

namespace heed::nn {

/// Tensors under their paths, such as `blocks.0.attention.qkv.weight`, in the order of the modules.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// A parameter with the names of its parts.
struct BlockedParameter {
  std::string path;
  Tensor parameter;
  int axis = 0;
  std::vector<ParameterBlock> blocks;
};

/// Base of everything that has parameters. A module lists its members in one place, HEED_MEMBERS or `visit`,
/// and all else follows from that list. Modules are movable, not copyable; `nn::clone` copies. Calls are
/// const and may run in several threads.
class Module {
 public:
  virtual ~Module() = default;
  Module(Module&&) noexcept = default;
  Module& operator=(Module&&) noexcept = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Parameters under their paths. A tied one appears once, under its first path.
  NamedTensors named_parameters() const;
  /// Buffers under their paths. A shared one appears once.
  NamedTensors named_buffers() const;
  /// The parameters whose parts modules name, once for each way in which one is divided.
  std::vector<BlockedParameter> blocked_parameters() const;
  /// How many elements the parameters have; a tied parameter counts once.
  std::int64_t parameter_count() const;
  void zero_grad();

  /// The parameters, then the buffers, as detached handles that share their elements. A tied one appears
  /// once, under its first path.
  NamedTensors state_dict() const;
  /// Copies elements into the parameters and buffers; ties stay. Strict: names, shapes and dtypes must be
  /// exactly those of state_dict(), in any order.
  /// Throws    ValueError that lists every problem, with both shapes; nothing is changed then.
  void load_state_dict(const NamedTensors& state);

  /// Puts other tensors in the place of the parameters, in the order of named_parameters(); tied ones stay
  /// tied. For evaluating the module as a function of its parameters.
  /// Throws    ValueError (another number of tensors), ShapeError, DTypeError.
  void replace_parameters(std::span<const Tensor> parameters);

  /// Switches training mode, in which dropout acts, on or off, here and in all children.
  void train(bool mode = true);
  void eval() { train(false); }
  bool training() const { return training_; }

  /// Converts the parameters, their gradients and the floating buffers in place: handles held elsewhere, such
  /// as an optimizer's, and ties stay valid.
  /// Throws    DTypeError unless dtype is f32 or f64.
  void to(DType dtype);

  /// What error messages and reports call the module: the class's own name or, once the parent has been
  /// called or asked for its parameters, the name there.
  const std::string& name() const { return name_; }

 protected:
  explicit Module(std::string_view name) : name_(name) {}

  /// Reports every parameter, buffer and child, always in the same order.
  virtual void visit(MemberVisitor& visitor) = 0;

  /// What a call begins with, `const Scope scope = enter();`: names the children, and puts this module's name
  /// into the path that nodes and errors carry.
  Scope enter() const;

  /// Takes copies of the parameters and buffers of a module of the same structure, with their dtypes, ties
  /// and requires_grad, and its modes and name.
  /// Throws    ValueError (another structure).
  void adopt(const Module& source);

 private:
  template <class M>
  friend M clone(const M& module);
  friend class EvalMode;

  // A flag that one thread raises and others read, and that moves along with its module.
  class Flag {
   public:
    Flag() = default;
    Flag(Flag&& other) noexcept : raised_(other.raised()) {}
    Flag& operator=(Flag&& other) noexcept {
      raised_.store(other.raised(), std::memory_order_release);
      return *this;
    }
    bool raised() const { return raised_.load(std::memory_order_acquire); }
    void raise() { raised_.store(true, std::memory_order_release); }

   private:
    std::atomic<bool> raised_ = false;
  };

  /// The place of a parameter or buffer in its module; the tensor may be undefined.
  struct Slot {
    std::string path;
    Tensor* tensor;
    bool trained;
  };
  /// All slots in depth-first order; a tied tensor appears at each of its places. Const callers must only
  /// read through the pointers.
  std::vector<Slot> slots() const;
  void collect(const std::string& prefix, std::vector<Slot>& slots);
  void collect_blocks(std::vector<BlockedParameter>& blocked);
  NamedTensors distinct(bool trained) const;
  /// This module and all below it, depth first.
  std::vector<Module*> family();
  void each_child(const std::function<void(std::string_view name, Module& child)>& call);
  void name_children() const;

  std::string name_;
  bool training_ = true;
  mutable Flag children_named_;
};

}  // namespace heed::nn
