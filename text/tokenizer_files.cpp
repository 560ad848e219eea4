#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <span>

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

// All that is wrong with a file, so that it need not be mended one fault at a time; the name of the file is
// added by the caller.
class Problems {
 public:
  void add(const std::string& what, const std::string& expected = {}) {
    texts_.push_back(expected.empty() ? what : what + "; expected " + expected);
  }
  // Throws unless there are none.
  void raise() const {
    constexpr std::size_t most = 10;  // a file of another kind may have one in every token
    if (texts_.empty()) return;
    const auto shown = std::span(texts_).first(std::min(most, texts_.size()));
    const std::size_t rest = texts_.size() - shown.size();
    fail<ValueError>("byte-level BPE", fmt::format("{}{}", fmt::join(shown, "; also "),
                                                   rest == 0 ? "" : fmt::format("; and {} more", rest)));
  }
  std::size_t size() const { return texts_.size(); }

 private:
  std::vector<std::string> texts_;
};

std::string shortened(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
}

// Inverts the map from tokens to ids, which must be 0 … n − 1. `added` tokens are written as plain text,
// not in the byte alphabet.
std::vector<std::string> tokens_of(const Json& vocab, const Ids& added, Problems& problems) {
  if (!vocab.is_object()) {
    problems.add("the vocabulary is no JSON object");
    return {};
  }
  const std::size_t before = problems.size();
  std::vector<std::string> tokens(vocab.size() + added.size());
  std::vector<bool> taken(tokens.size());
  std::size_t count = 0;
  const auto put = [&](const std::string& bytes, const Json& id) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens.size()) {
      return problems.add(fmt::format("the id of '{}' is {}", to_byte_alphabet(bytes), shortened(id)),
                          "0, 1, 2 and so on");
    }
    const auto place = id.get<std::size_t>();
    if (taken[place]) return problems.add(fmt::format("the id {} is given twice", place));
    taken[place] = true;
    tokens[place] = bytes;
    ++count;
  };
  for (const auto& [token, id] : vocab.items()) {
    if (added.count(token) != 0) continue;
    const auto bytes = from_byte_alphabet(token);
    if (bytes) {
      put(*bytes, id);
    } else {
      problems.add(fmt::format("the token '{}' is not in the byte alphabet", token));
    }
  }
  for (const auto& [token, id] : added) put(token, id < 0 ? Json(id) : Json(static_cast<std::uint64_t>(id)));
  tokens.resize(count);
  const auto gap = std::find(taken.begin(), taken.end(), false);
  if (problems.size() == before && gap - taken.begin() != static_cast<std::ptrdiff_t>(count)) {
    problems.add(fmt::format("no token has the id {}", gap - taken.begin()));
  }
  return tokens;
}

// Reads merges, and leaves out those that are none.
class MergeReader {
 public:
  MergeReader(const std::vector<std::string>& tokens, Problems& problems) : problems_(problems) {
    for (const std::string& token : tokens) ids_.emplace(token, static_cast<std::int64_t>(ids_.size()));
  }

  void add(const std::string& left, const std::string& right, BpeVocabulary& vocabulary) const {
    const std::int64_t first = id_of(left);
    const std::int64_t second = id_of(right);
    if (first >= 0 && second >= 0) vocabulary.merges.emplace_back(first, second);
  }
  // A line `left right` with one space between the tokens.
  void add(const std::string& line, BpeVocabulary& vocabulary) const {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos && line.find(' ', blank + 1) == std::string::npos) {
      add(line.substr(0, blank), line.substr(blank + 1), vocabulary);
    } else {
      problems_.add(fmt::format("the merge '{}' is not two tokens", line.substr(0, 60)));
    }
  }
  // A merge of tokenizer.json: such a line, or a list of the two.
  void add(const Json& merge, BpeVocabulary& vocabulary) const {
    if (!merge.is_array()) {
      add(merge.get<std::string>(), vocabulary);
    } else if (merge.size() == 2) {
      add(merge[0].get<std::string>(), merge[1].get<std::string>(), vocabulary);
    } else {
      problems_.add("a merge is not two tokens");
    }
  }

 private:
  // −1 for what is no token.
  std::int64_t id_of(const std::string& token) const {
    const auto bytes = from_byte_alphabet(token);
    const auto found = bytes ? ids_.find(*bytes) : ids_.end();
    if (found != ids_.end()) return found->second;
    problems_.add(fmt::format("a merge names '{}', which is no token", token.substr(0, 60)));
    return -1;
  }

  Ids ids_;
  Problems& problems_;
};

