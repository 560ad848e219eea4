#include "onnx_common.h"

#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/reshape.h>
#include <heed/ops/where.h>

namespace heed::conformance {

std::optional<Shape> axes_given(const Call& call, std::size_t position) {
  if (call.at(position).defined()) return list_of(call.at(position));
  if (call.attributes.has("axes")) return call.attributes.integers("axes");
  return {};
}

Tensor along_axis(const Tensor& vector, int axis, int rank) {
  Shape shape = Shape::filled(rank, 1);
  shape[axis] = vector.numel();
  return reshape(vector, shape);
}

Tensor from_the_front(const Tensor& indices, std::int64_t size) {
  const Tensor wide = cast(indices, DType::i64);
  return where(lt(wide, 0), add(wide, size), wide);
}

DType dtype_of_onnx(std::int64_t type) {
  switch (type) {
    case 1:
      return DType::f32;
    case 6:
      return DType::i32;
    case 7:
      return DType::i64;
    case 9:
      return DType::boolean;
    case 11:
      return DType::f64;
    default:
      throw Skip("heed has no type for ONNX type " + std::to_string(type));
  }
}

Tensor aligned_operand(const Call& call, const Tensor& first, const Tensor& second) {
  if (call.opset >= 7) return second;
  const bool broadcasts = call.attributes.flag("broadcast");
  (void)call.attributes.has("consumed_inputs");
  if (!broadcasts || !call.attributes.has("axis")) return second;
  const int axis = normalize_axis(call.op, call.attributes.integer("axis"), first.rank());
  Shape shape = second.shape();
  while (shape.rank() < first.rank() - axis) shape.push_back(1);
  return reshape(second, shape);
}

}  // namespace heed::conformance
