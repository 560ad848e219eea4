#pragma once

#include <heed/app/settings/train_options.h>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace heed::app {

/// Gives a command --config and a flag for each setting of a run: its text, model and recipe, and, where
/// `whole_run`, how it is watched and kept.
void add_setting_flags(CLI::App& parser, TrainOptions& options, bool whole_run);

}  // namespace heed::app
