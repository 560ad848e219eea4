#include <algorithm>
#include <vector>

#include <heed/core/alias.h>
#include <heed/core/record.h>

namespace heed::detail {
namespace {

struct AliasVjp {
  void vjp(VjpContext& context) const { context.set(0, context.cotangent()); }  // y = x
};

}  // namespace

Tensor alias(const Tensor& x, bool leaf) {
  Tensor y = view_of(x, x.view());
  record("alias", {&x}, y, [] { return AliasVjp{}; });
  if (leaf && !y.requires_grad()) y.set_requires_grad();
  return y;
}

bool same_result(const Tensor& a, const Tensor& b) {
  return a.impl()->node.get() == b.impl()->node.get() && a.impl()->output == b.impl()->output;
}

void CaptureOperands::on_unrecorded(std::span<const Tensor* const> inputs) {
  for (const Tensor* x : inputs) {
    if (x->requires_grad()) captured_.push_back(*x);
  }
}

std::vector<Tensor> CaptureOperands::distinct() const {
  std::vector<Tensor> result;
  for (const Tensor& x : captured_) {
    const auto same = [&](const Tensor& other) { return same_result(x, other); };
    if (std::none_of(result.begin(), result.end(), same)) result.push_back(x);
  }
  return result;
}

}  // namespace heed::detail
