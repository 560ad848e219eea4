#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/text/token_file.h>
#include <heed/text/token_shard.h>
#include <heed/text/token_width.h>

namespace heed::text {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& problem,
                         const std::string& expected = {}) {
  fail<IoError>("read tokens", fmt::format("'{}' {}", path, problem), {}, expected);
}

template <class T>
std::span<const T> ids_of(const std::string& path, std::span<const std::byte> bytes,
                          std::int64_t vocab_size) {
  if (bytes.size() % sizeof(T) != 0) {
    refuse(path, fmt::format("has {} bytes, which are no whole tokens of {}", bytes.size(), sizeof(T)));
  }
  const std::span ids(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  const auto outside = std::find_if(ids.begin(), ids.end(), [&](T id) { return id >= vocab_size; });
  if (outside == ids.end()) return ids;
  refuse(path,
         fmt::format("has token {} at position {}, read as numbers of {} bytes", *outside,
                     outside - ids.begin(), sizeof(T)),
         fmt::format("ids 0 to {} of the tokenizer that it was written with", vocab_size - 1));
}

// The upper halves of small numbers are zeros, which are ids too.
bool seems_wider(std::span<const std::uint16_t> ids) {
  for (std::size_t i = 1; i < ids.size(); i += 2) {
    if (ids[i] != 0) return false;
  }
  return ids.size() % 2 == 0;
}

}  // namespace

TokenShard::TokenShard(const std::string& path, std::int64_t vocab_size, std::int64_t width) : map_(path) {
  constexpr std::string_view op = "TokenShard";
  check_value(vocab_size >= 1 && vocab_size <= most_ids, op, "vocab_size", vocab_size, "1 to 2^32");
  check_value(width == 0 || width == 2 || width == 4, op, "width", width, "2, 4, or 0 for the rule");
  if (map_.bytes().empty()) refuse(path, "holds no token");
  if (width == 4 || (width == 0 && vocab_size > most_narrow_ids)) {
    tokens_ = ids_of<std::uint32_t>(path, map_.bytes(), vocab_size);
    return;
  }
  const auto ids = ids_of<std::uint16_t>(path, map_.bytes(), vocab_size);
  if (width == 0 && seems_wider(ids)) {
    refuse(path, "has 0 in every second place, as tokens of 4 bytes would", "the width to be given: 2 or 4");
  }
  tokens_ = ids;
}

bool is_token_shard(const std::string& path) {
  std::error_code code;
  return path.ends_with(".bin") && fs::is_regular_file(path, code) && !is_token_file(path);
}

}  // namespace heed::text
