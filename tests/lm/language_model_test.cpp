#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <heed/core/draw_log.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/io/safetensors.h>
#include <heed/lm/language_model.h>
#include <heed/lm/model_config.h>
#include <heed/lm/weight_layout.h>

namespace fs = std::filesystem;
using Catch::Contains;
using heed::Generator;
using heed::Tensor;
using heed::lm::load_language_model;
using heed::lm::save_language_model;

namespace {

// A folder with a saved model, removed at the end of the test.
struct Saved {
  fs::path folder = fs::temp_directory_path() / ("heed_language_model_test_" + std::to_string(::getpid()));
  heed::Generator generator{1};
  heed::text::CharTokenizer tokenizer{"a b\u20ac"};
  heed::nn::CausalLM model{
      {.vocab_size = 4, .context = 5, .num_layers = 2, .num_heads = 2, .embed_dim = 4, .bias = false},
      generator};
  Saved() {
    fs::remove_all(folder);
    fs::create_directories(folder);
    save_language_model(folder, model, tokenizer);
  }
  ~Saved() { fs::remove_all(folder); }

  // Replaces part of the configuration.
  void edit(const std::string& from, const std::string& to) const {
    std::ifstream file(folder / "config.json");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    std::ofstream(folder / "config.json") << text;
  }
  std::string refusal() const {
    try {
      load_language_model(folder);
    } catch (const heed::IoError& error) {
      return error.what();
    }
    return "accepted";
  }
};

}  // namespace

TEST_CASE("a saved model comes back with its tokenizer") {
  const Saved saved;
  heed::DrawLog draws;
  const auto loaded = [&] {
    const heed::RecordDraws record(draws);
    return load_language_model(saved.folder);
  }();
  CHECK(draws.empty());  // weights that a file replaces are not drawn
  CHECK(loaded.tokenizer->encode("b\u20ac a") == saved.tokenizer.encode("b\u20ac a"));
  CHECK_FALSE(loaded.model.training());
  CHECK_FALSE(loaded.model.options().bias);
  const Tensor tokens = heed::tensor<std::int64_t>({3, 0, 1});
  CHECK(loaded.model(tokens).to_vector<float>() == saved.model(tokens).to_vector<float>());
}

TEST_CASE("the tied head is saved once", "[report-40]") {
  const Saved saved;
  const heed::io::SafetensorsFile file(saved.folder / "model.safetensors");
  CHECK(file.entries().size() == saved.model.named_parameters().size());
  CHECK(file.entries().count("token.weight") == 1);
}

TEST_CASE("a configuration that is damaged or does not fit is refused") {
  SECTION("no JSON") {
    const Saved saved;
    saved.edit("{", "");
    CHECK_THAT(saved.refusal(), Contains("config.json") && Contains("no JSON object"));
  }
  SECTION("another format") {
    const Saved saved;
    saved.edit("heed-causal-lm/1", "heed-causal-lm/9");
    CHECK_THAT(saved.refusal(), Contains("not of the format heed-causal-lm/1"));
  }
  SECTION("a field of the wrong kind") {
    const Saved saved;
    saved.edit("\"context\": 5", "\"context\": \"five\"");
    CHECK_THAT(saved.refusal(), Contains("context is \"five\", not a whole number"));
  }
  SECTION("fields that are unknown or missing are all named") {
    const Saved saved;
    saved.edit("\"context\"", "\"kontext\"");
    saved.edit("\"gelu\"", "\"gelo\"");
    CHECK_THAT(saved.refusal(), Contains("context is missing") && Contains("kontext is unknown") &&
                                    Contains("activation is \"gelo\", not relu, gelu, gelu_tanh, silu"));
  }
  SECTION("sizes that the tensors do not have are refused before they are allocated") {
    const Saved saved;
    saved.edit("\"context\": 5", "\"context\": 400000000");
    CHECK_THAT(saved.refusal(), Contains("'position.weight' is F32[5, 4], the model has F32[400000000, 4]"));
    saved.edit("\"context\": 400000000", "\"context\": 4000000000000");
    CHECK_THAT(saved.refusal(), Contains("context is 4000000000000; expected 1 to 2^30"));
  }
  SECTION("too many layers") {
    const Saved saved;
    saved.edit("\"num_layers\": 2", "\"num_layers\": 1000000000");
    CHECK_THAT(saved.refusal(), Contains("num_layers is 1000000000"));
  }
  SECTION("a vocabulary of another size") {
    const Saved saved;
    saved.edit("\"vocab_size\": 4", "\"vocab_size\": 5");
    CHECK_THAT(saved.refusal(), Contains("the tokenizer has 4 tokens, the model 5"));
  }
  SECTION("a file that is not there") {
    const Saved saved;
    fs::remove(saved.folder / "model.safetensors");
    CHECK_THAT(saved.refusal(), Contains("model.safetensors"));
    fs::remove(saved.folder / "config.json");
    CHECK_THAT(saved.refusal(), Contains("config.json") && Contains("No such file"));
  }
}

