#pragma once

#include "train_options.h"

namespace tiny_lm {

/// `tiny_lm train`. Returns the exit status: 1 when --check finds a wrong gradient.
int train_model(const TrainOptions& options);

}  // namespace tiny_lm
