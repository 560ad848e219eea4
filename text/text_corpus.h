#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/text/token_text.h>

namespace heed::text {

/// The files that paths stand for: a file stands for itself, a folder for all regular files in it and its
/// subfolders, ordered by the bytes of their paths. Hidden files and folders, and folders behind symbolic
/// links, are left out.
/// Throws    IoError naming the path: it does not exist, or is a folder that holds no file or
///           cannot be read.
std::vector<std::string> list_files(std::span<const std::string> paths);

enum class TextKind { utf8, bytes };

/// Several files as one text, in which each file is a document.
struct TextCorpus {
  std::string text;
  std::vector<std::size_t> ends;         // of each document, in bytes
  std::vector<std::string> marked = {};  // files that began with a byte-order mark, which is left out

  std::string_view document(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(text).substr(begin, ends[i] - begin);
  }
};

/// Takes a byte-order mark, U+FEFF in UTF-8, from the start of a file's text, where it says how the file is
/// written and is no part of the text; anywhere else it is a character. Returns whether there was one.
bool take_byte_order_mark(std::string& text);

/// Reads files in the given order, each without the byte-order mark it may begin with.
/// Throws    IoError naming the file: it cannot be read, or, for TextKind::utf8, is not UTF-8
///           (naming the byte).
TextCorpus read_corpus(std::span<const std::string> files, TextKind kind);

/// Documents to train on and documents to validate on, in the order of the text.
struct TokenSplit {
  std::vector<TokenSpan> training;
  std::vector<TokenSpan> validation;
};

/// The last tenth of the tokens is for validation; the document in which it begins is cut in two.
TokenSplit split_tail(const std::vector<TokenSpan>& documents);
/// Whole documents are for validation: in an order drawn from the seed, as many as have a tenth of the
/// tokens together. The longest document is always for training.
/// Throws    ValueError for fewer than 2 documents with tokens.
TokenSplit split_documents(const std::vector<TokenSpan>& documents, std::uint64_t seed);

}  // namespace heed::text
