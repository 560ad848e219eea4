#include <algorithm>

#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/core/view.h>

namespace heed {

View contiguous_view(const Shape& shape) {
  return {shape, contiguous_strides(shape), 0, element_count(shape)};
}

bool is_contiguous(const View& view) {
  if (view.numel == 0) return true;
  std::int64_t step = 1;
  for (int i = view.shape.rank() - 1; i >= 0; --i) {
    if (view.shape[i] == 1) continue;
    if (view.strides[i] != step) return false;
    step *= view.shape[i];
  }
  return true;
}

bool has_broadcast_axis(const View& view) {
  if (view.numel == 0) return false;
  for (int i = 0; i < view.shape.rank(); ++i) {
    if (view.shape[i] > 1 && view.strides[i] == 0) return true;
  }
  return false;
}

View expand_view(std::string_view op, const View& view, const Shape& shape) {
  if (!can_expand(view.shape, shape)) {
    fail<ShapeError>(op, "cannot expand",
                     fmt::format("x is {} and the shape is {}", view.shape.str(), shape.str()),
                     "sizes equal or 1, aligned at the last axis");
  }
  View result{shape, Strides::filled(shape.rank(), 0), view.offset, element_count(shape)};
  const int shift = shape.rank() - view.shape.rank();
  for (int i = 0; i < view.shape.rank(); ++i) {
    result.strides[i + shift] = view.shape[i] == shape[i + shift] ? view.strides[i] : 0;
  }
  return result;
}

View permute_view(std::string_view op, const View& view, const Shape& axes) {
  const int rank = view.shape.rank();
  View result = view;
  unsigned seen = 0;
  bool ok = axes.rank() == rank;
  for (int i = 0; ok && i < rank; ++i) {
    const int axis = normalize_axis(op, axes[i], rank);
    ok = (seen & (1u << axis)) == 0;
    seen |= 1u << axis;
    result.shape[i] = view.shape[axis];
    result.strides[i] = view.strides[axis];
  }
  if (!ok) {
    fail<ShapeError>(op, "axes are no permutation",
                     fmt::format("axes are {} and x is {}", axes.str(), view.shape.str()),
                     "each axis of x once");
  }
  return result;
}

View slice_view(std::string_view op, const View& view, std::int64_t axis, std::optional<std::int64_t> start,
                std::optional<std::int64_t> stop, std::int64_t step) {
  const int rank = view.shape.rank();
  const int k = normalize_axis(op, axis, rank);
  if (rank == 0) fail<ShapeError>(op, "x has no axis to slice", "x is []", "one axis or more");
  if (step == 0) fail<ValueError>(op, "step is 0", {}, "a step other than 0");
  const std::int64_t n = view.shape[k];
  const bool forward = step > 0;
  const std::int64_t low = forward ? 0 : -1;
  const std::int64_t high = forward ? n : n - 1;
  const auto clip = [&](std::int64_t i) { return std::clamp(i < 0 ? i + n : i, low, high); };
  const std::int64_t first = start ? clip(*start) : (forward ? low : high);
  const std::int64_t last = stop ? clip(*stop) : (forward ? high : low);
  const std::int64_t span = forward ? last - first : first - last;
  const std::int64_t count = span <= 0 ? 0 : (forward ? span - 1 : 1 - span) / step + 1;
  View result = view;
  result.shape[k] = count;
  result.offset = view.offset + (count == 0 ? 0 : first * view.strides[k]);
  result.strides[k] = count <= 1 ? view.strides[k] : view.strides[k] * step;
  result.numel = element_count(result.shape);
  return result;
}

View select_view(std::string_view op, const View& view, std::int64_t axis, std::int64_t index) {
  const int rank = view.shape.rank();
  const int k = normalize_axis(op, axis, rank);
  const std::int64_t n = rank == 0 ? 0 : view.shape[k];
  if (index < -n || index >= n) {
    fail<IndexError>(op, "index out of range",
                     fmt::format("index is {} on axis {} of {}", index, k, view.shape.str()),
                     fmt::format("{} <= index < {}", -n, n));
  }
  View result = view;
  result.offset += (index < 0 ? index + n : index) * view.strides[k];
  result.shape.erase(k);
  result.strides.erase(k);
  result.numel = element_count(result.shape);
  return result;
}

View unsqueeze_view(std::string_view op, const View& view, std::int64_t axis) {
  const int k = normalize_axis(op, axis, view.shape.rank() + 1);
  View result = view;
  const bool inside = k < view.shape.rank() && view.numel > 0;
  const std::int64_t stride = inside ? view.shape[k] * view.strides[k] : 1;
  result.shape.insert(k, 1);
  result.strides.insert(k, stride);
  return result;
}

View squeeze_view(std::string_view op, const View& view, std::int64_t axis) {
  const int k = normalize_axis(op, axis, view.shape.rank());
  if (view.shape.rank() == 0) return view;
  if (view.shape[k] != 1) {
    fail<ShapeError>(op, "axis is not of size 1", fmt::format("axis {} of {}", k, view.shape.str()),
                     "size 1");
  }
  View result = view;
  result.shape.erase(k);
  result.strides.erase(k);
  return result;
}

Shape resolve_reshape(std::string_view op, const Shape& from, const Shape& to) {
  const std::int64_t have = element_count(from);
  Shape result = to;
  int free_axis = -1;
  bool ok = true;
  for (int i = 0; i < to.rank(); ++i) {
    if (to[i] >= 0) continue;
    ok = ok && to[i] == -1 && free_axis < 0;
    free_axis = i;
  }
  if (ok && free_axis >= 0) {
    result[free_axis] = 1;
    const std::int64_t known = element_count(result);
    ok = known != 0 && have % known == 0;
    result[free_axis] = ok ? have / known : 0;
  }
  if (!ok || element_count(result) != have) {
    fail<ShapeError>(op, "element counts differ",
                     fmt::format("x is {} and the shape is {}", from.str(), to.str()),
                     fmt::format("{} elements, at most one size of -1", have));
  }
  return result;
}

std::optional<View> reshape_view(const View& view, const Shape& shape) {
  View result{shape, contiguous_strides(shape), view.offset, view.numel};
  if (view.numel == 0 || is_contiguous(view)) return result;
  // Walk both shapes from the last axis; each run of old axes that is contiguous in itself maps to a
  // run of new ones.
  int j = shape.rank() - 1;
  for (int i = view.shape.rank() - 1; i >= 0;) {
    if (view.shape[i] == 1) {
      --i;
      continue;
    }
    const std::int64_t step = view.strides[i];
    std::int64_t run = view.shape[i];
    for (--i; i >= 0 && (view.shape[i] == 1 || view.strides[i] == step * run); --i) run *= view.shape[i];
    std::int64_t filled = 1;
    for (; j >= 0 && filled * shape[j] <= run && (filled < run || shape[j] == 1); --j) {
      result.strides[j] = step * filled;
      filled *= shape[j];
    }
    if (filled != run) return std::nullopt;
  }
  for (; j >= 0; --j) result.strides[j] = 1;
  return result;
}

}  // namespace heed
