#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include <heed/core/tensor.h>

namespace heed {

/// The tensors that a function is given: several, or one alone.
class TensorList : public std::vector<Tensor> {
 public:
  TensorList() = default;
  TensorList(const Tensor& one) : vector{one} {}
  TensorList(std::initializer_list<Tensor> several) : vector(several) {}
  TensorList(std::vector<Tensor> several) : vector(std::move(several)) {}
};

namespace detail {

[[noreturn]] void fail_arity(std::size_t given, std::size_t taken);

/// A function that gives one tensor or several.
template <class F, class... Arguments>
concept GivesTensors = std::invocable<F&, Arguments...> &&
    std::convertible_to<std::invoke_result_t<F&, Arguments...>, TensorList>;

}  // namespace detail

/// Tensors in, tensors out. Made of any function of a std::vector<Tensor>, or of one to three tensors, that
/// gives one tensor or a std::vector of them.
/// Throws    when called: ValueError (a number of tensors other than the function takes).
class TensorFunction {
 public:
  TensorFunction() = default;
  template <class F>
  requires(!std::same_as<F, TensorFunction> &&
           (detail::GivesTensors<F, const std::vector<Tensor>&> || detail::GivesTensors<F, const Tensor&> ||
            detail::GivesTensors<F, const Tensor&, const Tensor&> ||
            detail::GivesTensors<F, const Tensor&, const Tensor&, const Tensor&>)) TensorFunction(F f) {
    if constexpr (std::is_pointer_v<F> || requires { f.operator bool(); }) {  // may be empty
      if (!f) return;
    }
    call_ = form_of(std::move(f));
  }

  explicit operator bool() const { return static_cast<bool>(call_); }
  std::vector<Tensor> operator()(const std::vector<Tensor>& x) const { return call_(x); }

 private:
  using Call = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  template <class F>
  static Call form_of(F f) {
    if constexpr (detail::GivesTensors<F, const std::vector<Tensor>&>) {
      if constexpr (std::same_as<std::invoke_result_t<F&, const std::vector<Tensor>&>, std::vector<Tensor>>) {
        return f;
      } else {
        return [f = std::move(f)](const std::vector<Tensor>& x) mutable { return TensorList(f(x)); };
      }
    } else if constexpr (detail::GivesTensors<F, const Tensor&>) {
      return [f = std::move(f)](const std::vector<Tensor>& x) mutable {
        if (x.size() != 1) detail::fail_arity(x.size(), 1);
        return TensorList(f(x[0]));
      };
    } else if constexpr (detail::GivesTensors<F, const Tensor&, const Tensor&>) {
      return [f = std::move(f)](const std::vector<Tensor>& x) mutable {
        if (x.size() != 2) detail::fail_arity(x.size(), 2);
        return TensorList(f(x[0], x[1]));
      };
    } else {
      return [f = std::move(f)](const std::vector<Tensor>& x) mutable {
        if (x.size() != 3) detail::fail_arity(x.size(), 3);
        return TensorList(f(x[0], x[1], x[2]));
      };
    }
  }

  Call call_;
};

}  // namespace heed
