#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <heed/core/tensor.h>

namespace heed::nn {

class Module;

/// A tensor of a module that is not trained, such as a running mean: it is saved, converted and cloned with
/// the module, and no optimizer sees it. Used like any other tensor.
class Buffer : public Tensor {
 public:
  Buffer() = default;
  Buffer(Tensor value) : Tensor(std::move(value)) {}
};

/// A member under another name than its own.
template <class M>
struct Named {
  std::string_view name;
  M& member;
};
template <class M>
Named<M> named(std::string_view name, M& member) {
  return {name, member};
}

/// A part of a parameter along one axis. A part without a name only fills space; it is not examined.
struct ParameterBlock {
  std::string name;
  std::int64_t size = 0;
};

/// What `Module::visit` reports its members to.
class MemberVisitor {
 public:
  virtual ~MemberVisitor() = default;
  /// A tensor that is trained. An undefined one, such as a bias that is switched off, is passed over.
  virtual void parameter(std::string_view name, Tensor& parameter) = 0;
  /// A tensor that is saved and not trained; an undefined one is passed over.
  virtual void buffer(std::string_view name, Buffer& buffer) = 0;
  virtual void child(std::string_view name, Module& child) = 0;
  /// Parts of a parameter that mean something by themselves, such as q, k and v in one weight: sizes along an
  /// axis that add up to its size. Only visitors that look at gradients part by part ask for them.
  virtual bool asks_for_blocks() const { return false; }
  virtual void blocks([[maybe_unused]] const Tensor& parameter, [[maybe_unused]] int axis,
                      [[maybe_unused]] const std::vector<ParameterBlock>& blocks) {}

  /// A member of any kind: a Tensor is a parameter, a Buffer a buffer, a Module a child. An optional one
  /// counts when it is there, and the elements of a vector are called `name.0`, `name.1`, …
  void member(std::string_view name, Tensor& parameter) { this->parameter(name, parameter); }
  void member(std::string_view name, Buffer& buffer) { this->buffer(name, buffer); }
  void member(std::string_view name, Module& child) { this->child(name, child); }
  template <class M>
  void member(std::string_view name, std::optional<M>& optional) {
    if (optional) member(name, *optional);
  }
  template <class M>
  void member(std::string_view name, std::vector<M>& elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      member(std::string(name) + "." + std::to_string(i), elements[i]);
    }
  }
  template <class M>
  void member(std::string_view, const Named<M>& named) {
    member(named.name, named.member);
  }

  /// Every one of `members`, whose names stand in `names`, separated by commas.
  template <class... M>
  void members([[maybe_unused]] std::string_view names, M&&... members) {
    (member(take_name(names), members), ...);
  }

 private:
  /// Cuts the first name off; commas within parentheses do not separate names.
  static std::string_view take_name(std::string_view& names);
};

}  // namespace heed::nn

/// Lists a module's members, each once: `HEED_MEMBERS(weight, bias, blocks)` in the protected part of the
/// class defines `visit`. Their kinds follow from their types (see MemberVisitor::member), and
/// `named("in_proj_weight", weight)` gives one another name. Write `visit` by hand where a list will not do.
#define HEED_MEMBERS(...)                                     \
  void visit(::heed::nn::MemberVisitor& visitor) override {   \
    using ::heed::nn::named;                                  \
    visitor.members(#__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__); \
  }
