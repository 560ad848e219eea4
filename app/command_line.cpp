#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/app/command_line.h>
#include <heed/app/commands/commands.h>
#include <heed/app/output.h>
#include <heed/app/spelling.h>
#include <heed/core/error.h>
#include <heed/version.h>

namespace heed::app {
namespace {

using heed::train::distributed::World;

struct Command {
  const char* name;
  const char* summary;
  Action (*declare)(CLI::App& parser);
  bool on_several_ranks = false;
};

constexpr Command commands[] = {
    {"train", "Learn a text, step by step, and show what was learned", train_command, true},
    {"generate", "Let a model write", generate_command},
    {"eval", "Say how well a model predicts texts", eval_command},
    {"report", "Make a run's page anew: curves, samples, where the heads look", report_command},
    {"attend", "Show where the heads of a model look in a text", attend_command},
    {"tokenize", "Turn text into a file of tokens, to train on", tokenize_command},
    {"import", "Take over a model of another program", import_command},
    {"export", "Write a model as another program reads it", export_command},
    {"verify", "Train under 1, 2 and 4 threads and compare every bit", verify_command},
};

void print_help() {
  say("heed trains small language models, on characters, bytes or pieces of words, and lets them write.\n\n");
  say("Usage: heed COMMAND ...\n\nCommands:\n");
  for (const Command& command : commands) say("  {:<10}  {}\n", command.name, command.summary);
  say("\nheed COMMAND --help says what a command takes; heed --version says which heed this is.\n"
      "A command that is about a model takes the model's folder, RUN, as its first word.\n");
}

[[noreturn]] void refuse(const std::string& where, const std::string& problem, const std::string& help) {
  heed::fail<heed::ValueError>(where, fmt::format("{} (see {} --help)", problem, help));
}

// Throws: there is no flag or command of this name. Names the nearest one that exists.
[[noreturn]] void refuse_name(const std::string& where, const char* kind, std::string_view name,
                              const std::vector<std::string>& names, const std::string& help) {
  const std::string nearest = nearest_name(name, names);
  const std::string hint = nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
  refuse(where, fmt::format("there is no such {}{}", kind, hint), help);
}

[[noreturn]] void refuse_command(const std::string& word) {
  if (word.starts_with('-')) refuse_name(word, "flag", word, {"--help", "--version"}, "heed");
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  refuse_name(word, "command", word, names, "heed");
}

// Says what is wrong with the flags. An unknown flag comes first: it may be a required one, misspelt.
[[noreturn]] void refuse_flags(const CLI::App& parser, const std::string& command,
                               const CLI::ParseError& error) {
  const std::string help = "heed " + command;
  const std::vector<std::string> unknown = parser.remaining();
  for (const std::string& word : unknown) {
    if (!word.starts_with('-')) continue;
    std::vector<std::string> names;
    for (const CLI::Option* option : parser.get_options()) {
      if (option->get_group().empty()) continue;  // not shown
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::string flag = word.substr(0, word.find('='));
    refuse_name(command + " " + flag, "flag", flag, names, help);
  }
  if (!unknown.empty()) refuse(command, fmt::format("'{}' is one word too many", unknown.front()), help);
  refuse(command, error.what(), help);
}

// Returns false if help was asked for, which it then has printed.
bool read_flags(CLI::App& parser, const std::string& command, int argc, char** argv) {
  try {
    parser.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    write_out(parser.help());
    return false;
  } catch (const CLI::ParseError& error) {
    refuse_flags(parser, command, error);
  }
}

// The first of the arguments is the command's name.
int run_command(const Command& command, int argc, char** argv, const World& world) {
  CLI::App parser(command.summary, fmt::format("heed {}", command.name));
  const Action action = command.declare(parser);
  if (!read_flags(parser, command.name, argc, argv)) return 0;
  if (world.size() > 1 && !command.on_several_ranks) {
    heed::fail<heed::ValueError>(command.name, "train alone runs on several ranks");
  }
  if (action.load_settings) {
    action.load_settings();
    read_flags(parser, command.name, argc, argv);
  }
  return action.run(world);
}

}  // namespace

int run_command_line(int argc, char** argv, const World& world) {
  if (argc < 2) {
    print_help();
    throw heed::ValueError("no command was given; heed train is the one to begin with");
  }
  const std::string word = argv[1];
  const auto command = std::find_if(std::begin(commands), std::end(commands),
                                    [&](const Command& c) { return c.name == word; });
  if (command != std::end(commands)) return run_command(*command, argc - 1, argv + 1, world);
  if (word == "--help" || word == "-h" || word == "help") {
    print_help();
  } else if (word == "--version") {
    say("heed {}\n", heed::version());
  } else {
    refuse_command(word);
  }
  return 0;
}

}  // namespace heed::app
