#include <cmath>

#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/clamp.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/power.h>
#include <heed/ops/rounding.h>
#include <heed/ops/trigonometric.h>
#include <heed/ops/where.h>

#include "compare.h"
#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

using Binary = Tensor (*)(const Tensor&, const Tensor&);

Operation aligned(Binary function) {
  return [function](const Call& call) -> Tensors {
    return {function(call.at(0), aligned_operand(call, call.at(0), call.at(1)))};
  };
}

/// One operand or more, joined from the left.
Tensor joined(const Call& call, Binary function) {
  Tensor result = call.at(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) result = function(result, call.at(i));
  return result;
}

Operation variadic(Binary function) {
  return [function](const Call& call) -> Tensors { return {joined(call, function)}; };
}

/// The result has the base's type; whole numbers take the way over f64, which
/// holds them exactly to 2^53.
Tensors power(const Call& call) {
  const Tensor base = call.at(0);
  const Tensor exponent = aligned_operand(call, base, call.at(1));
  if (is_floating(base.dtype())) return {pow(base, cast(exponent, base.dtype()))};
  return {cast(pow(cast(base, DType::f64), cast(exponent, DType::f64)), base.dtype())};
}

/// Bounds are inputs, or attributes before version 11.
Tensors clip(const Call& call) {
  const auto bound = [&](std::size_t position, const std::string& name) {
    if (call.at(position).defined()) return std::optional(number_of(call.at(position)));
    return call.attributes.optional_real(name);
  };
  return {clamp(call.at(0), bound(1, "min"), bound(2, "max"))};
}

/// F16 and BF16 live on as f32 whose elements are numbers of that format.
Tensors cast_type(const Call& call) {
  (void)call.attributes.has("saturate");    // of 8-bit floats alone
  (void)call.attributes.has("round_mode");  // likewise
  const std::int64_t to = call.attributes.integer("to");
  if (to != 10 && to != 16) return {cast(call.at(0), dtype_of_onnx(to))};
  const Tensor x = is_floating(call.at(0).dtype()) ? call.at(0) : cast(call.at(0), DType::f64);
  return {round_to_format(x, to == 10 ? "F16" : "BF16")};
}

void add_functions(Table& table) {
  table["Abs"] = unary(abs);
  table["Neg"] = unary(neg);
  table["Exp"] = unary(exp);
  table["Log"] = unary(log);
  table["Sqrt"] = unary(sqrt);
  table["Reciprocal"] = unary(reciprocal);
  table["Sin"] = unary(sin);
  table["Cos"] = unary(cos);
  table["Tan"] = unary(tan);
  table["Asin"] = unary(asin);
  table["Atan"] = unary(atan);
  table["Floor"] = unary(floor);
  table["Ceil"] = unary(ceil);
  table["Round"] = unary(round);
  table["Sign"] = unary(sign);
  table["Identity"] = [](const Call& call) -> Tensors { return {call.at(0)}; };
}

}  // namespace

void add_onnx_elementwise(Table& table) {
  add_functions(table);
  table["Add"] = aligned(add);
  table["Sub"] = aligned(sub);
  table["Mul"] = aligned(mul);
  table["Div"] = aligned(div);
  table["Pow"] = power;
  table["Max"] = variadic(maximum);
  table["Min"] = variadic(minimum);
  table["Sum"] = variadic(add);
  table["Mean"] = [](const Call& call) -> Tensors {
    return {div(joined(call, add), static_cast<double>(call.inputs.size()))};
  };
  table["Clip"] = clip;
  table["Cast"] = cast_type;
}

}  // namespace heed::conformance
