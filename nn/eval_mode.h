#pragma once

#include <heed/nn/module.h>

namespace heed::nn {

/// Puts a module in evaluation mode for a scope and restores its former mode at the end, exceptions included.
class EvalMode {
 public:
  explicit EvalMode(Module& module) : module_(module), former_(module.training()) { module_.eval(); }
  ~EvalMode() { module_.train(former_); }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  Module& module_;
  bool former_;
};

}  // namespace heed::nn
