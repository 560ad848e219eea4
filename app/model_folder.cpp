#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/app/model_folder.h>
#include <heed/core/error.h>
#include <heed/lm/model_config.h>

namespace heed::app {

namespace fs = std::filesystem;

void add_model_argument(CLI::App& parser, fs::path& folder) {
  parser
      .add_option("RUN", folder, "Folder of a model: the --out of train or import, or what import would take")
      ->required()
      ->type_name("");
}

lm::LanguageModel open_model(std::string_view command, const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    heed::fail<heed::IoError>(command, fmt::format("there is no folder '{}'", folder.string()), {},
                              "the folder of a model, with its config.json");
  }
  if (!fs::exists(folder / "config.json") && fs::exists(checkpoint_folder(folder))) {
    heed::fail<heed::IoError>(
        command, fmt::format("the run in '{}' has no model yet, no config.json", folder.string()), {},
        resume_command(folder) + " first");
  }
  return lm::load_language_model(folder);
}

fs::path checkpoint_folder(const fs::path& run) { return run / "checkpoints"; }

std::string resume_command(const fs::path& folder) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,@%";
  const std::string& word = folder.native();
  if (word.find_first_not_of(plain) == std::string::npos) return "heed train --resume --out " + word;
  std::string quoted;
  for (const char c : word) quoted += c == '\'' ? R"('\'')" : std::string(1, c);
  return fmt::format("heed train --resume --out '{}'", quoted);
}

std::string describe_model(const lm::LanguageModel& lm) {
  const heed::nn::CausalLMOptions& o = lm.model.options();
  return fmt::format("{} parameters in {} layers, {} tokens, context {}, {} norm, {}, {} positions",
                     lm.model.parameter_count(), o.num_layers, o.vocab_size, o.context, lm::name_of(o.norm),
                     lm::name_of(o.activation), o.rope ? "RoPE" : "learned");
}

}  // namespace heed::app
