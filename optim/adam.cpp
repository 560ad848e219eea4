#include <cmath>
#include <utility>

#include <heed/core/arguments.h>
#include <heed/core/parallel.h>
#include <heed/ops/kernels/adam.h>
#include <heed/optim/adam.h>

namespace heed::optim {
namespace {

// The numbers of step t, each rounded once from double.
template <class T>
kernels::AdamNumbers<T> numbers_of(const AdamOptions& o, double t) {
  return {.beta1 = static_cast<T>(o.beta1),
          .rest1 = static_cast<T>(1 - o.beta1),
          .beta2 = static_cast<T>(o.beta2),
          .rest2 = static_cast<T>(1 - o.beta2),
          .decay = static_cast<T>(o.decoupled_decay ? 0 : o.weight_decay),
          .keep = static_cast<T>(o.decoupled_decay ? 1 - o.lr * o.weight_decay : 1),
          .epsilon = static_cast<T>(o.epsilon),
          .rate = static_cast<T>(o.lr / (1 - std::pow(o.beta1, t))),
          .inverse_correction = static_cast<T>(1 / std::sqrt(1 - std::pow(o.beta2, t)))};
}

}  // namespace

Adam::Adam(nn::NamedTensors parameters, const AdamOptions& options)
    : Adam("Adam", std::move(parameters), options) {}

Adam::Adam(const std::string& name, nn::NamedTensors parameters, const AdamOptions& options)
    : Optimizer(name, std::move(parameters), options.lr,
                options.amsgrad ? std::vector<Slot>{{"first_moment"}, {"second_moment"}, {"greatest_moment"}}
                                : std::vector<Slot>{{"first_moment"}, {"second_moment"}}),
      options_(options) {
  check_value(options.beta1 >= 0 && options.beta1 < 1, name, "beta1", options.beta1, "0 <= beta1 < 1");
  check_value(options.beta2 >= 0 && options.beta2 < 1, name, "beta2", options.beta2, "0 <= beta2 < 1");
  check_value(options.epsilon >= 0, name, "epsilon", options.epsilon, "0 or more");
  check_value(options.weight_decay >= 0, name, "weight_decay", options.weight_decay, "0 or more");
}

void Adam::update(Tensor& parameter, const Tensor& gradient, State& state) {
  constexpr std::int64_t grain = 16384;
  AdamOptions now = options_;
  now.lr = lr();
  now.weight_decay = state.decay(options_.weight_decay);
  visit_floating(parameter.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto numbers = numbers_of<T>(now, static_cast<double>(state.steps));
    const kernels::AdamElements<T> elements{
        .parameter = parameter.mutable_data<T>(),
        .first = state.slots[0].mutable_data<T>(),
        .second = state.slots[1].mutable_data<T>(),
        .greatest = options_.amsgrad ? state.slots[2].mutable_data<T>() : nullptr,
        .gradient = gradient.data<T>()};
    parallel_for(parameter.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      kernels::adam_update(numbers, elements, begin, end);
    });
  });
}

}  // namespace heed::optim
