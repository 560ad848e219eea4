#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <heed/core/tensor.h>
#include <heed/core/vjp_context.h>

namespace heed {

/// What the forward of a user's operation may keep for its backward.
class CustomSave {
 public:
  /// Keeps an input, a result or an intermediate tensor (which serves the first derivative only). `name`, a
  /// literal, is what backward and messages call it.
  void operator()(const char* name, const Tensor& x) { kept_.emplace_back(name, x); }
  /// What was kept.
  std::vector<std::pair<const char*, Tensor>> take() { return std::exchange(kept_, {}); }

 private:
  std::vector<std::pair<const char*, Tensor>> kept_;
};

/// What the backward of a user's operation sees: `VjpContext`, with saved tensors by name.
class CustomVjp {
 public:
  struct Kept {
    std::string name;
    SavedTensor tensor;
    bool intermediate = false;  ///< neither input nor result: without history
  };
  using Saved = std::vector<Kept>;
  CustomVjp(VjpContext& context, const Saved& saved) : context_(context), saved_(saved) {}

  /// Whether the gradient of this input is asked for.
  bool needs(int input) const { return context_.needs(input); }
  /// Cotangent of a result; zeros where nothing downstream used it.
  const Tensor& cotangent(int output = 0) { return context_.cotangent(output); }
  /// A tensor that forward saved. ValueError for a name that it did not; GradError if it was written to
  /// since, and with create_graph for a floating one that is neither input nor result: forward is not
  /// recorded, so its derivative would be lost.
  Tensor saved(const char* name) const;
  /// Sets the gradient of an input: its shape and dtype.
  void set(int input, Tensor gradient) { context_.set(input, std::move(gradient)); }
  /// Whether this backward is recorded (create_graph).
  bool recording() const { return context_.recording(); }

 private:
  VjpContext& context_;
  const Saved& saved_;
};

struct CustomOpOptions {
  /// False for a backward that is not written with heed's operations: asking for its derivative is then an
  /// error instead of a wrong number.
  bool differentiable_backward = true;
};

/// An operation of the user's own, recorded as heed's are.
///   Tensor cube(const Tensor& x) {  // y = x³, dx = 3x² dy
///     return custom_op("cube", {x}, [&](CustomSave& save) { save("x", x); return mul(x, mul(x, x)); },
///                      [](CustomVjp& c) {
///                        const Tensor x = c.saved("x");
///                        c.set(0, mul(c.cotangent(), mul(3, mul(x, x))));
///                      });
///   }
/// Equation  y = forward(), which runs at once, unrecorded, and reads the inputs that it captures.
/// Gradient  what `backward` sets. It runs later, in a backward pass, so it must not capture by reference.
/// Order     any where backward is written with heed's operations and reads saved inputs and results.
/// Saves     what forward saves, and nothing when nothing is recorded.
/// Throws    GradError (forward read a tensor that requires grad and is no input; a result that somebody else
///           holds; a gradient of the wrong shape or dtype), ValueError (no function).
Tensor custom_op(const char* name, const std::vector<Tensor>& inputs,
                 const std::function<Tensor(CustomSave&)>& forward,
                 const std::function<void(CustomVjp&)>& backward, const CustomOpOptions& options = {});

/// The same with several results.
std::vector<Tensor> custom_op(const char* name, const std::vector<Tensor>& inputs,
                              const std::function<std::vector<Tensor>(CustomSave&)>& forward,
                              const std::function<void(CustomVjp&)>& backward,
                              const CustomOpOptions& options = {});

}  // namespace heed
