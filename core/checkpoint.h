#pragma once

#include <functional>
#include <span>
#include <vector>

#include <heed/core/restore.h>
#include <heed/core/tensor_function.h>

namespace heed {

/// y = f(x), trading time for memory: f runs unrecorded now and once more, recorded, when backward needs it.
/// Shapes    those of f.                DTypes  any; results that are not floating have no history.
/// Gradient  that of f, bit for bit, if f computes the same each time.       Order  any.
/// Saves     x, handles of the tensors with history that f captures, and where its random draws began.
/// Random    Generators hand out the same numbers again and are not moved by the second run.
/// Captured  parameters and results that f uses without being given them get their gradients too. f must
///           keep them alive (hold their handles); it is kept until backward has run. Other tensors that f
///           captures, such as indices and masks, are read anew in backward with whatever was written to
///           them since. Give them as inputs, and their versions are checked like those of all that is saved.
/// Throws    what f throws; GradError (f recorded something under a GradMode of its own and returned it;
///           in backward: f gave other shapes or drew other random numbers than the first time, or a
///           saved tensor was overwritten).
std::vector<Tensor> checkpoint(const TensorFunction& function, std::span<const Tensor> inputs);

/// `checkpoint` of a function of one tensor with one result.
Tensor checkpoint(const std::function<Tensor(const Tensor&)>& function, const Tensor& input);

/// `OpenCheckpoints guard;` — while it lives, `checkpoint` on this thread calls its function and nothing
/// more, so that the function's own operations are on the tape. For code that examines the tape; values and
/// gradients are the same.
class OpenCheckpoints {
 public:
  OpenCheckpoints() noexcept;

 private:
  Restore<bool> open_;
};

}  // namespace heed
