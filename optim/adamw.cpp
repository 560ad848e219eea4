#include <cmath>

#include <heed/core/check.h>
#include <heed/core/parallel.h>
#include <heed/ops/kernels/adamw.h>
#include <heed/optim/adamw.h>

namespace heed::optim {
namespace {

template <class T>
void update_tensor(const AdamWOptions& o, std::int64_t steps, Tensor& parameter, Tensor& first,
                   Tensor& second, const Tensor& gradient) {
  constexpr std::int64_t grain = 16384;
  const auto t = static_cast<double>(steps);
  const kernels::AdamWNumbers<T> numbers{
      // rounded once from double
      .beta1 = static_cast<T>(o.beta1),
      .rest1 = static_cast<T>(1 - o.beta1),
      .beta2 = static_cast<T>(o.beta2),
      .rest2 = static_cast<T>(1 - o.beta2),
      .keep = static_cast<T>(1 - o.lr * o.weight_decay),
      .epsilon = static_cast<T>(o.epsilon),
      .rate = static_cast<T>(o.lr / (1 - std::pow(o.beta1, t))),
      .inverse_correction = static_cast<T>(1 / std::sqrt(1 - std::pow(o.beta2, t)))};
  T* theta = parameter.mutable_data<T>();
  T* m = first.mutable_data<T>();
  T* v = second.mutable_data<T>();
  const T* g = gradient.data<T>();
  parallel_for(parameter.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    kernels::adamw_update(numbers, end - begin, theta + begin, m + begin, v + begin, g + begin);
  });
}

}  // namespace

AdamW::AdamW(nn::NamedTensors parameters, const AdamWOptions& options)
    : Optimizer("AdamW", std::move(parameters), options.lr, {{"first_moment"}, {"second_moment"}}),
      options_(options) {
  check_value(options.beta1 >= 0 && options.beta1 < 1, "AdamW", "beta1", options.beta1, "0 <= beta1 < 1");
  check_value(options.beta2 >= 0 && options.beta2 < 1, "AdamW", "beta2", options.beta2, "0 <= beta2 < 1");
  check_value(options.epsilon >= 0, "AdamW", "epsilon", options.epsilon, "0 or more");
  check_value(options.weight_decay >= 0, "AdamW", "weight_decay", options.weight_decay, "0 or more");
}

void AdamW::update(Tensor& parameter, const Tensor& gradient, State& state) {
  AdamWOptions now = options_;
  now.lr = lr();
  now.weight_decay = state.decay(options_.weight_decay);
  visit_floating(parameter.dtype(), [&]<class T>(std::type_identity<T>) {
    update_tensor<T>(now, state.steps, parameter, state.slots[0], state.slots[1], gradient);
  });
}

}  // namespace heed::optim
