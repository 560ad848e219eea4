#include <algorithm>
#include <vector>

#include <heed/core/alias.h>
#include <heed/core/record.h>
#include <heed/core/watch.h>

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

CaptureOperands::CaptureOperands() noexcept : former_(watch().captures) { watch().captures = &captured_; }

// What a function captures, the function round it captures as well.
CaptureOperands::~CaptureOperands() {
  watch().captures = former_;
  if (former_ != nullptr) former_->insert(former_->end(), captured_.begin(), captured_.end());
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
