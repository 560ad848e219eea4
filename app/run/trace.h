#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <heed/app/run/training_run.h>
#include <heed/train/step_trace.h>

namespace heed::app {

/// Takes the steps of a run up to `end` and appends the bits of each: of every operation's results and
/// gradients, the parameters' gradients, the loss, the parameters after it.
void take_steps(TrainingRun& run, std::int64_t end, std::vector<heed::train::StepTrace>& steps);

/// FNV-1a, 64 bits, over the bits of the loss of every step, the gradients of the last and the parameters
/// after it, as 16 hexadecimal digits.
std::string hash_of(std::span<const heed::train::StepTrace> steps);

}  // namespace heed::app
