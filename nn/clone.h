#pragma once

#include <type_traits>

#include <heed/nn/init.h>
#include <heed/nn/module.h>

namespace heed::nn {

/// A module made as `M(options, generator)` or `M(options)`, without drawing random numbers: its parameters
/// wait for their elements, from a file for example.
template <class M, class Options>
M without_init(const Options& options, InitialElements elements = InitialElements::unset) {
  const SkipInit guard(elements);
  Generator unused;
  if constexpr (requires { M(options, unused); }) {
    return M(options, unused);
  } else {
    return M(options);
  }
}

/// An independent module with copies of the parameters and buffers. Their dtypes, ties and requires_grad are
/// kept, and so are modes and names; gradients are not copied. Nothing is drawn at random. The copy is built
/// as `M(module.options(), generator)` or `M(module.options())`, or, where a class has no options(), as
/// `M(generator)` or `M()`. Members that it does not list are as the constructor makes them.
/// Throws    ValueError (the module's members are not those that its options make).
template <class M>
M clone(const M& module) {
  static_assert(std::is_base_of_v<Module, M>);
  const auto adopted = [&](M copy) {
    copy.Module::adopt(module);
    return copy;
  };
  if constexpr (requires { module.options(); }) {
    return adopted(without_init<M>(module.options()));
  } else {
    const SkipInit guard;
    Generator unused;
    if constexpr (requires { M(unused); }) {
      return adopted(M(unused));
    } else {
      return adopted(M());
    }
  }
}

}  // namespace heed::nn
