#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/core/error.h>
#include <heed/io/atomic_file.h>
#include <heed/io/read_file.h>
#include <heed/io/safetensors.h>
#include <heed/lm/language_model.h>
#include <heed/lm/model_config.h>
#include <heed/lm/pretrained.h>
#include <heed/lm/weight_files.h>
#include <heed/nn/clone.h>
#include <heed/text/bpe_tokenizer.h>

namespace heed::lm {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;  // finds a key of an object fast, unlike ordered_json

constexpr const char* format_name = "heed-causal-lm/1";

[[noreturn]] void fail_loading(const std::string& path, const std::string& reason) {
  fail<IoError>("load_language_model", fmt::format("'{}': {}", path, reason));
}

std::unique_ptr<text::Tokenizer> tokenizer_of(const fs::path& folder) {
  if (fs::exists(folder / "tokenizer.json")) return text::load_tokenizer(folder / "tokenizer.json");
  if (fs::exists(folder / "vocab.json")) {
    return std::make_unique<text::BpeTokenizer>(
        text::load_gpt2_files(folder / "vocab.json", folder / "merges.txt"));
  }
  fail_loading(folder, "has neither tokenizer.json nor vocab.json and merges.txt");
}

void check_vocabulary(const fs::path& path, const text::Tokenizer& tokenizer,
                      const nn::CausalLMOptions& options) {
  if (tokenizer.vocab_size() == options.vocab_size) return;
  fail_loading(path, fmt::format("the tokenizer has {} tokens, the model {}", tokenizer.vocab_size(),
                                 options.vocab_size));
}

LanguageModel load_own(const fs::path& folder, const fs::path& config_path, const Json& config) {
  if (config.at("format") != Json(format_name)) {
    fail_loading(config_path, fmt::format("is not of the format {}", format_name));
  }
  const WeightFiles files(folder);
  try {
    const nn::CausalLMOptions options = model_config_from_json(config.at("model").dump());
    auto tokenizer = text::tokenizer_from_json(config.at("tokenizer").dump());
    check_vocabulary(config_path, *tokenizer, options);
    const auto slots = weight_slots(options, WeightFormat::heed, files.size());
    check_weights(folder, files, slots, WeightFormat::heed);
    auto model = nn::without_init<nn::CausalLM>(options);
    copy_weights(files, slots, model);
    model.eval();
    return {std::move(model), std::move(tokenizer)};
  } catch (const Json::exception&) {
    fail_loading(config_path, "a field is missing or of the wrong kind");
  } catch (const ValueError& error) {
    fail_loading(config_path, error.what());
  }
}

}  // namespace

void save_language_model(const std::string& folder_name, const nn::CausalLM& model,
                         const text::Tokenizer& tokenizer) {
  const fs::path folder = folder_name;
  const Json config = {{"format", format_name},
                       {"model", Json::parse(model_config_to_json(model.options()))},
                       {"tokenizer", Json::parse(tokenizer.to_json())}};
  io::save_safetensors(folder / "model.safetensors", model.state_dict(), {{"format", format_name}});
  io::write_file(folder / "config.json", config.dump(2) + "\n");
}

LanguageModel load_language_model(const std::string& folder_name) {
  const fs::path folder = folder_name;
  const fs::path config_path = folder / "config.json";
  const Json config = Json::parse(io::read_json_object(config_path));
  if (config.contains("format")) return load_own(folder, config_path, config);
  auto tokenizer = tokenizer_of(folder);
  nn::CausalLM model = load_pretrained(folder);
  check_vocabulary(folder, *tokenizer, model.options());
  return {std::move(model), std::move(tokenizer)};
}

}  // namespace heed::lm
