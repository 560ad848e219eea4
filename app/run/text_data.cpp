#include <fmt/format.h>

#include <heed/app/run/text_data.h>
#include <heed/core/error.h>
#include <heed/io/read_file.h>
#include <heed/text/bpe_tokenizer.h>
#include <heed/text/corpus.h>
#include <heed/text/induction_source.h>

namespace heed::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t tales_length = 1'000'000;
constexpr std::int64_t induction_documents =
    20'000;                               // a multiple of ten, so that the tail begins with a document
constexpr std::uint64_t source_seed = 1;  // one text for every run, whatever its own seed
constexpr std::uint64_t split_seed = 1;   // and one split, so that runs can be compared

// A folder may end in a slash.
std::string name_of(const fs::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

text::TextCorpus read_files(const TrainOptions& options, std::string& name) {
  const std::vector<std::string> files = text::list_files(options.data);
  name = options.data.size() == 1 ? name_of(options.data[0]) : fmt::format("{} files", files.size());
  text::TextCorpus corpus = text::read_corpus(files, text_kind(options.tokenizer));
  if (corpus.text.empty()) {
    heed::fail<heed::ValueError>("train", fmt::format("the text '{}' is empty", options.data[0]));
  }
  return corpus;
}

std::string checksum_of(const text::TextCorpus& corpus) {
  heed::io::Checksum checksum;
  checksum.add(corpus.text);
  for (const std::size_t end : corpus.ends) checksum.add(fmt::format(" {}", end));
  return fmt::format("{:016x}", checksum.value());
}

// What the source of the options tells, and its floor.
text::TextCorpus tell(const TrainOptions& options, TextData& data) {
  const auto context = static_cast<std::size_t>(options.context);
  text::TextCorpus corpus;
  if (options.source == "tales") {
    const text::TextSource source = text::tale_source();
    corpus.text = source.generate(tales_length, source_seed);
    corpus.ends = {corpus.text.size()};
    data.name = "built-in tales";
    data.floor = source.entropy_floor(context);
    return corpus;
  }
  const text::InductionSource source;
  const auto length = context + 1;  // a window and its last target
  corpus.text = source.generate(induction_documents, static_cast<std::int64_t>(length), source_seed);
  for (std::size_t end = length; end <= corpus.text.size(); end += length) corpus.ends.push_back(end);
  data.name = "induction source";
  data.floor = source.entropy_floor(context);
  data.every = static_cast<std::int64_t>(length);
  return corpus;
}

std::vector<text::TokenSpan> load_files(const TrainOptions& options, TextData& data) {
  const text::TextCorpus corpus = options.data.empty() ? tell(options, data) : read_files(options, data.name);
  data.tokenizer =
      make_tokenizer(options.tokenizer, options.vocab_size, corpus.text, data.unit, options.quiet);
  if (data.unit == "token") {  // floor and documents are known for each character, not for pieces
    data.floor.reset();
    data.every = 0;
  }
  if (options.pack && data.every > 0) data.floor.reset();  // rows do not begin with documents
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < corpus.ends.size(); ++i) {
    const std::vector<std::int64_t> ids = data.tokenizer->encode(corpus.document(i));
    data.ids.insert(data.ids.end(), ids.begin(), ids.end());
    ends.push_back(static_cast<std::int64_t>(data.ids.size()));
  }
  data.checksum = checksum_of(corpus);
  data.tokens = std::span<const std::int64_t>(data.ids);
  return text::cut_documents(data.tokens, ends);
}

std::vector<text::TokenSpan> load_token_file(const TrainOptions& options, TextData& data) {
  if (options.tokenizer == "char" || options.tokenizer == "bpe") {
    heed::fail<heed::ValueError>("train", "a token file is not text to make a tokenizer from",
                                 fmt::format("--tokenizer {}", options.tokenizer),
                                 "the tokenizer.json it was written with");
  }
  data.name = name_of(options.data[0]);
  data.file.emplace(options.data[0]);
  data.tokenizer = make_tokenizer(options.tokenizer, options.vocab_size, "", data.unit);
  data.file->check_tokenizer(*data.tokenizer);
  data.checksum = data.file->checksum();
  data.tokens = data.file->tokens();
  return text::cut_documents(data.tokens, data.file->document_ends());
}

void check_length(const TrainOptions& options, const TextData& data) {
  const std::int64_t have = text::TokenText(data.split.validation).size();
  if (have > options.context) return;
  const std::string problem =
      fmt::format("the text '{}' is too short for a context of {}", data.name, options.context);
  if (options.split == "tail") {
    heed::fail<heed::ValueError>(
        "train", problem, fmt::format("have {} {}s", data.tokens.size(), data.unit),
        fmt::format("at least {}, so that the last tenth holds a window and one more",
                    10 * options.context + 1));
  }
  heed::fail<heed::ValueError>("train", problem, fmt::format("{} {}s to validate with", have, data.unit),
                               fmt::format("at least {}", options.context + 1));
}

}  // namespace

text::TextKind text_kind(const std::string& tokenizer) {
  return tokenizer == "char" ? text::TextKind::utf8 : text::TextKind::bytes;
}

std::unique_ptr<text::Tokenizer> make_tokenizer(const std::string& name, std::int64_t vocab_size,
                                                const std::string& text, std::string& unit, bool quiet) {
  unit = "character";
  if (name == "char") return std::make_unique<text::CharTokenizer>(text);
  unit = "byte";
  if (name == "byte") return std::make_unique<text::ByteTokenizer>();
  unit = "token";
  if (name != "bpe") return text::load_tokenizer(name);
  std::int64_t shown = 0;
  const auto show = [&](std::int64_t tokens, std::int64_t most) {
    if (quiet || tokens - shown < most / 10) return;
    shown = tokens;
    fmt::print(stderr, "bpe       {} of {} tokens\n", tokens, most);
  };
  return std::make_unique<text::BpeTokenizer>(
      text::train_bpe(text, {.vocab_size = vocab_size, .on_progress = show}));
}

TextData load_text(const TrainOptions& options) {
  TextData data;
  const bool from_token_file = options.data.size() == 1 && text::is_token_file(options.data[0]);
  const std::vector<text::TokenSpan> documents =
      from_token_file ? load_token_file(options, data) : load_files(options, data);
  data.split =
      options.split == "tail" ? text::split_tail(documents) : text::split_documents(documents, split_seed);
  check_length(options, data);
  return data;
}

}  // namespace heed::app
