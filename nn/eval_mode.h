#pragma once

#include <utility>
#include <vector>

#include <heed/nn/module.h>

namespace heed::nn {

/// Puts a module and all below it in evaluation mode for a scope. At the end, exceptions included, each has
/// its own former mode again: one that was frozen in evaluation mode stays in it.
class EvalMode {
 public:
  explicit EvalMode(Module& module) {
    for (Module* each : module.family()) former_.emplace_back(each, std::exchange(each->training_, false));
  }
  ~EvalMode() {
    for (const auto& [module, mode] : former_) module->training_ = mode;
  }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  std::vector<std::pair<Module*, bool>> former_;
};

}  // namespace heed::nn
