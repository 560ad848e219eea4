#pragma once

#include <deque>

#include <heed/core/restore.h>
#include <heed/nn/module.h>

namespace heed::nn {

/// Puts a module and all below it in evaluation mode for a scope. At the end, exceptions included, each has
/// its own former mode again: one that was frozen in evaluation mode stays in it.
class EvalMode {
 public:
  explicit EvalMode(Module& module) {
    for (Module* each : module.family()) modes_.emplace_back(each->training_, false);
  }

 private:
  std::deque<Restore<bool>> modes_;
};

}  // namespace heed::nn
