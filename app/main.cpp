// A small language model in one program: `heed train` learns a text, `heed generate` goes on from a prompt,
// and other commands prepare and inspect. Exit status: 0 success, 1 a run that went wrong, 2 bad input, said in one
// line on standard error.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/train/distributed/world.h>

#include "attend_command.h"
#include "eval_command.h"
#include "generate_command.h"
#include "report_command.h"
#include "tokenize_command.h"
#include "train_command.h"
#include "verify_command.h"
#include "weights_command.h"

namespace {

constexpr int kFailure = 1;
constexpr int kBadInput = 2;

using heed::train::distributed::World;

struct Command {
  heed::app::TrainOptions train;
  heed::app::TrainOptions verify = heed::app::verify_defaults();
  heed::app::GenerateOptions generate;
  heed::app::TokenizeOptions tokenize;
  heed::app::ReportOptions report;
  heed::app::AttendOptions attend;
  heed::app::EvalOptions eval;
  heed::app::WeightsOptions weights;
  std::function<int()> action;
  heed::app::TrainOptions* settings = nullptr;  // that a file may give, too
};

std::string speaker = "heed: ";  // what complaints begin with

void set_speaker(const World& world) {
  if (world.size() > 1) speaker = fmt::format("heed: rank {} of {}: ", world.rank(), world.size());
}

// A mapped file that somebody cuts meanwhile is noticed where its bytes are used, far from any throw. mpirun ends the
// other ranks.
extern "C" void end_at_cut_file(int) {
  constexpr std::string_view message = "a file became shorter while it was read\n";
  for (const std::string_view part : {std::string_view(speaker), message}) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, part.data(), part.size());
  }
  ::_exit(kFailure);
}

// What stops one of several ranks ends them all. The others leave rank 0 a moment to say what stops every one of
// them.
int complain(const World* world, std::string message, int status) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  const bool alone = world == nullptr || world->size() == 1;
  if (!alone && world->rank() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::fflush(stdout);
  fmt::print(stderr, "{}{}\n", speaker, message);
  if (alone) return status;
  world->abort(status);
}

// Runs `body` and says in one line what stopped it.
template <class Body>
int guarded(const World* world, Body&& body) {
  try {
    return body();
  } catch (const heed::GradError& error) {
    return complain(world, std::string("training stopped: ") + error.what(), kFailure);
  } catch (const heed::Error& error) {
    return complain(world, error.what(), kBadInput);
  } catch (const std::bad_alloc&) {
    return complain(world, "not enough memory for a model of this size", kBadInput);
  } catch (const std::exception& error) {
    return complain(world, error.what(), kFailure);
  }
}

void add_training_commands(CLI::App& app, Command& command, const World& world) {
  CLI::App* train = app.add_subcommand("train", "Learn a text, step by step, and show what was learned");
  heed::app::add_train_options(*train, command.train);
  train->callback([&] {
    command.settings = &command.train;
    command.action = [&] { return heed::app::train_model(command.train, world); };
  });
  CLI::App* verify = app.add_subcommand("verify", "Train under 1, 2 and 4 threads and compare every bit");
  heed::app::add_train_options(*verify, command.verify);
  verify->callback([&] {
    command.settings = &command.verify;
    command.action = [&] { return heed::app::verify_training(command.verify, world); };
  });
}

void add_model_commands(CLI::App& app, Command& command) {
  CLI::App* eval = app.add_subcommand("eval", "Say how well a model predicts texts");
  heed::app::add_eval_options(*eval, command.eval);
  eval->callback([&] { command.action = [&] { return heed::app::evaluate_texts(command.eval); }; });
  CLI::App* in = app.add_subcommand("import", "Take over a model of another program");
  heed::app::add_import_options(*in, command.weights);
  in->callback([&] { command.action = [&] { return heed::app::import_weights(command.weights); }; });
  CLI::App* out = app.add_subcommand("export", "Write a model as another program reads it");
  heed::app::add_export_options(*out, command.weights);
  out->callback([&] { command.action = [&] { return heed::app::export_weights(command.weights); }; });
}

// What the command line says, put over what is in the options already. The status to end with, or none.
std::optional<int> parse(int argc, char** argv, Command& command, const World& world) {
  CLI::App app("Trains a small language model, on characters, bytes or pieces of words, and lets it write.");
  app.require_subcommand(1);
  add_training_commands(app, command, world);
  CLI::App* generate = app.add_subcommand("generate", "Let a trained model write");
  heed::app::add_generate_options(*generate, command.generate);
  generate->callback([&] { command.action = [&] { return heed::app::generate_text(command.generate); }; });
  CLI::App* tokenize = app.add_subcommand("tokenize", "Turn text into a file of tokens, to train on");
  heed::app::add_tokenize_options(*tokenize, command.tokenize);
  tokenize->callback([&] { command.action = [&] { return heed::app::tokenize_text(command.tokenize); }; });
  CLI::App* report =
      app.add_subcommand("report", "Make a run's page anew: curves, samples, where the heads look");
  heed::app::add_report_options(*report, command.report);
  report->callback([&] { command.action = [&] { return heed::app::report_run(command.report); }; });
  CLI::App* attend = app.add_subcommand("attend", "Show where the heads of a trained model look in a text");
  heed::app::add_attend_options(*attend, command.attend);
  attend->callback([&] { command.action = [&] { return heed::app::attend_text(command.attend); }; });
  add_model_commands(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    throw heed::ValueError(std::string(error.what()) + " (see heed --help)");
  }
  return std::nullopt;
}

int run(int argc, char** argv, const World& world) {
  if (world.rank() > 0) std::freopen("/dev/null", "w", stdout);
  Command command;
  command.train.quiet = world.rank() > 0;
  if (const auto status = parse(argc, argv, command, world)) return *status;
  if (world.size() > 1 && command.settings != &command.train) {
    heed::fail<heed::ValueError>("heed", "train alone runs on several ranks");
  }
  if (command.settings != nullptr) {
    heed::app::load_settings(*command.settings);
    if (const auto status = parse(argc, argv, command, world)) return *status;  // flags win over files
  }
  return command.action();
}

}  // namespace

int main(int argc, char** argv) {
  // Lines leave when they are written, into a pipe too: a run that is killed has told what it did.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  std::signal(SIGBUS, end_at_cut_file);
  return guarded(nullptr, [&] {
    const World world;
    set_speaker(world);
    return guarded(&world, [&] { return run(argc, argv, world); });
  });
}
