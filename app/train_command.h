#pragma once

#include <heed/train/distributed/world.h>

#include "train_options.h"

namespace heed::app {

/// `heed train`, by all ranks of a world together; rank 0 speaks and writes, the others have quiet options.
/// Returns the exit status: 1 when --check finds a wrong gradient, 128 + the signal that stopped the run.
int train_model(const TrainOptions& options, const heed::train::distributed::World& world);

}  // namespace heed::app
