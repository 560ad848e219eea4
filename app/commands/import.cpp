#include <filesystem>
#include <memory>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/app/commands/commands.h>
#include <heed/app/model_folder.h>
#include <heed/app/output.h>
#include <heed/core/error.h>

namespace heed::app {
namespace {

namespace fs = std::filesystem;

struct ImportOptions {
  fs::path folder;
  fs::path out;
};

int import_model(const ImportOptions& o) {
  const lm::LanguageModel lm = open_model("import", o.folder);
  if (fs::exists(o.out / "config.json")) {
    heed::fail<heed::ValueError>("import", fmt::format("'{}' has a config.json already", o.out.string()), {},
                                 "another folder");
  }
  std::error_code code;
  fs::create_directories(o.out, code);
  if (code) {
    heed::fail<heed::IoError>("import", fmt::format("cannot make '{}'", o.out.string()), code.message());
  }
  lm::save_language_model(o.out, lm.model, *lm.tokenizer);
  say("imported  {} -> {}\n", describe_model(lm), o.out.string());
  return 0;
}

}  // namespace

Action import_command(CLI::App& parser) {
  const auto o = std::make_shared<ImportOptions>();
  parser
      .add_option("FOLDER", o->folder,
                  "Folder of a Hugging Face GPT-2 or Llama, or of nanoGPT's names: config.json, safetensors, "
                  "tokenizer.json or vocab.json and merges.txt")
      ->required()
      ->type_name("");
  parser.add_option("--out", o->out, "Folder for the model as heed keeps it")->required();
  return {.run = [o](const auto&) { return import_model(*o); }};
}

}  // namespace heed::app
