#include <heed/ops/cross_entropy.h>
#include <heed/ops/losses.h>

#include "reduction_of.h"
#include "tables.h"

namespace heed::conformance {
namespace {

CrossEntropyOptions class_options(const Call& call) {
  CrossEntropyOptions options;
  options.weight = call.named("weight");
  options.ignore_index = call.attributes.integer("ignore_index", -100);
  options.label_smoothing = call.attributes.real("label_smoothing", 0);
  options.reduction = reduction_of(call);
  return options;
}

using Distance = Tensor (*)(const Tensor&, const Tensor&, Reduction);

Operation distance(Distance function) {
  return [function](const Call& call) -> Tensors {
    return {function(call.named("input"), call.named("target"), reduction_of(call))};
  };
}

using BentDistance = Tensor (*)(const Tensor&, const Tensor&, double, Reduction);

Operation bent_distance(BentDistance function, const std::string& bend) {
  return [function, bend](const Call& call) -> Tensors {
    return {function(call.named("input"), call.named("target"), call.attributes.real(bend, 1),
                     reduction_of(call))};
  };
}

}  // namespace

void add_torch_losses(Table& table) {
  table["cross_entropy"] = [](const Call& call) -> Tensors {
    return {cross_entropy(call.named("input"), call.named("target"), class_options(call))};
  };
  table["nll_loss"] = [](const Call& call) -> Tensors {
    return {nll_loss(call.named("input"), call.named("target"), class_options(call))};
  };
  table["mse_loss"] = distance(mse_loss);
  table["l1_loss"] = distance(l1_loss);
  table["huber_loss"] = bent_distance(huber_loss, "delta");
  table["smooth_l1_loss"] = bent_distance(smooth_l1_loss, "beta");
  table["binary_cross_entropy_with_logits"] = [](const Call& call) -> Tensors {
    return {binary_cross_entropy_with_logits(call.named("input"), call.named("target"),
                                             call.named("pos_weight"), call.named("weight"),
                                             reduction_of(call))};
  };
  table["kl_div"] = [](const Call& call) -> Tensors {
    return {kl_div(call.named("input"), call.named("target"), reduction_of(call),
                   call.attributes.flag("log_target"))};
  };
}

}  // namespace heed::conformance
