#include "text_data.h"

#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/io/read_file.h>
#include <heed/train/bpe_tokenizer.h>
#include <heed/train/corpus.h>

namespace tiny_lm {
namespace {

constexpr std::size_t kTalesLength = 1'000'000;
constexpr std::uint64_t kTalesSeed = 1;  // one text for every run, whatever its own seed

std::string read_file(const std::filesystem::path& path) {
  std::error_code code;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, code)) {
    heed::fail<heed::IoError>("train", fmt::format("cannot read the text '{}'", path.string()));
  }
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) {
    heed::fail<heed::IoError>("train", fmt::format("cannot read the text '{}'", path.string()));
  }
  if (text.empty()) {
    heed::fail<heed::ValueError>("train", fmt::format("the text '{}' is empty", path.string()));
  }
  return text;
}

std::unique_ptr<heed::train::Tokenizer> make_tokenizer(const TrainOptions& options, const std::string& text,
                                                       std::string& unit) {
  using namespace heed::train;
  unit = "character";
  if (options.tokenizer == "char") return std::make_unique<CharTokenizer>(text);
  unit = "byte";
  if (options.tokenizer == "byte") return std::make_unique<ByteTokenizer>();
  unit = "token";
  if (options.tokenizer != "bpe") return load_tokenizer(options.tokenizer);
  std::int64_t shown = 0;
  const auto show = [&](std::int64_t tokens, std::int64_t most) {
    if (tokens - shown < most / 10) return;
    shown = tokens;
    fmt::print(stderr, "bpe       {} of {} tokens\n", tokens, most);
  };
  return std::make_unique<BpeTokenizer>(
      train_bpe(text, {.vocab_size = options.vocab_size, .on_progress = show}));
}

}  // namespace

TextData load_text(const TrainOptions& options) {
  TextData data;
  std::string text;
  if (options.text.empty()) {
    const heed::train::TextSource source = heed::train::tale_source();
    text = source.generate(kTalesLength, kTalesSeed);
    data.name = "built-in tales";
    data.floor = source.entropy_floor(static_cast<std::size_t>(options.context));
  } else {
    text = read_file(options.text);
    data.name = options.text.filename().string();
  }
  data.tokenizer = make_tokenizer(options, text, data.unit);
  if (data.unit == "token") data.floor.reset();  // it is known for each character, not for pieces
  data.tokens = data.tokenizer->encode(text);
  data.checksum = heed::io::text_checksum(text);
  if (static_cast<std::int64_t>(data.validation().size()) <= options.context) {
    heed::fail<heed::ValueError>(
        "train", fmt::format("the text '{}' is too short for a context of {}", data.name, options.context),
        fmt::format("have {} {}s", data.tokens.size(), data.unit),
        fmt::format("at least {}, so that the last tenth holds a window and one more",
                    10 * options.context + 1));
  }
  return data;
}

}  // namespace tiny_lm
