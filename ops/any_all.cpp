#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/ops/any_all.h>
#include <heed/ops/reduce.h>

namespace heed {
namespace {

// Starts from what nothing gives, and changes at the first element that is otherwise.
template <bool of_nothing>
struct QuantifierRule {
  using Acc = bool;
  bool* y;

  bool start(std::int64_t) const { return of_nothing; }
  void add(bool& acc, bool value, std::int64_t) const { acc = of_nothing ? acc && value : acc || value; }
  void join(bool& acc, const bool& later) const { add(acc, later, 0); }
  void finish(const bool& acc, std::int64_t output) const { y[output] = acc; }
};

template <bool of_nothing>
Tensor quantified(const char* op, const Tensor& x, const Shape& axes, bool keepdim) {
  check_dtype(op, "x", x, {DType::boolean});
  const detail::ReduceAxes reduced = detail::reduce_axes(op, x, axes);
  Tensor y = empty(reduced.shape(keepdim), DType::boolean);
  detail::reduce<bool>(x, reduced, QuantifierRule<of_nothing>{y.mutable_data<bool>()});
  return y;
}

}  // namespace

Tensor any(const Tensor& x, const Shape& axes, bool keepdim) {
  return quantified<false>("any", x, axes, keepdim);
}
Tensor all(const Tensor& x, const Shape& axes, bool keepdim) {
  return quantified<true>("all", x, axes, keepdim);
}

}  // namespace heed
