#pragma once

#include <heed/train/distributed/world.h>

#include "train_options.h"

namespace heed::app {

/// The settings that `heed verify` begins with: a model that takes seconds, with dropout, 50 steps.
TrainOptions verify_defaults();

/// `heed verify`: trains the same run under 1, 2 and 4 threads, three times each, the third time interrupted midway and
/// taken up again from the files of a checkpoint. Prints one hash a run: FNV-1a, 64 bits, over the bits of the loss of
/// every step, the gradients of the last and the weights at the end. Compared is more: every result and gradient of
/// every operation in every step. Returns 0 if all runs are equal; else 1, and the first step and operation (or
/// parameter) that differs is named.
/// --threads, --out and --checkpoint-every change nothing. Throws    ValueError (as train; --resume, --check), IoError.
int verify_training(const TrainOptions& options, const heed::train::distributed::World& world);

}  // namespace heed::app
