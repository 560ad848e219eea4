#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/text/token_text.h>

namespace heed::text {

/// The regular files that are meant: a file as it is given, a folder as all files under it, ordered by their path's bytes.
/// Hidden ones, and folders behind links, are left out of a folder.
/// Throws    IoError naming a path that does not exist, a folder that holds no file or cannot be read.
std::vector<std::string> list_files(std::span<const std::string> paths);

enum class TextKind { utf8, bytes };

/// Files as one text, each a document.
struct TextCorpus {
  std::string text;
  std::vector<std::size_t> ends;  // of each document, in bytes

  std::string_view document(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(text).substr(begin, ends[i] - begin);
  }
};

/// Reads files in their order.
/// Throws    IoError naming the file: it cannot be read, or for TextKind::utf8 is not UTF-8, with
/// the byte.
TextCorpus read_corpus(std::span<const std::string> files, TextKind kind);

/// Documents to learn from and documents to validate with, in the order of the text.
struct TokenSplit {
  std::vector<TokenSpan> training;
  std::vector<TokenSpan> validation;
};

/// The last tenth of the tokens validates; the document it begins in is cut.
TokenSplit split_tail(const std::vector<TokenSpan>& documents);
/// Whole documents validate: in an order drawn from the seed, the first that have a tenth of the tokens together. The
/// longest document always trains.
/// Throws    ValueError for fewer than 2 documents with tokens.
TokenSplit split_documents(const std::vector<TokenSpan>& documents, std::uint64_t seed);

}  // namespace heed::text
