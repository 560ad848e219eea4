#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <heed/core/parallel.h>
#include <heed/core/tensor.h>

namespace heed::optim {

/// Calls rule(θ, g, s0, s1, …) for every element: the parameter and its first `slots` state tensors by
/// reference, the gradient by value, all in the parameter's dtype and row-major.
template <std::size_t slots, class Rule>
void update_elements(Tensor& parameter, const Tensor& gradient, std::vector<Tensor>& state,
                     const Rule& rule) {
  constexpr std::int64_t grain = 16384;
  visit_floating(parameter.dtype(), [&]<class T>(std::type_identity<T>) {
    T* theta = parameter.mutable_data<T>();
    const T* g = gradient.data<T>();
    std::array<T*, slots> s{};
    for (std::size_t k = 0; k < slots; ++k) s[k] = state[k].template mutable_data<T>();
    parallel_for(parameter.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      [&]<std::size_t... k>(std::index_sequence<k...>) {
        for (std::int64_t i = begin; i < end; ++i) rule(theta[i], g[i], s[k][i]...);
      }
      (std::make_index_sequence<slots>{});
    });
  });
}

}  // namespace heed::optim
