#pragma once

#include "training.h"

namespace heed::bench {

/// Prints a training step by operation: milliseconds forward and backward (of the quickest of several steps), operations,
/// bytes that its inputs and outputs have, and what share of its time the ceilings of this core would need. One thread.
void print_profile(const char* name, const TrainingSize& size);

}  // namespace heed::bench
