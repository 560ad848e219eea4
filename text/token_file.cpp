#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/text/token_file.h>
#include <heed/text/token_width.h>

namespace heed::text {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens are used as they lie in the file");

constexpr std::string_view magic = "HEEDTOK\n";
constexpr std::uint32_t format_version = 1;
constexpr std::size_t checksum_characters = 16;
constexpr std::size_t header_bytes = 8 + 4 + 4 + 8 + checksum_characters;
constexpr std::size_t footer_bytes = 3 * 8;

struct Problem {
  std::string text;
};

template <class T>
T number_at(std::string_view bytes, std::size_t place) {
  T value;
  std::memcpy(&value, bytes.data() + place, sizeof(T));
  return value;
}

std::size_t width_for(std::int64_t vocab_size) { return vocab_size <= most_narrow_ids ? 2 : 4; }

constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

struct Sizes {
  std::uint64_t width, vocab_size, tokens, documents;
};

// The sizes that the file claims, after they were found to agree with the size of the file.
Sizes checked_sizes(std::string_view file) {
  if (!file.starts_with(magic)) throw Problem{"is no token file: it does not begin as one"};
  if (file.size() < header_bytes + footer_bytes)
    throw Problem{fmt::format("was cut: it has only {} bytes", file.size())};
  const auto version = number_at<std::uint32_t>(file, 8);
  if (version != format_version) throw Problem{fmt::format("is of version {}; version 1 is known", version)};
  Sizes sizes{};
  sizes.width = number_at<std::uint32_t>(file, 12);
  sizes.vocab_size = number_at<std::uint64_t>(file, 16);
  sizes.tokens = number_at<std::uint64_t>(file, file.size() - footer_bytes);
  sizes.documents = number_at<std::uint64_t>(file, file.size() - footer_bytes + 8);
  if (sizes.vocab_size < 1 || sizes.vocab_size > static_cast<std::uint64_t>(most_ids)) {
    throw Problem{fmt::format("claims a vocabulary of {}", sizes.vocab_size)};
  }
  if (sizes.width != width_for(static_cast<std::int64_t>(sizes.vocab_size))) {
    throw Problem{
        fmt::format("claims {} bytes a token for a vocabulary of {}", sizes.width, sizes.vocab_size)};
  }
  const std::uint64_t body = file.size() - header_bytes - footer_bytes;
  // Bounded first, so that the products below do not overflow.
  if (sizes.tokens > body || sizes.documents > body ||
      padded(sizes.tokens * sizes.width) + sizes.documents * 8 != body) {
    throw Problem{fmt::format("was cut or is damaged: {} bytes do not hold {} tokens in {} documents",
                              file.size(), sizes.tokens, sizes.documents)};
  }
  return sizes;
}

template <class T>
TokenSpan checked_ids(std::string_view file, const Sizes& sizes) {
  const std::span ids(reinterpret_cast<const T*>(file.data() + header_bytes),
                      static_cast<std::size_t>(sizes.tokens));
  const auto outside = std::find_if(ids.begin(), ids.end(), [&](T id) { return id >= sizes.vocab_size; });
  if (outside != ids.end()) {
    throw Problem{fmt::format("has token {} at position {}, outside its vocabulary of {}", *outside,
                              outside - ids.begin(), sizes.vocab_size)};
  }
  return ids;
}

std::span<const std::int64_t> checked_ends(std::string_view file, const Sizes& sizes) {
  const std::size_t place = header_bytes + static_cast<std::size_t>(padded(sizes.tokens * sizes.width));
  const std::span ends(reinterpret_cast<const std::int64_t*>(file.data() + place),
                       static_cast<std::size_t>(sizes.documents));
  const auto last = static_cast<std::int64_t>(sizes.tokens);
  const bool rise = std::is_sorted(ends.begin(), ends.end()) && (ends.empty() || ends.front() >= 0);
  if (!rise || (ends.empty() ? last != 0 : ends.back() != last)) {
    throw Problem{"has documents that do not end where its tokens do"};
  }
  return ends;
}

}  // namespace

TokenFileWriter::TokenFileWriter(const std::string& path, const Tokenizer& tokenizer)
    : file_(path), vocab_size_(tokenizer.vocab_size()), width_(width_for(vocab_size_)) {
  if (vocab_size_ > most_ids) {
    fail<ValueError>("write tokens", "vocabulary too large", std::to_string(vocab_size_), "at most 2^32");
  }
  write(magic);
  write_number(format_version, 4);
  write_number(width_, 4);
  write_number(static_cast<std::uint64_t>(vocab_size_));
  write(io::text_checksum(tokenizer.to_json()));
}

void TokenFileWriter::write(std::string_view bytes) {
  checksum_.add(bytes);
  file_.write(bytes);
}

void TokenFileWriter::write_number(std::uint64_t value, std::size_t width) {
  write({reinterpret_cast<const char*>(&value), width});  // the low bytes come first
}

void TokenFileWriter::add_document(std::span<const std::int64_t> ids) {
  check_token_ids(ids, vocab_size_);
  std::string bytes(ids.size() * width_, '\0');
  for (std::size_t i = 0; i < ids.size(); ++i) std::memcpy(bytes.data() + i * width_, &ids[i], width_);
  write(bytes);
  tokens_ += static_cast<std::int64_t>(ids.size());
  ends_.push_back(tokens_);
}

void TokenFileWriter::commit() {
  const std::uint64_t bytes = static_cast<std::uint64_t>(tokens_) * width_;
  write(std::string(padded(bytes) - bytes, '\0'));
  for (const std::int64_t end : ends_) write_number(static_cast<std::uint64_t>(end));
  write_number(static_cast<std::uint64_t>(tokens_));
  write_number(ends_.size());
  write_number(checksum_.value());
  file_.commit();
}

TokenFile::TokenFile(const std::string& path) : map_(path), path_(path) {
  const std::string_view file(reinterpret_cast<const char*>(map_.bytes().data()), map_.bytes().size());
  try {
    const Sizes sizes = checked_sizes(file);
    io::Checksum checksum;
    checksum.add(file.substr(0, file.size() - 8));
    if (checksum.value() != number_at<std::uint64_t>(file, file.size() - 8)) {
      throw Problem{"is damaged: its checksum is not that of its content"};
    }
    vocab_size_ = static_cast<std::int64_t>(sizes.vocab_size);
    tokens_ =
        sizes.width == 2 ? checked_ids<std::uint16_t>(file, sizes) : checked_ids<std::uint32_t>(file, sizes);
    ends_ = checked_ends(file, sizes);
    tokenizer_checksum_ = file.substr(header_bytes - checksum_characters, checksum_characters);
    checksum_ = fmt::format("{:016x}", checksum.value());
  } catch (const Problem& problem) {
    fail<IoError>("read tokens", fmt::format("'{}' {}", path, problem.text));
  }
}

void TokenFile::check_tokenizer(const Tokenizer& tokenizer) const {
  const std::string given = io::text_checksum(tokenizer.to_json());
  if (given == tokenizer_checksum_) return;
  fail<ValueError>("read tokens", fmt::format("'{}' was written with another tokenizer", path_),
                   fmt::format("checksum {}, {} ids", given, tokenizer.vocab_size()),
                   fmt::format("checksum {}, {} ids", tokenizer_checksum_, vocab_size_));
}

bool is_token_file(const std::string& path) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) return false;
  std::string head(magic.size(), '\0');
  return std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size())) &&
         head == magic;
}

}  // namespace heed::text