void expect(const Json& object, const char* where, const char* field, const std::vector<Json>& allowed,
            Problems& problems) {
  const Json value = object.is_object() ? object.value(field, Json()) : Json();
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  std::vector<std::string> texts;
  for (const Json& one : allowed) texts.push_back(one.dump());
  problems.add(fmt::format("{}.{} is {}", where, field, shortened(value)),
               fmt::format("{}", fmt::join(texts, " or ")));
}

// A member of an object, or null.
const Json& member(const Json& object, const char* name) {
  static const Json nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

void check_kind(const Json& root, Problems& problems) {
  const Json nothing;
  for (const char* part : {"normalizer", "truncation", "padding"})
    expect(root, "tokenizer", part, {nothing}, problems);
  const Json& pre = member(root, "pre_tokenizer");
  expect(pre, "pre_tokenizer", "type", {"ByteLevel"}, problems);
  expect(pre, "pre_tokenizer", "add_prefix_space", {false}, problems);
  expect(pre, "pre_tokenizer", "use_regex", {nothing, true}, problems);
  expect(member(root, "decoder"), "decoder", "type", {"ByteLevel"}, problems);
  const Json& post = member(root, "post_processor");
  if (!post.is_null()) expect(post, "post_processor", "type", {"ByteLevel"}, problems);
  const Json& model = member(root, "model");
  expect(model, "model", "type", {"BPE"}, problems);
  expect(model, "model", "dropout", {nothing}, problems);
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    expect(model, "model", field, {nothing, ""}, problems);
  }
  for (const char* field : {"byte_fallback", "ignore_merges"})
    expect(model, "model", field, {nothing, false}, problems);
}

