#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/clamp.h>
#include <heed/ops/compare.h>
#include <heed/ops/dropout.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/gated_activation.h>
#include <heed/ops/piecewise_activation.h>
#include <heed/ops/power.h>
#include <heed/ops/rounding.h>
#include <heed/ops/smooth_activation.h>
#include <heed/ops/softmax.h>
#include <heed/ops/trigonometric.h>

#include "gelu_form.h"
#include "tables.h"

namespace heed::conformance {
namespace {

Tensors dropout_given(const Call& call) {
  const Attributes& attributes = call.attributes;
  const double p = attributes.has("p") ? attributes.real("p") : attributes.real("dropout");
  return {dropout_with_keep(call.at(0), call.named("keep"), p)};
}

Tensors softplus_scaled(const Call& call) {
  const double beta = call.attributes.real("beta", 1);
  const Tensor x = call.at(0);
  return {beta == 1 ? softplus(x) : mul(softplus(mul(x, beta)), 1 / beta)};
}

void add_plain(Table& table) {
  table["neg"] = unary(neg);
  table["abs"] = unary(abs);
  table["exp"] = unary(exp);
  table["expm1"] = unary(expm1);
  table["log"] = unary(log);
  table["log1p"] = unary(log1p);
  table["sqrt"] = unary(sqrt);
  table["rsqrt"] = unary(rsqrt);
  table["square"] = unary(square);
  table["reciprocal"] = unary(reciprocal);
  table["sin"] = unary(sin);
  table["cos"] = unary(cos);
  table["tan"] = unary(tan);
  table["asin"] = unary(asin);
  table["atan"] = unary(atan);
  table["sign"] = unary(sign);
  table["floor"] = unary(floor);
  table["ceil"] = unary(ceil);
  table["round"] = unary(round);
}

void add_activations(Table& table) {
  table["tanh"] = unary(tanh);
  table["sigmoid"] = unary(sigmoid);
  table["erf"] = unary(erf);
  table["relu"] = unary(relu);
  table["relu6"] = unary(relu6);
  table["silu"] = unary(silu);
  table["mish"] = unary(mish);
  table["log_sigmoid"] = unary(log_sigmoid);
  table["hardswish"] = unary(hardswish);
  table["softsign"] = unary(softsign);
  table["softplus"] = softplus_scaled;
  table["gelu"] = [](const Call& call) -> Tensors { return {gelu(call.at(0), gelu_form(call))}; };
  table["leaky_relu"] = [](const Call& call) -> Tensors {
    return {leaky_relu(call.at(0), call.attributes.real("negative_slope", 0.01))};
  };
  table["elu"] = [](const Call& call) -> Tensors {
    return {elu(call.at(0), call.attributes.real("alpha", 1))};
  };
  table["glu"] = [](const Call& call) -> Tensors {
    return {glu(call.at(0), call.attributes.integer("dim", -1))};
  };
  table["swiglu"] = [](const Call& call) -> Tensors {
    return {swiglu(call.at(0), call.attributes.integer("dim", -1))};
  };
  table["softmax"] = [](const Call& call) -> Tensors {
    return {softmax(call.at(0), call.attributes.integer("dim"))};
  };
  table["log_softmax"] = [](const Call& call) -> Tensors {
    return {log_softmax(call.at(0), call.attributes.integer("dim"))};
  };
}

void add_binary(Table& table) {
  table["add"] = binary(add);
  table["sub"] = binary(sub);
  table["mul"] = binary(mul);
  table["div"] = binary(div);
  table["pow"] = binary(pow);
  table["maximum"] = binary(maximum);
  table["minimum"] = binary(minimum);
  table["atan2"] = binary(atan2);
  table["eq"] = binary(eq);
  table["ne"] = binary(ne);
  table["lt"] = binary(lt);
  table["le"] = binary(le);
  table["gt"] = binary(gt);
  table["ge"] = binary(ge);
  table["mul_self"] = [](const Call& call) -> Tensors { return {mul(call.at(0), call.at(0))}; };
}

}  // namespace

void add_torch_elementwise(Table& table) {
  add_plain(table);
  add_activations(table);
  add_binary(table);
  table["clamp"] = [](const Call& call) -> Tensors {
    return {clamp(call.at(0), call.attributes.optional_real("min"), call.attributes.optional_real("max"))};
  };
  table["pow_scalar"] = [](const Call& call) -> Tensors {
    return {pow(call.at(0), Scalar(call.attributes.real("exponent")))};
  };
  table["dropout"] = dropout_given;
}

}  // namespace heed::conformance
