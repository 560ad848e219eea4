#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/clamp.h>
#include <heed/ops/compare.h>
#include <heed/ops/dropout.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/piecewise_activation.h>
#include <heed/ops/reshape.h>
#include <heed/ops/smooth_activation.h>
#include <heed/ops/softmax.h>
#include <heed/ops/where.h>

#include "gelu_form.h"
#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

using AlongAxis = Tensor (*)(const Tensor&, std::int64_t);

/// Since version 13 along one axis, the last by default; before, over all axes
/// from `axis` (1) on together.
Operation softmax_like(AlongAxis function) {
  return [function](const Call& call) -> Tensors {
    const Tensor x = call.at(0);
    if (call.opset >= 13) return {function(x, call.attributes.integer("axis", -1))};
    const int axis = normalize_axis(call.op, call.attributes.integer("axis", 1), x.rank());
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    for (int i = 0; i < x.rank(); ++i) (i < axis ? rows : columns) *= x.size(i);
    return {reshape(function(reshape(x, {rows, columns}), 1), x.shape())};
  };
}

/// max(0, x) + min(0, alpha (exp(x / alpha) − 1))
Tensors celu(const Call& call) {
  const double alpha = call.attributes.real("alpha", 1);
  const Tensor x = call.at(0);
  return {where(gt(x, 0.0), x, mul(expm1(mul(x, 1 / alpha)), alpha))};
}

Tensors selu(const Call& call) {
  const double alpha = call.attributes.real("alpha", 1.67326319217681884765625);
  const double gamma = call.attributes.real("gamma", 1.05070102214813232421875);
  (void)call.attributes.has("consumed_inputs");
  return {mul(elu(call.at(0), alpha), gamma)};
}

Tensors hard_sigmoid(const Call& call) {
  const double alpha = call.attributes.real("alpha", 0.2);
  const double beta = call.attributes.real("beta", 0.5);
  return {clamp(add(mul(call.at(0), alpha), beta), 0.0, 1.0)};
}

/// Before version 7 a slope of more than one element belonged to the channels,
/// axis 1.
Tensors prelu(const Call& call) {
  const Tensor x = call.at(0);
  Tensor slope = call.at(1);
  if (call.opset < 7) slope = slope.numel() > 1 ? along_axis(slope, 1, x.rank()) : reshape(slope, {1});
  return {where(lt(x, 0.0), mul(slope, x), x)};
}

/// x · sigmoid(alpha · x)
Tensor swish(const Tensor& x, double alpha) { return alpha == 1 ? silu(x) : mul(x, sigmoid(mul(x, alpha))); }

/// Training is an input since version 12 and an attribute before version 7; in
/// between there was none.
Tensors drop(const Call& call) {
  const Tensor x = call.at(0);
  double ratio = call.attributes.real("ratio", 0.5);
  if (call.at(1).defined()) ratio = number_of(call.at(1));
  bool training = call.at(2).defined() && number_of(call.at(2)) != 0;
  if (call.opset < 7) training = !call.attributes.flag("is_test");
  Generator generator(static_cast<std::uint64_t>(call.attributes.integer("seed", 0)));
  if (!training || ratio == 0) return {x, ones_like(eq(x, x))};
  const Tensor keep = ge(rand(x.shape(), generator), ratio);
  return {dropout_with_keep(x, keep, ratio), keep};
}

void add_plain(Table& table) {
  table["Sigmoid"] = unary(sigmoid);
  table["Tanh"] = unary(tanh);
  table["Erf"] = unary(erf);
  table["Relu"] = unary(relu);
  table["Mish"] = unary(mish);
  table["Softplus"] = unary(softplus);
  table["Softsign"] = unary(softsign);
  table["HardSwish"] = unary(hardswish);
}

}  // namespace

void add_onnx_activations(Table& table) {
  add_plain(table);
  table["Softmax"] = softmax_like(softmax);
  table["LogSoftmax"] = softmax_like(log_softmax);
  table["Celu"] = celu;
  table["Selu"] = selu;
  table["HardSigmoid"] = hard_sigmoid;
  table["PRelu"] = prelu;
  table["Dropout"] = drop;
  table["Gelu"] = [](const Call& call) -> Tensors { return {gelu(call.at(0), gelu_form(call))}; };
  table["Elu"] = [](const Call& call) -> Tensors {
    return {elu(call.at(0), call.attributes.real("alpha", 1))};
  };
  table["LeakyRelu"] = [](const Call& call) -> Tensors {
    return {leaky_relu(call.at(0), call.attributes.real("alpha", 0.01))};
  };
  table["ThresholdedRelu"] = [](const Call& call) -> Tensors {
    const Tensor x = call.at(0);
    return {where(gt(x, call.attributes.real("alpha", 1)), x, Scalar(0))};
  };
  table["Swish"] = [](const Call& call) -> Tensors {
    return {swish(call.at(0), call.attributes.real("alpha", 1))};
  };
  table["SwiGLU"] = [](const Call& call) -> Tensors {
    return {mul(swish(call.at(0), call.attributes.real("alpha", 1)), call.at(1))};
  };
}

}  // namespace heed::conformance
