#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/core/error.h>
#include <heed/io/atomic_file.h>
#include <heed/io/read_file.h>
#include <heed/text/bpe_tokenizer.h>
#include <heed/text/byte_alphabet.h>

namespace heed::text {
namespace {

using Json = nlohmann::json;  // finds a key of an object fast, unlike ordered_json
using Ids = std::unordered_map<std::string, std::int64_t>;  // by the bytes of the token

// Reports what is wrong with a file; the name of the file is added by the caller.
[[noreturn]] void problem(const std::string& what, const std::string& expected = {}) {
  fail<ValueError>("byte-level BPE", what, {}, expected);
}

std::string shortened(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
}

// Inverts the map from tokens to ids, which must be 0 … n − 1. `added` tokens are written as plain text,
// not in the byte alphabet.
std::vector<std::string> tokens_of(const Json& vocab, const Ids& added) {
  if (!vocab.is_object()) problem("the vocabulary is no JSON object");
  std::vector<std::string> tokens(vocab.size() + added.size());
  std::vector<bool> taken(tokens.size());
  std::size_t count = 0;
  const auto put = [&](const std::string& bytes, const Json& id) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens.size()) {
      problem(fmt::format("the id of '{}' is {}", to_byte_alphabet(bytes), shortened(id)),
              "0, 1, 2 and so on");
    }
    const auto place = id.get<std::size_t>();
    if (taken[place]) problem(fmt::format("the id {} is given twice", place));
    taken[place] = true;
    tokens[place] = bytes;
    ++count;
  };
  for (const auto& [token, id] : vocab.items()) {
    if (added.count(token) != 0) continue;
    const auto bytes = from_byte_alphabet(token);
    if (!bytes) problem(fmt::format("the token '{}' is not in the byte alphabet", token));
    put(*bytes, id);
  }
  for (const auto& [token, id] : added) put(token, id < 0 ? Json(id) : Json(static_cast<std::uint64_t>(id)));
  tokens.resize(count);
  const auto gap = std::find(taken.begin(), taken.end(), false);
  if (gap - taken.begin() != static_cast<std::ptrdiff_t>(count)) {
    problem(fmt::format("no token has the id {}", gap - taken.begin()));
  }
  return tokens;
}

class MergeReader {
 public:
  explicit MergeReader(const std::vector<std::string>& tokens) {
    for (const std::string& token : tokens) ids_.emplace(token, static_cast<std::int64_t>(ids_.size()));
  }

  std::pair<std::int64_t, std::int64_t> operator()(const std::string& left, const std::string& right) const {
    return {id_of(left), id_of(right)};
  }
  // A line `left right` with one space between the tokens.
  std::pair<std::int64_t, std::int64_t> operator()(const std::string& line) const {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos || line.find(' ', blank + 1) != std::string::npos) {
      problem(fmt::format("the merge '{}' is not two tokens", line.substr(0, 60)));
    }
    return (*this)(line.substr(0, blank), line.substr(blank + 1));
  }

 private:
  std::int64_t id_of(const std::string& token) const {
    const auto bytes = from_byte_alphabet(token);
    const auto found = bytes ? ids_.find(*bytes) : ids_.end();
    if (found == ids_.end())
      problem(fmt::format("a merge names '{}', which is no token", token.substr(0, 60)));
    return found->second;
  }

  Ids ids_;
};

void expect(const Json& object, const char* where, const char* field, const std::vector<Json>& allowed) {
  const Json value = object.is_object() ? object.value(field, Json()) : Json();
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  std::vector<std::string> texts;
  for (const Json& one : allowed) texts.push_back(one.dump());
  problem(fmt::format("{}.{} is {}", where, field, shortened(value)),
          fmt::format("{}", fmt::join(texts, " or ")));
}

void check_kind(const Json& root) {
  const Json nothing;
  for (const char* part : {"normalizer", "truncation", "padding"}) expect(root, "tokenizer", part, {nothing});
  const Json pre = root.value("pre_tokenizer", Json());
  expect(pre, "pre_tokenizer", "type", {"ByteLevel"});
  expect(pre, "pre_tokenizer", "add_prefix_space", {false});
  expect(pre, "pre_tokenizer", "use_regex", {nothing, true});
  expect(root.value("decoder", Json()), "decoder", "type", {"ByteLevel"});
  const Json post = root.value("post_processor", Json());
  if (!post.is_null()) expect(post, "post_processor", "type", {"ByteLevel"});
  const Json model = root.value("model", Json());
  expect(model, "model", "type", {"BPE"});
  expect(model, "model", "dropout", {nothing});
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    expect(model, "model", field, {nothing, ""});
  }
  for (const char* field : {"byte_fallback", "ignore_merges"})
    expect(model, "model", field, {nothing, false});
}

