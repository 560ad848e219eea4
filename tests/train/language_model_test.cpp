#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/io/safetensors.h>
#include <heed/train/language_model.h>

namespace fs = std::filesystem;
using Catch::Contains;
using heed::Tensor;
using heed::train::load_language_model;
using heed::train::save_language_model;

namespace {

// A folder with a saved model, removed at the end of the test.
struct Saved {
  fs::path folder = fs::temp_directory_path() / ("heed_language_model_test_" + std::to_string(::getpid()));
  heed::Generator generator{1};
  heed::train::CharTokenizer tokenizer{"a b\u20ac"};
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
  const auto loaded = load_language_model(saved.folder);
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
    CHECK_THAT(saved.refusal(), Contains("missing or of the wrong kind"));
  }
  SECTION("sizes that the tensors do not have are refused before they are allocated") {
    const Saved saved;
    saved.edit("\"context\": 5", "\"context\": 4000000000000");
    CHECK_THAT(saved.refusal(), Contains("'position.weight' is [5, 4]"));
  }
  SECTION("too many layers") {
    const Saved saved;
    saved.edit("\"num_layers\": 2", "\"num_layers\": 1000000000");
    CHECK_THAT(saved.refusal(), Contains("too few tensors"));
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
  heed::io::write_safetensors(saved.folder / "model.safetensors", state);
  CHECK_THAT(saved.refusal(),
             Contains("'norm.weight' is missing") && Contains("'extra' is not in the module"));
}
