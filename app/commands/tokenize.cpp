#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/app/commands/commands.h>
#include <heed/app/output.h>
#include <heed/app/run/text_data.h>
#include <heed/core/arguments.h>
#include <heed/text/bpe_tokenizer.h>
#include <heed/text/text_corpus.h>
#include <heed/text/token_file.h>

namespace heed::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t slice_bytes = std::size_t{1} << 20;

struct TokenizeOptions {
  std::vector<std::string> data = {};
  fs::path out = {};
  std::string tokenizer = "bpe";  // char, byte, bpe, or a tokenizer.json
  std::int64_t vocab_size = 1024;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Where a slice may end so that it encodes as it would within the text: before a space between two letters,
// where every tokenizer begins a token.
std::size_t end_of_slice(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + slice_bytes; i + 1 < text.size(); ++i) {
    if (text[i] == ' ' && is_letter(text[i - 1]) && is_letter(text[i + 1])) return i;
  }
  return text.size();
}

// Prints a line after each tenth of the work.
class TenthsShown {
 public:
  explicit TenthsShown(std::size_t bytes) : bytes_(bytes) {}
  void add(std::size_t bytes, std::size_t tokens) {
    done_ += bytes;
    tokens_ += tokens;
    if ((done_ - shown_) * 10 < bytes_) return;
    shown_ = done_;
    warn("tokenize  {} of {} bytes, {} tokens\n", done_, bytes_, tokens_);
  }

 private:
  std::size_t bytes_;
  std::size_t done_ = 0;
  std::size_t shown_ = 0;
  std::size_t tokens_ = 0;
};

std::vector<std::int64_t> encode(const text::Tokenizer& tokenizer, std::string_view text,
                                 TenthsShown& shown) {
  std::vector<std::int64_t> ids;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = end_of_slice(text, begin);
    const std::vector<std::int64_t> part = tokenizer.encode(text.substr(begin, end - begin));
    ids.insert(ids.end(), part.begin(), part.end());
    shown.add(end - begin, part.size());
    begin = end;
  }
  return ids;
}

int tokenize_text(const TokenizeOptions& options) {
  heed::check_value(options.vocab_size >= 256, "tokenize", "--vocab-size", options.vocab_size,
                    "at least 256");
  const std::vector<std::string> files = text::list_files(options.data);
  const text::TextCorpus corpus = read_text("tokenize", files, options.tokenizer);
  std::string unit;
  const auto tokenizer = make_tokenizer(options.tokenizer, options.vocab_size, corpus.text, unit);
  std::error_code code;  // not looked at: if this fails, writing the first file says so
  fs::create_directories(options.out, code);
  text::save_tokenizer(options.out / "tokenizer.json", *tokenizer);
  text::TokenFileWriter writer(options.out / "tokens.bin", *tokenizer);
  TenthsShown shown(corpus.text.size());
  for (std::size_t i = 0; i < corpus.ends.size(); ++i) {
    writer.add_document(encode(*tokenizer, corpus.document(i), shown));
  }
  writer.commit();
  say("tokens    {} {}s of {} bytes in {} documents\nfiles     {}, {}\n", writer.tokens(), unit,
      corpus.text.size(), corpus.ends.size(), (options.out / "tokens.bin").string(),
      (options.out / "tokenizer.json").string());
  return 0;
}

}  // namespace

Action tokenize_command(CLI::App& parser) {
  const auto o = std::make_shared<TokenizeOptions>();
  parser.add_option("--data", o->data, "Files and folders of text; each file is a document")->required();
  parser.add_option("--out", o->out, "Folder for tokens.bin and tokenizer.json")->required();
  parser
      .add_option("--tokenizer", o->tokenizer,
                  "What a token is: a char, a byte, a piece that bpe learns, or as a tokenizer.json says")
      ->capture_default_str();
  parser.add_option("--vocab-size", o->vocab_size, "Tokens that bpe may learn, the 256 bytes included")
      ->capture_default_str();
  return {.run = [o](const auto&) { return tokenize_text(*o); }};
}

}  // namespace heed::app
