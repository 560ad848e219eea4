#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <heed/app/output.h>
#include <heed/app/run/text_data.h>
#include <heed/app/spelling.h>
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

std::string name_for(const TrainOptions& options, const std::vector<std::string>& files) {
  return options.data.size() == 1 ? name_of(options.data[0]) : fmt::format("{} files", files.size());
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

std::vector<text::TokenSpan> load_files(const TrainOptions& options, const std::vector<std::string>& files,
                                        TextData& data) {
  text::TextCorpus corpus;
  if (options.data.empty()) {
    corpus = tell(options, data);
  } else {
    data.name = name_for(options, files);
    corpus = read_text("train", files, options.tokenizer, options.quiet);
  }
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
  return text::cut_documents(std::span<const std::int64_t>(data.ids), ends);
}

// The tokenizer of tokens that are there already.
void load_tokenizer(const TrainOptions& options, TextData& data) {
  if (options.tokenizer == "char" || options.tokenizer == "bpe") {
    heed::fail<heed::ValueError>("train", "a token file is not text to make a tokenizer from",
                                 fmt::format("--tokenizer {}", options.tokenizer),
                                 "the tokenizer.json it was written with");
  }
  data.tokenizer = make_tokenizer(options.tokenizer, options.vocab_size, "", data.unit);
}

std::vector<text::TokenSpan> load_token_file(const TrainOptions& options, const std::string& file,
                                             TextData& data) {
  load_tokenizer(options, data);
  data.name = name_of(options.data[0]);
  data.file.emplace(file);
  data.file->check_tokenizer(*data.tokenizer);
  data.checksum = data.file->checksum();
  return text::cut_documents(data.file->tokens(), data.file->document_ends());
}

std::vector<text::TokenSpan> load_shards(const TrainOptions& options, const std::vector<std::string>& files,
                                         TextData& data) {
  load_tokenizer(options, data);
  data.name = name_for(options, files);
  std::vector<text::TokenSpan> documents;
  std::string checksums = fmt::format("{}", options.token_bytes);
  for (const std::string& file : files) {
    data.shards.emplace_back(file, data.tokenizer->vocab_size(), options.token_bytes);
    documents.push_back(data.shards.back().tokens());
    checksums += fmt::format(" {}", heed::io::file_checksum(file));
  }
  data.checksum = heed::io::text_checksum(checksums);
  return documents;
}

// Documents of the one kind of source or file that the options name.
std::vector<text::TokenSpan> load_documents(const TrainOptions& options, TextData& data) {
  const std::vector<std::string> files = text::list_files(options.data);
  const auto shards = std::count_if(files.begin(), files.end(), text::is_token_shard);
  if (shards > 0 && shards == std::ssize(files)) return load_shards(options, files, data);
  if (options.token_bytes != 0) {
    heed::fail<heed::ValueError>("train", "--token-bytes without files of tokens", {},
                                 "--data of .bin files without a header, or no --token-bytes");
  }
  if (files.size() == 1 && text::is_token_file(files[0])) return load_token_file(options, files[0], data);
  for (const std::string& file : files) {
    if (!text::is_token_shard(file) && !text::is_token_file(file)) continue;
    heed::fail<heed::ValueError>(
        "train", fmt::format("'{}' holds tokens and cannot be joined with other files", file), {},
        "texts alone, one file of tokenize, or .bin files without a header alone");
  }
  return load_files(options, files, data);
}

// Of a file. Most names that are none are misspelt kinds.
std::unique_ptr<text::Tokenizer> open_tokenizer(const std::string& name) {
  if (fs::exists(name)) return text::load_tokenizer(name);
  const std::string kinds[] = {"char", "byte", "bpe"};
  const std::string nearest = nearest_name(name, kinds);
  heed::fail<heed::ValueError>("--tokenizer",
                               fmt::format("'{}' is no kind of tokenizer, and there is no such file", name),
                               nearest.empty() ? "" : fmt::format("did you mean {}?", nearest),
                               "char, byte, bpe, or the path of a tokenizer.json");
}

void check_length(const TrainOptions& options, const TextData& data) {
  const std::int64_t have = text::TokenText(data.split.validation).size();
  if (have > options.context) return;
  const std::string problem =
      fmt::format("the text '{}' is too short for a context of {}", data.name, options.context);
  if (options.split == "tail") {
    heed::fail<heed::ValueError>(
        "train", problem, fmt::format("have {} {}s", data.token_count, data.unit),
        fmt::format("at least {}, so that the last tenth holds a window and one more",
                    10 * options.context + 1));
  }
  heed::fail<heed::ValueError>("train", problem, fmt::format("{} {}s to validate with", have, data.unit),
                               fmt::format("at least {}", options.context + 1));
}

}  // namespace

text::TextCorpus read_text(const char* command, const std::vector<std::string>& files,
                           const std::string& tokenizer, bool quiet) {
  const auto kind = tokenizer == "char" ? text::TextKind::utf8 : text::TextKind::bytes;
  text::TextCorpus corpus = text::read_corpus(files, kind);
  if (corpus.text.empty()) {
    heed::fail<heed::ValueError>(command, fmt::format("the text '{}' is empty", files.at(0)));
  }
  if (!quiet) tell_byte_order_marks(corpus.marked);
  return corpus;
}

void tell_byte_order_marks(const std::vector<std::string>& files) {
  if (files.empty()) return;
  const std::size_t others = files.size() - 1;
  warn("heed: '{}'{} with a byte-order mark, which is left out\n", files[0],
       others == 0 ? " begins" : fmt::format(" and {} more begin", others));
}

std::unique_ptr<text::Tokenizer> make_tokenizer(const std::string& name, std::int64_t vocab_size,
                                                const std::string& text, std::string& unit, bool quiet) {
  unit = "character";
  if (name == "char") return std::make_unique<text::CharTokenizer>(text);
  unit = "byte";
  if (name == "byte") return std::make_unique<text::ByteTokenizer>();
  unit = "token";
  if (name != "bpe") return open_tokenizer(name);
  std::int64_t shown = 0;
  const auto show = [&](std::int64_t tokens, std::int64_t most) {
    if (quiet || tokens - shown < most / 10) return;
    shown = tokens;
    warn("bpe       {} of {} tokens\n", tokens, most);
  };
  return std::make_unique<text::BpeTokenizer>(
      text::train_bpe(text, {.vocab_size = vocab_size, .on_progress = show}));
}

TextData load_text(const TrainOptions& options) {
  TextData data;
  const std::vector<text::TokenSpan> documents = load_documents(options, data);
  for (const text::TokenSpan& document : documents) {
    if (data.token_count == 0 && document.size() > 0) data.first_token = document[0];
    data.token_count += document.size();
  }
  data.split =
      options.split == "tail" ? text::split_tail(documents) : text::split_documents(documents, split_seed);
  check_length(options, data);
  return data;
}

}  // namespace heed::app
