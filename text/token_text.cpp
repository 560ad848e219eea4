#include <algorithm>
#include <cstring>
#include <utility>

#include <heed/text/token_text.h>

namespace heed::text {
namespace {

template <class T>
T id_at(const std::byte* data, std::int64_t i) {
  T id;
  std::memcpy(&id, data + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return id;
}

}  // namespace

TokenSpan::TokenSpan(const void* data, std::size_t width, std::size_t size)
    : data_(static_cast<const std::byte*>(data)), width_(width), size_(static_cast<std::int64_t>(size)) {}
TokenSpan::TokenSpan(std::span<const std::uint16_t> ids) : TokenSpan(ids.data(), 2, ids.size()) {}
TokenSpan::TokenSpan(std::span<const std::uint32_t> ids) : TokenSpan(ids.data(), 4, ids.size()) {}
TokenSpan::TokenSpan(std::span<const std::int64_t> ids) : TokenSpan(ids.data(), 8, ids.size()) {}

std::int64_t TokenSpan::operator[](std::int64_t i) const {
  if (width_ == 2) return id_at<std::uint16_t>(data_, i);
  if (width_ == 4) return id_at<std::uint32_t>(data_, i);
  return id_at<std::int64_t>(data_, i);
}

TokenSpan TokenSpan::subspan(std::int64_t first, std::int64_t count) const {
  TokenSpan part = *this;
  if (first > 0) part.data_ += static_cast<std::size_t>(first) * width_;
  part.size_ = count;
  return part;
}

std::int64_t* TokenSpan::copy(std::int64_t* out) const {
  for (std::int64_t i = 0; i < size_; ++i) *out++ = (*this)[i];
  return out;
}

TokenText::TokenText(std::span<const std::int64_t> ids) : TokenText(TokenSpan(ids)) {}
TokenText::TokenText(const std::vector<std::int64_t>& ids) : TokenText(TokenSpan(ids)) {}
TokenText::TokenText(TokenSpan tokens) : TokenText(std::vector<TokenSpan>{tokens}) {}

TokenText::TokenText(std::vector<TokenSpan> pieces) : pieces_(std::move(pieces)) {
  std::int64_t end = 0;
  for (const TokenSpan& piece : pieces_) ends_.push_back(end += piece.size());
}

std::int64_t* TokenText::copy(std::int64_t first, std::int64_t count, std::int64_t* out) const {
  auto end = std::upper_bound(ends_.begin(), ends_.end(), first);
  while (count > 0) {
    const TokenSpan& piece = pieces_[static_cast<std::size_t>(end - ends_.begin())];
    const std::int64_t taken = std::min(count, *end - first);
    out = piece.subspan(first - (*end - piece.size()), taken).copy(out);
    first += taken;
    count -= taken;
    ++end;
  }
  return out;
}

std::vector<TokenSpan> cut_documents(TokenSpan tokens, std::span<const std::int64_t> ends) {
  std::vector<TokenSpan> documents;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    documents.push_back(tokens.subspan(begin, end - begin));
    begin = end;
  }
  return documents;
}

}  // namespace heed::text
