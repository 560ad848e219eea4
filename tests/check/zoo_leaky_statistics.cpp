#include <limits>

#include <heed/core/checkpoint.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/expand.h>
#include <heed/ops/extremum.h>
#include <heed/ops/gather.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/power.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rms_norm.h>
#include <heed/ops/rounding.h>
#include <heed/ops/slice.h>
#include <heed/ops/softmax.h>
#include <heed/ops/sort.h>
#include <heed/ops/sum.h>
#include <heed/ops/variance.h>
#include <heed/ops/vector_norm.h>
#include <heed/ops/where.h>

#include "zoo.h"

// Statistics over positions and samples.
namespace heed::test::zoo {
namespace {

using check::IsolationFinding;

std::vector<Leaky> over_time() {
  std::vector<Leaky> models;
  models.push_back({"centred over time", [](const Tensor& x) { return x - mean(x, {1}, true); }, "mean"});
  models.push_back({"a norm over time",
                    [](const Tensor& x) {
                      return dense(layer_norm(x, {positions, width}));
                    },
                    "layer_norm"});
  models.push_back({"a root mean square over time",
                    [](const Tensor& x) {
                      return rms_norm(x, {positions, width});
                    },
                    "rms_norm"});
  models.push_back({"softmax over time", [](const Tensor& x) { return softmax(x, 1) * x; }, "softmax"});
  models.push_back(
      {"scaled by the largest", [](const Tensor& x) { return x / amax(abs(x), {1}, true); }, "amax"});
  models.push_back({"a detached maximum", [](const Tensor& x) { return x - amax(x.detach(), {1}, true); },
                    "sub", IsolationFinding::value});
  models.push_back({"the place of the maximum",
                    [](const Tensor& x) {
                      const Tensor at = cast(argmax(x.detach(), 1, true), DType::f64);
                      return x + 0.1 * at;
                    },
                    "add", IsolationFinding::value});
  models.push_back({"the value at the maximum",
                    [](const Tensor& x) { return x + gather(x, 1, argmax(x, 1, true)); }, "gather"});
  models.push_back({"sorted over time", [](const Tensor& x) { return sort(x, 1).values; }, "sort"});
  models.push_back({"divided by a length over time",
                    [](const Tensor& x) { return x / vector_norm(x, 2, {1}, true); }, "vector_norm"});
  models.push_back({"pooled in a checkpoint",
                    [](const Tensor& x) {
                      return checkpoint([](const Tensor& z) { return dense(z) + mean(dense(z), {1}, true); },
                                        x);
                    },
                    "mean"});
  models.push_back({.name = "a mean that counts the padding",
                    .model = [](const Tensor& x) { return x - mean(x, {1}, true); },
                    .op = "mean",
                    .prover = Prover::padding});
  return models;
}

std::vector<Leaky> over_samples() {
  std::vector<Leaky> models;
  const auto add_batch = [&](const char* name, check::SequenceModel model, const char* op,
                             IsolationFinding finding = IsolationFinding::derivative) {
    models.push_back(
        {.name = name, .model = std::move(model), .op = op, .finding = finding, .prover = Prover::batch});
  };
  add_batch(
      "batch statistics",
      [](const Tensor& x) {
        const Tensor centred = x - mean(x, {0, 1});
        return centred * rsqrt(variance(x, {0, 1}) + 1e-5);
      },
      "mean");
  add_batch(
      "centred over the batch", [](const Tensor& x) { return x - mean(x, {0}, true); }, "mean");
  add_batch(
      "scaled by the batch's largest", [](const Tensor& x) { return x / amax(x.detach()); }, "div",
      IsolationFinding::value);
  add_batch(
      "samples exchanged", [](const Tensor& x) { return x + flip(x, {0}); }, "flip");
  add_batch(
      "a loss that is shared", [](const Tensor& x) { return x * sum(square(x)); }, "sum");
  return models;
}

}  // namespace

std::vector<Leaky> leaky_statistics() {
  std::vector<Leaky> all;
  for (auto part : {over_time(), over_samples()}) {
    for (Leaky& model : part) all.push_back(std::move(model));
  }
  return all;
}

}  // namespace heed::test::zoo
