#pragma once

#include <heed/core/random.h>
#include <heed/nn/linear.h>

namespace heed::nn {

struct MLPOptions {
  std::int64_t dim = 0;     // of input and output
  std::int64_t hidden = 0;  // 0: four times dim
  bool bias = true;
};

/// y = down(gelu(up(x))), gelu exact.   x [.., dim] → y [.., dim].
/// Throws    ValueError (a size below 1), at the call what `linear` throws.
class MLP final : public Module {
 public:
  MLP(const MLPOptions& options, Generator& generator);
  MLP clone() const;
  const MLPOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x) const;

  Linear up;
  Linear down;

 protected:
  void visit(MemberVisitor& visitor) override;

 private:
  MLPOptions options_;
};

}  // namespace heed::nn
