#pragma once

#include <heed/core/random.h>
#include <heed/core/restore.h>
#include <heed/core/tensor.h>

namespace heed::nn {

// New parameters, with elements drawn in the given dtype from the caller's generator.

/// A leaf that requires grad, with elements from N(mean, deviation²).
Tensor normal_parameter(const Shape& shape, Generator& generator, double deviation = 1.0,
                        DType dtype = DType::f32);
/// A leaf that requires grad, with elements uniform in [−bound, bound).
Tensor uniform_parameter(const Shape& shape, Generator& generator, double bound, DType dtype = DType::f32);
/// A leaf that requires grad, all elements equal.
Tensor constant_parameter(const Shape& shape, double value, DType dtype = DType::f32);

/// Draws the elements of a parameter anew, in place, from N(0, deviation²).
void reset_normal(Tensor& parameter, Generator& generator, double deviation);
/// Sets the elements of a parameter, in place.
void reset_constant(Tensor& parameter, double value);

/// What the functions above give a parameter.
enum class InitialElements {
  values,  // those asked for
  unset,   // memory whose content means nothing
  none     // no memory: one element that cannot be written to stands for all
};

/// While one lives, the functions above draw and write nothing on this thread. For a module whose elements
/// come from elsewhere, or that is only asked for its shapes.
class SkipInit {
 public:
  explicit SkipInit(InitialElements elements = InitialElements::unset) noexcept;

 private:
  Restore<InitialElements> elements_;
};

}  // namespace heed::nn
