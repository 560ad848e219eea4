#include "readers.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include <heed/app/settings/train_options.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/io/npy.h>
#include <heed/io/read_file.h>
#include <heed/io/safetensors.h>
#include <heed/lm/language_model.h>
#include <heed/lm/pretrained.h>
#include <heed/text/bpe_tokenizer.h>
#include <heed/text/token_file.h>
#include <heed/train/checkpoint.h>

namespace heed::test::fuzz {
namespace {

namespace fs = std::filesystem;

void expect(bool ok, const char* what) {
  if (!ok) throw std::logic_error(what);
}

void put(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  expect(file.good(), "cannot write the fuzzed file");
}

nn::CausalLM tiny_model() {
  Generator generator(1);
  return nn::CausalLM({.vocab_size = 4, .context = 3, .num_layers = 1, .num_heads = 1, .embed_dim = 2},
                      generator);
}

// A model that was taken must be whole: it gives logits.
void use(const nn::CausalLM& model) {
  const NoGrad guard;
  const Tensor tokens = zeros({1}, DType::i64);
  expect(model(tokens).numel() == model.options().vocab_size, "a model that was taken gives no logits");
}

void use(const text::Tokenizer& tokenizer) {
  for (std::int64_t id = 0; id < std::min<std::int64_t>(tokenizer.vocab_size(), 300); ++id) {
    tokenizer.decode({&id, 1});
  }
  try {
    expect(tokenizer.decode(tokenizer.encode("ab a")) == "ab a", "a tokenizer that was taken loses bytes");
  } catch (const ValueError&) {
    return;  // characters that it does not know
  }
}

text::BpeVocabulary small_vocabulary() {
  auto vocabulary = text::train_bpe("ab ab ab abc abc", {.vocab_size = 259});
  vocabulary.added.push_back(static_cast<std::int64_t>(vocabulary.tokens.size()));
  vocabulary.tokens.emplace_back("<|endoftext|>");
  return vocabulary;
}

std::string safetensors_seed(const fs::path& folder) {
  io::save_safetensors(folder / "seed",
                       {{"a", tensor({1.f, 2.f, 3.f}, {3, 1})},
                        {"b.c", zeros({2}, DType::i64)},
                        {"flag", ones({3}, DType::boolean)},
                        {"none", zeros({0, 4})}},
                       {{"format", "pt"}});
  return io::read_file(folder / "seed");
}

void read_safetensors(const fs::path& file) {
  const io::SafetensorsFile opened(file);
  for (const auto& [name, value] : io::load_safetensors(file)) {
    expect(value.shape() == opened.entries().at(name).shape, "a tensor of another shape was taken");
  }
}

std::string npy_seed(const fs::path& folder) {
  io::save_npy(folder / "seed", tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3}));
  return io::read_file(folder / "seed");
}

void read_npy(const fs::path& file) {
  expect(io::load_npy(file).defined(), "an array that was taken is none");
}

std::string tokenizer_seed(const fs::path&) { return text::BpeTokenizer(small_vocabulary()).to_json(); }

std::string char_tokenizer_seed(const fs::path&) { return text::CharTokenizer("ab \u00e9\u20ac").to_json(); }

void read_tokenizer(const fs::path& file) { use(*text::load_tokenizer(file)); }

std::string merges_seed(const fs::path& folder) {
  text::save_gpt2_files(folder / "vocab", folder / "seed", small_vocabulary());
  return io::read_file(folder / "seed");
}

void read_merges(const fs::path& file) {
  text::BpeTokenizer(text::load_gpt2_files(file.parent_path() / "vocab", file));
}

std::string token_file_seed(const fs::path& folder) {
  const text::ByteTokenizer tokenizer;
  text::TokenFileWriter writer(folder / "seed", tokenizer);
  for (const char* text : {"some words", "", "and others"}) writer.add_document(tokenizer.encode(text));
  writer.commit();
  return io::read_file(folder / "seed");
}

void read_token_file(const fs::path& file) {
  const text::TokenFile opened(file);
  std::int64_t end = 0;
  for (const std::int64_t document : opened.document_ends()) {
    expect(document >= end, "documents that go back were taken");
    end = document;
  }
  expect(end <= static_cast<std::int64_t>(opened.tokens().size()), "documents beyond the tokens were taken");
}