TEST_CASE("tensors that do not fit are all listed") {
  const Saved saved;
  heed::nn::NamedTensors state = saved.model.state_dict();
  state.pop_back();
  state.emplace_back("extra", heed::scalar(1.f));
  heed::io::save_safetensors(saved.folder / "model.safetensors", state);
  CHECK_THAT(saved.refusal(),
             Contains("'norm.weight' is missing") && Contains("'extra', F32[], is not in the model"));
}

TEST_CASE("options of every kind come back from a saved model") {
  Generator generator(1);
  const heed::nn::CausalLMOptions options = {
      .vocab_size = 4,
      .context = 5,
      .num_layers = 1,
      .num_heads = 2,
      .embed_dim = 8,
      .bias = false,
      .num_kv_heads = 1,
      .head_dim = 6,
      .hidden_dim = 5,
      .rope = heed::RopeOptions{heed::RopeLayout::interleaved, 500.0, 4},
      .activation = heed::nn::Activation::silu,
      .gated = true,
      .norm = heed::nn::NormKind::rms,
      .norm_epsilon = 1e-6,
      .tied = false};
  const heed::nn::CausalLM model(options, generator);
  const Saved saved;
  save_language_model(saved.folder, model, saved.tokenizer);
  const auto loaded = load_language_model(saved.folder);
  const Tensor tokens = heed::tensor<std::int64_t>({3, 0, 1});
  CHECK(loaded.model(tokens).to_vector<float>() == model(tokens).to_vector<float>());
  CHECK(heed::lm::model_config_to_json(loaded.model.options()) == heed::lm::model_config_to_json(options));
}

TEST_CASE("parameters are told without memory for them") {
  using heed::nn::CausalLMOptions;
  const CausalLMOptions gpt = {
      .vocab_size = 7, .context = 5, .num_layers = 2, .num_heads = 2, .embed_dim = 4};
  CausalLMOptions bare = gpt;
  bare.bias = false;
  bare.tied = false;
  CausalLMOptions llama = gpt;
  llama.num_kv_heads = 1;
  llama.head_dim = 6;
  llama.hidden_dim = 5;
  llama.rope = heed::RopeOptions{};
  llama.gated = true;
  llama.norm = heed::nn::NormKind::rms;
  for (const CausalLMOptions& options : {gpt, bare, llama}) {
    Generator generator(1);
    std::vector<std::pair<std::string, heed::Shape>> shapes;
    for (const auto& [path, parameter] : heed::nn::CausalLM(options, generator).named_parameters()) {
      shapes.emplace_back(path, parameter.shape());
    }
    CHECK(heed::lm::parameter_shapes(options) == shapes);
  }
  CausalLMOptions odd = gpt;
  odd.embed_dim = 5;
  CHECK_THROWS_WITH(heed::lm::parameter_shapes(odd), Contains("embed_dim is 5"));
  odd = gpt;
  odd.num_heads = 0;
  CHECK_THROWS_WITH(heed::lm::parameter_shapes(odd), Contains("num_heads is 0"));
  odd.num_heads = 1 << 20;
  odd.head_dim = 1 << 20;
  CHECK_THROWS_WITH(heed::lm::parameter_shapes(odd), Contains("num_heads * head_dim is 1099511627776"));
  CausalLMOptions large = gpt;
  large.vocab_size = large.embed_dim = 1 << 30;
  large.num_heads = 1;
  CHECK(heed::lm::parameter_shapes(large)[0].second == heed::Shape{1 << 30, 1 << 30});
}

TEST_CASE("two descriptions of a model differ by name and both values") {
  using heed::lm::model_config_differences;
  heed::nn::CausalLMOptions was = {
      .vocab_size = 7, .context = 5, .num_layers = 2, .num_heads = 2, .embed_dim = 4, .dropout = 0.5};
  was.rope = heed::RopeOptions{};
  heed::nn::CausalLMOptions is = was;
  is.dropout = 0;
  const auto compare = [&] {
    return model_config_differences(heed::lm::model_config_to_json(was), heed::lm::model_config_to_json(is));
  };
  CHECK(compare().empty());
  is.rope->layout = heed::RopeLayout::interleaved;
  is.norm_epsilon = 1e-6;
  is.activation = heed::nn::Activation::gelu_tanh;
  CHECK(compare() ==
        R"(rope.layout was "half" and is "interleaved", activation was "gelu" and is "gelu_tanh", )"
        R"(norm_epsilon was 1e-05 and is 1e-06)");
  is = was;
  is.rope.reset();
  CHECK(compare() == R"(rope.layout was "half" and is absent, rope.base was 10000.0 and is absent)");
  CHECK_THROWS_AS(model_config_differences("[]", "{}"), heed::ValueError);
}
