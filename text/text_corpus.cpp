#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/core/random.h>
#include <heed/io/read_file.h>
#include <heed/text/text_corpus.h>
#include <heed/text/utf8.h>

namespace heed::text {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

void append_folder(const std::string& folder, std::vector<std::string>& files) {
  std::vector<std::string> found;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator();
       ++entry) {
    std::error_code code;
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(code)) {
      found.push_back(entry->path());
    }
  }
  if (found.empty()) fail<IoError>("read", fmt::format("'{}' holds no file", folder));
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
}

void check_utf8(const std::string& file, std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t length = utf8_length(text, offset);
    if (length == 0) {
      fail<IoError>(
          "read", fmt::format("'{}' is not UTF-8", file),
          fmt::format("byte 0x{:02X} at offset {}", static_cast<unsigned char>(text[offset]), offset));
    }
    offset += length;
  }
}

std::int64_t total_size(const std::vector<TokenSpan>& documents) {
  std::int64_t total = 0;
  for (const TokenSpan& document : documents) total += document.size();
  return total;
}

// How many of n tokens are for training: all but a tenth, computed without overflow.
std::int64_t training_share(std::int64_t n) { return n / 10 * 9 + n % 10 * 9 / 10; }

}  // namespace

std::vector<std::string> list_files(std::span<const std::string> paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    try {
      if (!fs::exists(path)) fail<IoError>("read", fmt::format("'{}' does not exist", path));
      if (fs::is_directory(path)) {
        append_folder(path, files);
      } else {
        files.push_back(path);
      }
    } catch (const fs::filesystem_error& error) {
      fail<IoError>("read", fmt::format("'{}': {}", path, error.code().message()));
    }
  }
  return files;
}

bool take_byte_order_mark(std::string& text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  const bool found = text.starts_with(mark);
  if (found) text.erase(0, mark.size());
  return found;
}

TextCorpus read_corpus(std::span<const std::string> files, TextKind kind) {
  TextCorpus corpus;
  for (const std::string& file : files) {
    std::string text = io::read_file(file);
    if (kind == TextKind::utf8) check_utf8(file, text);
    if (take_byte_order_mark(text)) corpus.marked.push_back(file);
    corpus.text += text;
    corpus.ends.push_back(corpus.text.size());
  }
  return corpus;
}

TokenSplit split_tail(const std::vector<TokenSpan>& documents) {
  TokenSplit split;
  std::int64_t left = training_share(total_size(documents));
  for (const TokenSpan& document : documents) {
    const std::int64_t taken = std::min(left, document.size());
    if (taken > 0) split.training.push_back(document.subspan(0, taken));
    if (taken < document.size()) split.validation.push_back(document.subspan(taken, document.size() - taken));
    left -= taken;
  }
  return split;
}

TokenSplit split_documents(const std::vector<TokenSpan>& documents, std::uint64_t seed) {
  const auto filled = std::count_if(documents.begin(), documents.end(),
                                    [](const TokenSpan& document) { return document.size() > 0; });
  if (filled < 2) {
    fail<ValueError>("split_documents", "too few documents with tokens", std::to_string(filled), "2 or more");
  }
  const auto longest =
      std::max_element(documents.begin(), documents.end(),
                       [](const TokenSpan& a, const TokenSpan& b) { return a.size() < b.size(); });
  const std::int64_t total = total_size(documents);
  std::int64_t wanted = total - training_share(total);
  std::vector<bool> validates(documents.size());
  Generator generator(seed);
  const auto order =
      randperm(static_cast<std::int64_t>(documents.size()), generator).to_vector<std::int64_t>();
  for (const std::int64_t i : order) {
    if (wanted <= 0 || i == longest - documents.begin()) continue;
    validates[static_cast<std::size_t>(i)] = true;
    wanted -= documents[static_cast<std::size_t>(i)].size();
  }
  TokenSplit split;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (documents[i].size() == 0) continue;
    (validates[i] ? split.validation : split.training).push_back(documents[i]);
  }
  return split;
}

}  // namespace heed::text
