#pragma once

#include "training.h"

namespace heed::bench {

/// Prints a training step by operation: milliseconds forward and backward (of the fastest of several
/// steps), arithmetic operations, bytes of inputs and outputs, and which share of its time would suffice at
/// the peak rates of this core. Uses one thread.
void print_profile(const char* name, const TrainingSize& size);

}  // namespace heed::bench