Ids added_tokens(const Json& root) {
  Ids added;
  const Json list = root.value("added_tokens", Json::array());
  if (!list.is_array()) problem("added_tokens is no list");
  for (const Json& token : list) {
    const Json& id = token.at("id");
    if (!id.is_number_integer())
      problem(fmt::format("the id of an added token is {}; expected an integer", shortened(id)));
    added[token.at("content").get<std::string>()] = id.get<std::int64_t>();
  }
  return added;
}

template <class Read>
auto naming(const std::string& path, Read&& read) {
  try {
    return read();
  } catch (const ValueError& error) {
    fail<IoError>("load_tokenizer", fmt::format("'{}': {}", path, error.what()));
  }
}

Json vocab_json(const BpeVocabulary& vocabulary) {
  Json vocab = Json::object();
  const std::set<std::int64_t> added(vocabulary.added.begin(), vocabulary.added.end());
  std::int64_t id = 0;
  for (const std::string& token : vocabulary.tokens) {
    vocab[added.count(id) == 0 ? to_byte_alphabet(token) : token] = id;
    ++id;
  }
  return vocab;
}

std::vector<std::string> merge_lines(const BpeVocabulary& v) {
  const auto text = [&](std::int64_t id) { return to_byte_alphabet(v.tokens[static_cast<std::size_t>(id)]); };
  std::vector<std::string> lines;
  for (const auto& [left, right] : v.merges) lines.push_back(text(left) + " " + text(right));
  return lines;
}

}  // namespace

BpeVocabulary bpe_from_huggingface(std::string_view json) {
  const Json root = Json::parse(json, nullptr, false);
  if (!root.is_object()) problem("no JSON object");
  check_kind(root);
  try {
    const Ids added = added_tokens(root);
    BpeVocabulary vocabulary;
    vocabulary.tokens = tokens_of(root.at("model").at("vocab"), added);
    for (const auto& [token, id] : added) vocabulary.added.push_back(id);
    std::sort(vocabulary.added.begin(), vocabulary.added.end());
    const MergeReader read(vocabulary.tokens);
    for (const Json& merge : root.at("model").at("merges")) {
      if (merge.is_array() && merge.size() != 2) problem("a merge is not two tokens");
      vocabulary.merges.push_back(merge.is_array()
                                      ? read(merge[0].get<std::string>(), merge[1].get<std::string>())
                                      : read(merge.get<std::string>()));
    }
    return vocabulary;
  } catch (const Json::exception&) {
    problem("a field is missing or of the wrong kind");
  }
}

std::string BpeTokenizer::to_json() const {
  const Json level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  Json added = Json::array();
  for (const std::int64_t id : vocabulary_.added) {
    added.push_back({{"id", id},
                     {"content", vocabulary_.tokens[static_cast<std::size_t>(id)]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  const Json root = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", level},
                     {"post_processor", nullptr},
                     {"decoder", level},
                     {"model",
                      {{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"ignore_merges", false},
                       {"vocab", vocab_json(vocabulary_)},
                       {"merges", merge_lines(vocabulary_)}}}};
  return root.dump();
}

void save_tokenizer(const std::string& path, const Tokenizer& tokenizer) {
  io::write_file(path, tokenizer.to_json() + "\n");
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  const std::string text = io::read_json_object(path);
  return naming(path, [&] { return tokenizer_from_json(text); });
}

BpeVocabulary load_gpt2_files(const std::string& vocab_path, const std::string& merges_path) {
  const Json vocab = Json::parse(io::read_json_object(vocab_path));
  BpeVocabulary vocabulary;
  naming(vocab_path, [&] {
    const auto end = vocab.find("<|endoftext|>");
    Ids added;
    if (end != vocab.end() && end->is_number_integer()) added["<|endoftext|>"] = end->get<std::int64_t>();
    vocabulary.tokens = tokens_of(vocab, added);
    for (const auto& [token, id] : added) vocabulary.added.push_back(id);
  });
  naming(merges_path, [&] {
    const std::string text = io::read_file(merges_path, std::uint64_t{64} << 20);
    const MergeReader read(vocabulary.tokens);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      if (line.ends_with('\r')) line.pop_back();
      const bool heading = begin == 0 && line.starts_with("#version");
      if (!line.empty() && !heading) vocabulary.merges.push_back(read(line));
      begin = end + 1;
    }
  });
  naming(vocab_path, [&] { BpeTokenizer{vocabulary}; });
  return vocabulary;
}

void save_gpt2_files(const std::string& vocab_path, const std::string& merges_path,
                     const BpeVocabulary& vocabulary) {
  io::write_file(vocab_path, vocab_json(vocabulary).dump());
  io::write_file(merges_path, fmt::format("#version: 0.2\n{}\n", fmt::join(merge_lines(vocabulary), "\n")));
}

}  // namespace heed::text
