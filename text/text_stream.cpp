#include <algorithm>
#include <utility>

#include <heed/core/error.h>
#include <heed/text/text_stream.h>
#include <heed/text/utf8.h>

namespace heed::text {
namespace {

// The number of bytes at the end of the text that may be an unfinished character.
std::size_t unfinished_character(std::string_view text) {
  for (std::size_t tail = 1; tail <= std::min<std::size_t>(3, text.size()); ++tail) {
    const auto lead = static_cast<unsigned char>(text[text.size() - tail]);
    if ((lead & 0xC0) == 0x80) continue;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    return tail < length ? tail : 0;
  }
  return 0;
}

// The length of the longest end of the text that is a beginning of the stop string.
std::size_t partial_match(std::string_view text, std::string_view stop) {
  for (std::size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
    if (stop.starts_with(text.substr(text.size() - length))) return length;
  }
  return 0;
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops)
    : tokenizer_(&tokenizer), stops_(std::move(stops)) {
  for (const std::string& stop : stops_) {
    if (stop.empty()) fail<ValueError>("TextStream", "a stop string is empty");
  }
}

std::string TextStream::push(std::int64_t token) {
  if (stopped_) return {};
  waiting_ += tokenizer_->decode({&token, 1});
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, waiting_.find(stop));
  if (end != std::string::npos) {
    stopped_ = true;
    return std::exchange(waiting_, {}).substr(0, end);
  }
  std::size_t held = unfinished_character(waiting_);
  for (const std::string& stop : stops_) held = std::max(held, partial_match(waiting_, stop));
  std::string certain = waiting_.substr(0, waiting_.size() - held);
  waiting_.erase(0, certain.size());
  return certain;
}

std::string TextStream::finish() { return std::exchange(waiting_, {}); }

}  // namespace heed::text
