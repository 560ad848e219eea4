#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <heed/core/shape.h>

namespace heed {

/// Where the elements of a tensor lie in its storage: element index (i0, i1, …) is at
/// `offset + Σ i_k · strides[k]`. Pure arithmetic; nothing here touches memory.
struct View {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
  std::int64_t numel = 0;
};

/// A row-major view without gaps, starting at element 0.
View contiguous_view(const Shape& shape);

bool is_contiguous(const View& view);

/// Whether two different indices can lie on one element (an axis longer than 1 with stride 0).
bool has_broadcast_axis(const View& view);

/// Repeats axes of size 1 (and new leading axes) with stride 0 up to `shape`; ShapeError otherwise.
View expand_view(std::string_view op, const View& view, const Shape& shape);

/// `axes` is a permutation of 0 … rank−1 (negative ones count from the end); axis k of the
/// result is axis axes[k].
View permute_view(std::string_view op, const View& view, const Shape& axes);

/// Elements start, start+step, … below stop along one axis, with NumPy's clipping; step may
/// be negative, not 0.
View slice_view(std::string_view op, const View& view, std::int64_t axis, std::optional<std::int64_t> start,
                std::optional<std::int64_t> stop, std::int64_t step);

/// Index `index` along `axis`, which disappears.
View select_view(std::string_view op, const View& view, std::int64_t axis, std::int64_t index);

View unsqueeze_view(std::string_view op, const View& view, std::int64_t axis);

/// Drops an axis of size 1; ShapeError if it is longer.
View squeeze_view(std::string_view op, const View& view, std::int64_t axis);

/// Fills in at most one −1 and checks the element count; returns the full shape.
Shape resolve_reshape(std::string_view op, const Shape& from, const Shape& to);

/// The same elements under another shape, where strides allow it; nothing where a copy is needed.
std::optional<View> reshape_view(const View& view, const Shape& shape);

}  // namespace heed