// The same with a checksum that fits, the file's last eight bytes.
void read_signed_token_file(const fs::path& file) {
  std::string bytes = io::read_file(file);
  if (bytes.size() >= 8) {
    io::Checksum checksum;
    checksum.add(std::string_view(bytes).substr(0, bytes.size() - 8));
    const std::uint64_t value = checksum.value();
    std::memcpy(bytes.data() + bytes.size() - 8, &value, 8);
    put(file, bytes);
  }
  read_token_file(file);
}

// The configuration lies beside weights that stay whole.
std::string own_config_seed(const fs::path& folder) {
  lm::save_language_model(folder, tiny_model(), text::CharTokenizer("ab c"));
  return io::read_file(folder / "config.json");
}

void read_own_config(const fs::path& file) {
  fs::rename(file, file.parent_path() / "config.json");
  use(lm::load_language_model(file.parent_path()).model);
}

std::string pretrained_config_seed(const fs::path& folder) {
  fs::remove_all(folder / "theirs");
  lm::save_pretrained(folder / "theirs", tiny_model(), {});
  return io::read_file(folder / "theirs" / "config.json");
}

void read_pretrained_config(const fs::path& file) {
  fs::rename(file, file.parent_path() / "theirs" / "config.json");
  use(lm::load_pretrained(file.parent_path() / "theirs"));
}

std::string index_seed(const fs::path& folder) {
  fs::remove_all(folder / "theirs");
  lm::save_pretrained(folder / "theirs", tiny_model(), {.shard_bytes = 200});
  return io::read_file(folder / "theirs" / "model.safetensors.index.json");
}

void read_index(const fs::path& file) {
  fs::rename(file, file.parent_path() / "theirs" / "model.safetensors.index.json");
  use(lm::load_pretrained(file.parent_path() / "theirs"));
}

std::string checkpoint_seed(const fs::path& folder) {
  train::Checkpoint checkpoint{.step = 3, .random = {1, 2}, .validation_loss = 1.5};
  checkpoint.config = R"({"layers": 1, "model": {"norm": "rms"}})";
  checkpoint.put("model", tiny_model().state_dict());
  return io::read_file(train::CheckpointFolder(folder).save(checkpoint));
}

void read_checkpoint(const fs::path& file) {
  expect(!train::load_checkpoint(file).tensors.empty(), "a checkpoint without tensors was taken");
}

// The same with a checksum that fits, so that what follows it is reached.
void read_signed_checkpoint(const fs::path& file) {
  auto record = nlohmann::json::parse(io::read_file(file), nullptr, false);
  if (record.is_object()) {
    record.erase("checksum");
    record["checksum"] =
        io::text_checksum(record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    put(file, record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  read_checkpoint(file);
}

std::string settings_seed(const fs::path&) {
  return heed::app::settings_json({.preset = "micro", .data = {"a.txt", "b"}});
}

void read_settings(const fs::path& file) {
  heed::app::TrainOptions options;
  options.config = file;
  heed::app::load_settings(options);
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"safetensors", safetensors_seed, read_safetensors, true},
      {"npy", npy_seed, read_npy},
      {"tokenizer", tokenizer_seed, read_tokenizer, true},
      {"char_tokenizer", char_tokenizer_seed, read_tokenizer, true},
      {"merges", merges_seed, read_merges},
      {"token_file", token_file_seed, read_token_file},
      {"signed_token_file", token_file_seed, read_signed_token_file},
      {"own_config", own_config_seed, read_own_config, true},
      {"pretrained_config", pretrained_config_seed, read_pretrained_config, true},
      {"index", index_seed, read_index, true},
      {"checkpoint", checkpoint_seed, read_checkpoint, true},
      {"signed_checkpoint", checkpoint_seed, read_signed_checkpoint},
      {"settings", settings_seed, read_settings, true}};
  return all;
}

bool take(const Reader& reader, const std::string& bytes, const fs::path& folder) {
  const fs::path file = folder / "fuzzed";
  put(file, bytes);
  try {
    reader.read(file);
    return true;
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.find(folder.string()) != std::string::npos) return false;
    throw std::logic_error("an error that names no file: " + text);
  }
}

}  // namespace heed::test::fuzz
