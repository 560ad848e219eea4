#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <heed/lm/language_model.h>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace heed::app {

/// Gives a command that is about a model its first word, RUN.
void add_model_argument(CLI::App& parser, std::filesystem::path& folder);

/// The model of a folder that train or import wrote, or that import would take; the one way in which commands
/// open one. `command` begins the messages.
/// Throws    IoError naming the folder or file and what is wrong with it.
heed::lm::LanguageModel open_model(std::string_view command, const std::filesystem::path& folder);

/// Where the checkpoints of a run lie.
std::filesystem::path checkpoint_folder(const std::filesystem::path& run);

/// What to type to go on with the run of a folder, as a shell reads it.
std::string resume_command(const std::filesystem::path& folder);

/// A model in one line: parameters, layers, tokens, context, norm, activation, positions.
std::string describe_model(const heed::lm::LanguageModel& lm);

}  // namespace heed::app
