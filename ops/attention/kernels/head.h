#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heed::kernels {

/// How many queries, and how many keys, a tile has. Tiles start at multiples of it, so that bits depend on
/// nothing but the shape.
inline constexpr std::int64_t attention_block = 64;

/// The elements from one row of a tile to the next: 64 queries, and a line of the cache more. With a power of
/// two, rows that lie below each other would share a few sets of the cache and push each other out.
template <class T>
inline constexpr std::int64_t attention_stride = attention_block + static_cast<std::int64_t>(64 / sizeof(T));

/// Row i of a matrix starts at data + i · stride, and its elements are contiguous. Null data: absent.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;
  T* operator[](std::int64_t i) const { return data + i * stride; }
};

/// Rows that the caller will read or write after this call. They are fetched meanwhile.
template <class T>
struct AttentionNext {
  struct Group {
    Rows<const T> rows;
    std::int64_t count = 0, size = 0;
  };
  std::array<Group, 8> groups;
  std::size_t count = 0;
  void add(Rows<const T> rows, std::int64_t n, std::int64_t size) { groups[count++] = {rows, n, size}; }
};

/// The operands of attention for one head of one sample. A NaN or infinity in q, k or v may make results
/// nonfinite that it should not reach. A finite result is always right; the caller computes the others again.
template <class T>
struct AttentionHead {
  Rows<const T> q, k, v;  // [queries, size], [keys, size], [keys, value_size]
  std::int64_t queries = 0, keys = 0, size = 0, value_size = 0;
  T scale = 1;
  T softcap = 0;                        // 0: none
  const std::int64_t* begin = nullptr;  // keys begin[i] <= j < end[i] are open to query i …
  const std::int64_t* end = nullptr;
  Rows<const bool> open;  // … where this, if given, is true …
  Rows<const T> bias;     // … and this, if given, is not −inf; it is added to the logits of open pairs
  T slope = 0;            // ALiBi: −slope · |first_position + i − j| is added
  std::int64_t first_position = 0;
  Rows<const bool> keep;  // dropout: weights that are not kept count in the denominator only
  T keep_scale = 1;       // 1 / (1 − p)
  bool has_sink = false;
  T sink = 0;  // one more logit in the denominator

  /// In double, where the sum cannot overflow; exact below 2^53.
  double position(std::int64_t query) const {
    return static_cast<double>(first_position) + static_cast<double>(query);
  }
};

/// What forward writes for each query. Backward reads the first two.
template <class T>
struct AttentionRows {
  T* max = nullptr;            // largest of the open logits and the sink; −inf on dead rows
  T* sum = nullptr;            // Σ exp(logit − max), sink included; 0 on dead rows
  T* moment = nullptr;         // Σ exp(logit − max) · (logit − max), sink included; optional
  T* largest_logit = nullptr;  // of the open keys, without the sink; optional
};

}  // namespace heed::kernels
