#pragma once

#include <functional>

#include <heed/train/distributed/world.h>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace heed::app {

/// What a command is to do once its flags are read.
struct Action {
  /// Does it, by all ranks of a world together. Returns the exit status.
  std::function<int(const heed::train::distributed::World&)> run;
  /// Takes the settings of the file that the flags name. The flags are read again after it, so that they win.
  std::function<void()> load_settings = {};
};

// The commands of heed, a file each. Every one gives `parser` its flags and says what is to be
// done with them.

/// Learns a text. Rank 0 speaks and writes, the others are quiet. The status is 1 when --check finds a wrong
/// gradient, and 128 + the signal that stopped the run.
Action train_command(CLI::App& parser);

/// Writes the prompt and its continuation to standard output, token by token, or several texts one
/// after the other.
Action generate_command(CLI::App& parser);

/// Prints how well a model predicts each text, and all of them, and how that was counted.
Action eval_command(CLI::App& parser);

/// Makes report.html anew from what a run has left, also of a run that has not ended.
Action report_command(CLI::App& parser);

/// Prints where the heads of a model look in a text, and writes a page of them.
Action attend_command(CLI::App& parser);

/// Turns text into tokens.bin and tokenizer.json.
Action tokenize_command(CLI::App& parser);

/// Makes another program's model a folder of heed's. Nothing is written unless all of it fits.
Action import_command(CLI::App& parser);

/// Writes a model with the names and layouts of another program.
Action export_command(CLI::App& parser);

/// Trains the same run under 1, 2 and 4 threads, three times each, the third time interrupted midway and
/// taken up again from the files of a checkpoint. Prints one hash a run: FNV-1a, 64 bits, over the bits of
/// the loss of every step, the gradients of the last and the weights at the end. Compared is more: every
/// result and gradient of every operation in every step. The status is 0 if all runs are equal; else 1, and
/// the first step and operation (or parameter) that differs is named.
Action verify_command(CLI::App& parser);

}  // namespace heed::app
