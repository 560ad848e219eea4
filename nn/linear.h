#pragma once

#include <heed/core/random.h>
#include <heed/nn/module.h>

namespace heed::nn {

struct LinearOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = true;
};

/// y = x Wᵀ + b.   x [.., in] → y [.., out].   weight [out, in], bias [out], both from U(−1/√in, 1/√in).
/// Throws    ValueError (a size below 1), at the call what `linear` throws.
class Linear final : public Module {
 public:
  Linear(const LinearOptions& options, Generator& generator);
  const LinearOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x) const;

  Tensor weight;
  Tensor bias;

 protected:
  HEED_MEMBERS(weight, bias)

 private:
  LinearOptions options_;
};

}  // namespace heed::nn
