#pragma once

#include <string>

#include <heed/app/run/monitor.h>
#include <heed/app/run/text_data.h>
#include <heed/app/run/training_run.h>
#include <heed/nn/causal_lm.h>

namespace heed::app {

/// What is printed before the first step: text, model, recipe, and the floor of the loss.
void print_introduction(const TrainOptions& options, const TextData& data, const TrainingRun& run);

/// Lets the model write, prints that and the loss, and under the folder of the options leaves the model and
/// the report. Ends with the line of JSON if it is asked for. False if a file could not be written, which is
/// said on standard error.
bool finish_run(const TrainOptions& options, const TextData& data, heed::nn::CausalLM& model,
                RunMonitor& monitor);

}  // namespace heed::app
