#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/core/error.h>
#include <heed/io/atomic_file.h>
#include <heed/io/read_file.h>
#include <heed/io/safetensors.h>
#include <heed/train/language_model.h>

namespace heed::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kFormat = "heed-causal-lm/1";

[[noreturn]] void fail_loading(const fs::path& path, const std::string& reason) {
  fail<IoError>("load_language_model", fmt::format("'{}': {}", path.string(), reason));
}

Json options_to_json(const nn::CausalLMOptions& o) {
  return {{"vocab_size", o.vocab_size},
          {"context", o.context},
          {"num_layers", o.num_layers},
          {"num_heads", o.num_heads},
          {"embed_dim", o.embed_dim},
          {"dropout", o.dropout},
          {"bias", o.bias}};
}

nn::CausalLMOptions options_from_json(const Json& json) {
  return {.vocab_size = json.at("vocab_size").get<std::int64_t>(),
          .context = json.at("context").get<std::int64_t>(),
          .num_layers = json.at("num_layers").get<std::int64_t>(),
          .num_heads = json.at("num_heads").get<std::int64_t>(),
          .embed_dim = json.at("embed_dim").get<std::int64_t>(),
          .dropout = json.at("dropout").get<double>(),
          .bias = json.at("bias").get<bool>()};
}

Json read_config(const fs::path& path) {
  Json config = Json::parse(io::read_json_object(path));
  if (config.value("format", Json()) != Json(kFormat)) {
    fail_loading(path, fmt::format("is not of the format {}", kFormat));
  }
  return config;
}

// Before a model is built: the file must hold tensors of the sizes the configuration claims.
void check_sizes(const nn::CausalLMOptions& o, const io::SafetensorsFile& file, const fs::path& path) {
  const auto check = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    const auto found = file.entries().find(name);
    if (found == file.entries().end()) fail_loading(path, fmt::format("has no tensor '{}'", name));
    const Shape expected = {rows, columns};
    if (found->second.shape == expected) return;
    fail_loading(path, fmt::format("'{}' is {}, the configuration says {}", name, found->second.shape.str(),
                                   expected.str()));
  };
  check("token.weight", o.vocab_size, o.embed_dim);
  check("position.weight", o.context, o.embed_dim);
  if (o.num_layers > static_cast<std::int64_t>(file.entries().size())) {
    fail_loading(path, fmt::format("has too few tensors for {} layers", o.num_layers));
  }
  for (std::int64_t layer = 0; layer < o.num_layers; ++layer) {
    const auto name = fmt::format("blocks.{}.attention.out.weight", layer);
    check(name, o.embed_dim, o.embed_dim);
  }
}

}  // namespace

void save_language_model(const fs::path& folder, const nn::CausalLM& model, const Tokenizer& tokenizer) {
  const Json config = {{"format", kFormat},
                       {"model", options_to_json(model.options())},
                       {"tokenizer", Json::parse(tokenizer.to_json())}};
  io::write_safetensors(folder / "model.safetensors", model.state_dict(), {{"format", kFormat}});
  io::write_file(folder / "config.json", config.dump(2) + "\n");
}

LanguageModel load_language_model(const fs::path& folder) {
  const fs::path config_path = folder / "config.json";
  const fs::path tensor_path = folder / "model.safetensors";
  const Json config = read_config(config_path);
  const io::SafetensorsFile file(tensor_path);
  try {
    const nn::CausalLMOptions options = options_from_json(config.at("model"));
    auto tokenizer = tokenizer_from_json(config.at("tokenizer").dump());
    if (tokenizer->vocab_size() != options.vocab_size) {
      fail_loading(config_path, fmt::format("the tokenizer has {} tokens, the model {}",
                                            tokenizer->vocab_size(), options.vocab_size));
    }
    check_sizes(options, file, tensor_path);
    Generator generator;
    nn::CausalLM model(options, generator);
    model.load_state_dict(file.load_all());
    model.eval();
    return {std::move(model), std::move(tokenizer)};
  } catch (const Json::exception&) {
    fail_loading(config_path, "a field is missing or of the wrong kind");
  } catch (const ValueError& error) {
    fail_loading(folder, error.what());
  }
}

}  // namespace heed::train
