#include "weights_command.h"

#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/lm/language_model.h>
#include <heed/lm/model_config.h>
#include <heed/lm/pretrained.h>
#include <heed/text/bpe_tokenizer.h>

namespace heed::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostMib = std::int64_t{1} << 20;

void print_model(const char* what, const lm::LanguageModel& lm, const fs::path& out) {
  const heed::nn::CausalLMOptions& o = lm.model.options();
  fmt::print("{}  {} parameters in {} layers, {} tokens, context {}, {} norm, {}, {} positions -> {}\n", what,
             lm.model.parameter_count(), o.num_layers, o.vocab_size, o.context, lm::name_of(o.norm),
             lm::name_of(o.activation), o.rope ? "RoPE" : "learned", out.string());
}

lm::WeightFormat format_of(const std::string& name) {
  if (name == "llama") return lm::WeightFormat::llama;
  return name == "nanogpt" ? lm::WeightFormat::nanogpt : lm::WeightFormat::gpt2;
}

}  // namespace

void add_import_options(CLI::App& command, WeightsOptions& o) {
  command
      .add_option("folder", o.model,
                  "Folder of a Hugging Face GPT-2 or Llama, or of nanoGPT's names: config.json, safetensors, "
                  "tokenizer.json or vocab.json and merges.txt")
      ->required();
  command.add_option("--out", o.out, "Folder for the model as heed keeps it")->required();
}

void add_export_options(CLI::App& command, WeightsOptions& o) {
  command.add_option("folder", o.model, "Folder of a trained or imported model")->required();
  command.add_option("--out", o.out, "Folder to write")->required();
  command.add_option("--format", o.format, "Whose names and layouts")
      ->check(CLI::IsMember({"gpt2", "llama", "nanogpt"}))
      ->capture_default_str();
  command.add_option("--shard-mib", o.shard_mib, "The most MiB in one file; 0: all in one")
      ->capture_default_str();
}

int import_weights(const WeightsOptions& o) {
  const lm::LanguageModel lm = lm::load_language_model(o.model);
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
  print_model("imported", lm, o.out);
  return 0;
}

int export_weights(const WeightsOptions& o) {
  heed::check_value(o.shard_mib >= 0 && o.shard_mib <= kMostMib, "export", "--shard-mib", o.shard_mib,
                    fmt::format("0 to {}", kMostMib));
  const lm::LanguageModel lm = lm::load_language_model(o.model);
  lm::save_pretrained(
      o.out, lm.model,
      {.format = format_of(o.format), .shard_bytes = static_cast<std::uint64_t>(o.shard_mib) << 20});
  text::save_tokenizer(o.out / "tokenizer.json", *lm.tokenizer);
  print_model("exported", lm, o.out);
  return 0;
}

}  // namespace heed::app