Ids added_tokens(const Json& root, Problems& problems) {
  Ids added;
  const Json list = root.value("added_tokens", Json::array());
  if (!list.is_array()) {
    problems.add("added_tokens is no list");
    return added;
  }
  for (const Json& token : list) {
    const Json& id = token.at("id");
    if (id.is_number_integer()) {
      added[token.at("content").get<std::string>()] = id.get<std::int64_t>();
    } else {
      problems.add(fmt::format("the id of an added token is {}", shortened(id)), "an integer");
    }
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

BpeVocabulary bpe_of(const Json& root) {
  Problems problems;
  BpeVocabulary vocabulary;
  if (!root.is_object()) {
    problems.add("no JSON object");
    problems.raise();
  }
  check_kind(root, problems);
  try {
    if (root.at("model").at("type") != Json("BPE")) problems.raise();  // its vocabulary is of another form
    const Ids added = added_tokens(root, problems);
    const std::size_t before = problems.size();
    vocabulary.tokens = tokens_of(root.at("model").at("vocab"), added, problems);
    for (const auto& [token, id] : added) vocabulary.added.push_back(id);
    std::sort(vocabulary.added.begin(), vocabulary.added.end());
    if (problems.size() > before) problems.raise();  // without its tokens no merge can be judged
    const MergeReader reader(vocabulary.tokens, problems);
    for (const Json& merge : root.at("model").at("merges")) reader.add(merge, vocabulary);
  } catch (const Json::exception&) {
    problems.add("a field is missing or of the wrong kind");
  }
  problems.raise();
  return vocabulary;
}

std::unique_ptr<Tokenizer> tokenizer_of(const Json& parsed) {
  if (parsed.is_object() && parsed.contains("model")) {
    return std::make_unique<BpeTokenizer>(bpe_of(parsed));
  }
  if (!parsed.is_object() || !parsed.contains("type") || !parsed["type"].is_string()) {
    fail<ValueError>("tokenizer_from_json", "not a tokenizer", "", "a JSON object with a text \"type\"");
  }
  const auto type = parsed["type"].get<std::string>();
  if (type == "byte") return std::make_unique<ByteTokenizer>();
  if (type != "char") {
    fail<ValueError>("tokenizer_from_json", "unknown kind of tokenizer", type, "byte or char");
  }
  if (!parsed.contains("characters") || !parsed["characters"].is_string()) {
    fail<ValueError>("tokenizer_from_json", "a char tokenizer without its characters", "",
                     "text \"characters\"");
  }
  return std::make_unique<CharTokenizer>(parsed["characters"].get<std::string>());
}

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json) {
  return tokenizer_of(Json::parse(json, nullptr, /*allow_exceptions=*/false));
}

BpeVocabulary bpe_from_huggingface(std::string_view json) {
  return bpe_of(Json::parse(json, nullptr, false));
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

namespace {

// Whether JSON is the first of GPT-2's two files: ids by token and nothing else.
bool is_vocabulary(const Json& json) {
  return !json.empty() &&
         std::all_of(json.begin(), json.end(), [](const Json& id) { return id.is_number_integer(); });
}

std::unique_ptr<BpeTokenizer> gpt2_tokenizer(const Json& vocab, const std::string& vocab_path,
                                             const std::string& merges_path) {
  BpeVocabulary vocabulary;
  Problems problems;
  naming(vocab_path, [&] {
    const auto end = vocab.find("<|endoftext|>");
    Ids added;
    if (end != vocab.end() && end->is_number_integer()) added["<|endoftext|>"] = end->get<std::int64_t>();
    vocabulary.tokens = tokens_of(vocab, added, problems);
    for (const auto& [token, id] : added) vocabulary.added.push_back(id);
    problems.raise();
  });
  naming(merges_path, [&] {
    const std::string text = io::read_file(merges_path, std::uint64_t{64} << 20);
    const MergeReader reader(vocabulary.tokens, problems);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      if (line.ends_with('\r')) line.pop_back();
      const bool heading = begin == 0 && line.starts_with("#version");
      if (!line.empty() && !heading) reader.add(line, vocabulary);
      begin = end + 1;
    }
    problems.raise();
  });
  return naming(vocab_path, [&] { return std::make_unique<BpeTokenizer>(std::move(vocabulary)); });
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  const Json root = Json::parse(io::read_json_object(path));
  if (!is_vocabulary(root)) {
    return naming(path, [&] { return tokenizer_of(root); });
  }
  const std::filesystem::path merges = std::filesystem::path(path).parent_path() / "merges.txt";
  if (std::filesystem::exists(merges)) return gpt2_tokenizer(root, path, merges);
  fail<IoError>("load_tokenizer",
                fmt::format("'{}': is the vocabulary of a tokenizer without its merges", path), {},
                "merges.txt beside it, or a tokenizer.json");
}

BpeVocabulary load_gpt2_files(const std::string& vocab_path, const std::string& merges_path) {
  const Json vocab = Json::parse(io::read_json_object(vocab_path));
  return gpt2_tokenizer(vocab, vocab_path, merges_path)->vocabulary();
}

void save_gpt2_files(const std::string& vocab_path, const std::string& merges_path,
                     const BpeVocabulary& vocabulary) {
  io::write_file(vocab_path, vocab_json(vocabulary).dump());
  io::write_file(merges_path, fmt::format("#version: 0.2\n{}\n", fmt::join(merge_lines(vocabulary), "\n")));
}

}  // namespace heed::text
