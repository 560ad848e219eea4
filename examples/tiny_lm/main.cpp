// A character language model in one program: `tiny_lm train` learns a text, `tiny_lm generate` goes on from a
// prompt. Exit status: 0 success, 1 a run that went wrong, 2 bad input, said in one line on standard error.

#include <algorithm>
#include <new>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/core/error.h>

#include "generate_command.h"
#include "train_command.h"

namespace {

constexpr int kFailure = 1;
constexpr int kBadInput = 2;

int complain(std::string message, int status) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  fmt::print(stderr, "tiny_lm: {}\n", message);
  return status;
}

int run(int argc, char** argv) {
  CLI::App app("Trains a small language model, one character at a time, and lets it write.");
  app.require_subcommand(1);
  tiny_lm::TrainOptions train_options;
  CLI::App* train = app.add_subcommand("train", "Learn a text, step by step, and show what was learned");
  tiny_lm::add_train_options(*train, train_options);
  tiny_lm::GenerateOptions generate_options;
  CLI::App* generate = app.add_subcommand("generate", "Let a trained model write");
  tiny_lm::add_generate_options(*generate, generate_options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return complain(std::string(error.what()) + " (see tiny_lm --help)", kBadInput);
  }
  return train->parsed() ? tiny_lm::train_model(train_options) : tiny_lm::generate_text(generate_options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const heed::GradError& error) {
    return complain(std::string("training stopped: ") + error.what(), kFailure);
  } catch (const heed::Error& error) {
    return complain(error.what(), kBadInput);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory for a model of this size", kBadInput);
  } catch (const std::exception& error) {
    return complain(error.what(), kFailure);
  }
}
