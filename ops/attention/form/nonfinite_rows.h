#pragma once

#include <cstdint>
#include <vector>

#include <heed/ops/attention/form/heads.h>

namespace heed::detail {

// The block kernels multiply whole tiles, so they would compute 0 · NaN on closed pairs. For them a row that
// holds NaN or an infinity is replaced by zeros. The queries that the row reaches are computed one by one.

/// Rows of q, k, v or a cotangent that hold NaN or an infinity.
struct NonfiniteRows {
  std::vector<char> flags = {};  ///< in row-major order of all axes but the last; empty: no such row
  bool empty() const { return flags.empty(); }
  bool contains(std::int64_t row) const {
    return !flags.empty() && flags[static_cast<std::size_t>(row)] != 0;
  }
};

/// x if all of it is finite; else a copy with zeros in its nonfinite rows. `nonfinite` says which those are.
Tensor with_zeros_in_nonfinite_rows(const Tensor& x, NonfiniteRows& nonfinite);

/// The operands of attention with zeros in their nonfinite rows.
struct FiniteOperands {
  AttentionHeads heads;
  NonfiniteRows q = {}, k = {}, v = {};

  /// One bit for each of the 64 queries from `first`: set if a nonfinite row reaches the query, which is its
  /// own row or that of a key or value open to it.
  template <class T>
  std::uint64_t reached(std::int64_t sample, std::int64_t h, std::int64_t first) const;
};
FiniteOperands with_zeros_in_nonfinite_rows(const AttentionHeads& heads);

}  // namespace heed::detail
