#pragma once

#include "call.h"

namespace heed::conformance {

/// x seen as [slices, slice_size], and which slice each tuple of indices names.
struct FlatPositions {
  Tensor positions;  // i64 [number of tuples]
  std::int64_t slices = 1;
  std::int64_t slice_size = 1;
  int axes = 0;  // how many axes of x a position stands for
};

/// `indices` [batch.., .., n]: each tuple of n indexes the axes of x that
/// follow the first `batch` ones, which both share. Negative indices count from
/// the end. Throws IndexError for one outside its axis.
FlatPositions flat_positions(const Tensor& x, const Tensor& indices, int batch);

}  // namespace heed::conformance
