#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heed::text {

/// Token ids that are stored elsewhere one after the other, 2, 4 or 8 bytes each. They must
/// outlive the span.
class TokenSpan {
 public:
  TokenSpan() = default;
  TokenSpan(std::span<const std::uint16_t> ids);
  TokenSpan(std::span<const std::uint32_t> ids);
  TokenSpan(std::span<const std::int64_t> ids);

  std::int64_t size() const { return size_; }
  /// Requires 0 <= i < size().
  std::int64_t operator[](std::int64_t i) const;
  /// Ids first … first+count−1, which must lie within the span.
  TokenSpan subspan(std::int64_t first, std::int64_t count) const;
  /// Writes all ids to `out` and returns its end.
  std::int64_t* copy(std::int64_t* out) const;

 private:
  TokenSpan(const void* data, std::size_t width, std::size_t size);

  const std::byte* data_ = nullptr;
  std::size_t width_ = 8;
  std::int64_t size_ = 0;
};

/// Several spans read as one text, one after the other. Nothing is copied.
class TokenText {
 public:
  TokenText(std::span<const std::int64_t> ids);
  TokenText(const std::vector<std::int64_t>& ids);
  TokenText(TokenSpan tokens);
  explicit TokenText(std::vector<TokenSpan> pieces);

  const std::vector<TokenSpan>& pieces() const { return pieces_; }
  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  /// Writes ids first … first+count−1, which must lie within the text, to `out` and returns the end
  /// of the output.
  std::int64_t* copy(std::int64_t first, std::int64_t count, std::int64_t* out) const;

 private:
  std::vector<TokenSpan> pieces_;
  std::vector<std::int64_t> ends_;  // of each piece, in tokens from the start of the text
};

/// A text cut into documents that end at `ends`, which must ascend to the size of the text. Empty
/// documents are kept.
std::vector<TokenSpan> cut_documents(TokenSpan tokens, std::span<const std::int64_t> ends);

}  // namespace heed::text
