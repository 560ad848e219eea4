#pragma once

#include <heed/core/random.h>
#include <heed/nn/module.h>

namespace heed::nn {

struct DropoutOptions {
  double p = 0.5;
};

/// In training mode y = x ⊙ keep / (1 − p) with keep drawn from `generator`, P(keep) = 1 − p; otherwise
/// y = x.
/// Throws    ValueError (p outside [0, 1]; no generator where one is needed).
class Dropout final : public Module {
 public:
  explicit Dropout(const DropoutOptions& options = {});
  const DropoutOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x, Generator* generator = nullptr) const;

 protected:
  HEED_MEMBERS()

 private:
  DropoutOptions options_;
};

/// The generator that dropout of probability p must draw from: ValueError, naming `module`, when
/// there is none.
Generator& need_generator(std::string_view module, double p, Generator* generator);

}  // namespace heed::nn
