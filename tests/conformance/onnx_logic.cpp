#include <limits>

#include <heed/ops/compare.h>
#include <heed/ops/rounding.h>
#include <heed/ops/where.h>

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

Tensors is_infinite(const Call& call) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool positive = call.attributes.flag("detect_positive", true);
  const bool negative = call.attributes.flag("detect_negative", true);
  const Tensor x = call.at(0);
  if (positive && negative) return {logical_or(eq(x, infinity), eq(x, -infinity))};
  if (positive) return {eq(x, infinity)};
  if (negative) return {eq(x, -infinity)};
  return {lt(abs(x), 0.0)};  // nothing is asked for
}

}  // namespace

void add_onnx_logic(Table& table) {
  table["And"] = aligned(logical_and);
  table["Or"] = aligned(logical_or);
  table["Xor"] = aligned(logical_xor);
  table["Not"] = unary(logical_not);
  table["Equal"] = aligned(eq);
  table["Greater"] = aligned(gt);
  table["GreaterOrEqual"] = aligned(ge);
  table["Less"] = aligned(lt);
  table["LessOrEqual"] = aligned(le);
  table["Where"] = [](const Call& call) -> Tensors { return {where(call.at(0), call.at(1), call.at(2))}; };
  table["IsInf"] = is_infinite;
  table["IsNaN"] = [](const Call& call) -> Tensors { return {ne(call.at(0), call.at(0))}; };
}

}  // namespace heed::conformance
