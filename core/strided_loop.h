#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <heed/core/parallel.h>
#include <heed/core/view.h>

namespace heed {

/// Elements a parallel chunk of a cheap elementwise loop handles: large enough to hide the cost
/// of a thread's start.
inline constexpr std::int64_t elementwise_grain = 32768;

/// Walks N tensors of one shape together, row-major. Neighbouring axes that are contiguous in all of them are
/// joined, so a dense walk is one row.
template <int N>
class StridedLoop {
 public:
  using Offsets = std::array<std::int64_t, N>;

  /// All views have the shape of the first.
  explicit StridedLoop(const std::array<const View*, N>& views) {
    numel_ = views[0]->numel;
    for (int t = 0; t < N; ++t) base_[t] = views[static_cast<std::size_t>(t)]->offset;
    const Shape& shape = views[0]->shape;
    for (int k = 0; k < shape.rank() && numel_ > 0; ++k) {
      if (shape[k] == 1) continue;
      bool joins = rank_ > 0;
      for (int t = 0; t < N && joins; ++t) {
        joins = strides_[rank_ - 1][t] == views[static_cast<std::size_t>(t)]->strides[k] * shape[k];
      }
      if (!joins) sizes_[rank_++] = 1;
      sizes_[rank_ - 1] *= shape[k];
      for (int t = 0; t < N; ++t) strides_[rank_ - 1][t] = views[static_cast<std::size_t>(t)]->strides[k];
    }
    if (rank_ == 0) {
      sizes_[0] = 1;
      strides_[0] = {};
      rank_ = 1;
    }
  }

  std::int64_t numel() const { return numel_; }

  /// Calls `row(offsets, strides, count)` for the elements begin … end−1 (row-major numbers), a run of the
  /// last axis at a time: element i of tensor t lies at offsets[t] + i·strides[t].
  template <class Row>
  void run(std::int64_t begin, std::int64_t end, Row&& row) const {
    if (begin >= end || numel_ == 0) return;
    std::array<std::int64_t, Shape::max_rank> index{};
    Offsets at = base_;
    std::int64_t rest = begin;
    for (int k = rank_ - 1; rest > 0; --k) {
      index[k] = rest % sizes_[k];
      rest /= sizes_[k];
      for (int t = 0; t < N; ++t) at[t] += index[k] * strides_[k][t];
    }
    const Offsets& inner = strides_[rank_ - 1];
    while (true) {
      const std::int64_t left = sizes_[rank_ - 1] - index[rank_ - 1];
      const std::int64_t count = left < end - begin ? left : end - begin;
      row(static_cast<const Offsets&>(at), inner, count);
      begin += count;
      if (begin >= end) return;
      for (int t = 0; t < N; ++t) at[t] -= index[rank_ - 1] * inner[t];
      index[rank_ - 1] = 0;
      for (int k = rank_ - 2; k >= 0; --k) {
        for (int t = 0; t < N; ++t) at[t] += strides_[k][t];
        if (++index[k] < sizes_[k]) break;
        for (int t = 0; t < N; ++t) at[t] -= sizes_[k] * strides_[k][t];
        index[k] = 0;
      }
    }
  }

  /// `run` over everything, in parallel chunks.
  template <class Row>
  void run_parallel(Row&& row, std::int64_t grain = elementwise_grain) const {
    parallel_for(numel_, grain, [&](std::int64_t begin, std::int64_t end) { run(begin, end, row); });
  }

 private:
  int rank_ = 0;
  std::int64_t numel_ = 0;
  Offsets base_;
  // Of the joined axes. Entries from `rank_` on are never read; zeroing them would slow small tensors down.
  std::array<std::int64_t, Shape::max_rank> sizes_;
  std::array<Offsets, Shape::max_rank> strides_;
};

}  // namespace heed
