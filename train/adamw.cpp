#include <cmath>

#include <heed/core/check.h>
#include <heed/core/parallel.h>
#include <heed/train/adamw.h>

namespace heed::train {
namespace {

// The numbers of one update that are the same for every element, rounded once from double.
template <class T>
struct Coefficients {
  Coefficients(const AdamWOptions& o, std::int64_t steps)
      : beta1(static_cast<T>(o.beta1)),
        rest1(static_cast<T>(1 - o.beta1)),
        beta2(static_cast<T>(o.beta2)),
        rest2(static_cast<T>(1 - o.beta2)),
        keep(static_cast<T>(1 - o.lr * o.weight_decay)),
        epsilon(static_cast<T>(o.epsilon)) {
    const auto t = static_cast<double>(steps);
    rate = static_cast<T>(o.lr / (1 - std::pow(o.beta1, t)));
    inverse_correction2 = static_cast<T>(1 / std::sqrt(1 - std::pow(o.beta2, t)));
  }
  T beta1, rest1, beta2, rest2, keep, epsilon, rate, inverse_correction2;
};

template <class T>
void update_elements(const Coefficients<T>& c, std::int64_t count, T* __restrict parameter,
                     T* __restrict first, T* __restrict second, const T* __restrict gradient) {
  const auto update = [&](std::int64_t i) {
    const T g = gradient[i];
    const T m = c.beta1 * first[i] + c.rest1 * g;
    const T v = c.beta2 * second[i] + c.rest2 * g * g;
    first[i] = m;
    second[i] = v;
    parameter[i] = parameter[i] * c.keep - c.rate * m / (std::sqrt(v) * c.inverse_correction2 + c.epsilon);
  };
  // A fixed inner count lets compilers use vectors without -O3.
  constexpr std::int64_t block = 16;
  std::int64_t i = 0;
  for (; i + block <= count; i += block) {
    for (std::int64_t k = 0; k < block; ++k) update(i + k);
  }
  for (; i < count; ++i) update(i);
}

template <class T>
void update_tensor(const AdamWOptions& options, std::int64_t steps, Tensor& parameter, Tensor& first,
                   Tensor& second, const Tensor& gradient) {
  constexpr std::int64_t grain = 16384;
  const Coefficients<T> coefficients(options, steps);
  T* theta = parameter.mutable_data<T>();
  T* m = first.mutable_data<T>();
  T* v = second.mutable_data<T>();
  const T* g = gradient.data<T>();
  parallel_for(parameter.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    update_elements(coefficients, end - begin, theta + begin, m + begin, v + begin, g + begin);
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

}  // namespace heed::train
