#include <algorithm>
#include <cmath>

#include <heed/core/factory.h>
#include <heed/ops/cast.h>

#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

template <class T>
Tensor vector_of(const std::vector<T>& values) {
  return from_span(std::span<const T>(values), {static_cast<std::int64_t>(values.size())});
}

Tensors constant(const Call& call) {
  const Attributes& attributes = call.attributes;
  if (attributes.has("value")) return {attributes.tensor("value")};
  if (attributes.has("value_float")) return {scalar(static_cast<float>(attributes.real("value_float")))};
  if (attributes.has("value_int")) return {scalar(attributes.integer("value_int"))};
  if (attributes.has("value_floats")) {
    const std::vector<double> values = attributes.reals("value_floats");
    return {vector_of(std::vector<float>(values.begin(), values.end()))};
  }
  if (attributes.has("value_ints")) {
    const Integers values = attributes.integers("value_ints");
    return {vector_of<std::int64_t>(values)};
  }
  throw Skip("Constant: none of the known attributes is given");
}

Tensors constant_of_shape(const Call& call) {
  const Tensor value = call.attributes.has("value") ? call.attributes.tensor("value") : zeros({1});
  return {full(list_of(call.at(0)), Scalar(number_of(value)), value.dtype())};
}

/// Ones on the k-th diagonal, in the type of the input unless another is given.
Tensors eye_like(const Call& call) {
  const Tensor x = call.at(0);
  const std::int64_t k = call.attributes.integer("k", 0);
  const DType dtype =
      call.attributes.has("dtype") ? dtype_of_onnx(call.attributes.integer("dtype")) : x.dtype();
  const std::int64_t rows = x.size(0);
  const std::int64_t columns = x.size(1);
  std::vector<double> ones_at(static_cast<std::size_t>(rows * columns), 0.0);
  for (std::int64_t row = std::max<std::int64_t>(0, -k); row < rows && row + k < columns; ++row) {
    ones_at[static_cast<std::size_t>(row * columns + row + k)] = 1.0;
  }
  return {cast(from_span(std::span<const double>(ones_at), {rows, columns}), dtype)};
}

Tensors range(const Call& call) {
  (void)call.attributes.has("stash_type");  // the sum is taken in f64
  const double start = number_of(call.at(0));
  const double delta = number_of(call.at(2));
  const double steps = std::ceil((number_of(call.at(1)) - start) / delta);
  std::vector<double> values(steps > 0 ? static_cast<std::size_t>(steps) : 0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * delta;
  return {cast(vector_of(values), call.at(0).dtype())};
}

}  // namespace

void add_onnx_sources(Table& table) {
  table["Constant"] = constant;
  table["ConstantOfShape"] = constant_of_shape;
  table["EyeLike"] = eye_like;
  table["Range"] = range;
}

}  // namespace heed::conformance
