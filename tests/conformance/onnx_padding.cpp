#include <algorithm>

#include <heed/core/factory.h>
#include <heed/ops/gather.h>
#include <heed/ops/pad.h>
#include <heed/ops/slice.h>

#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

struct Widths {
  Shape before, after;  // for every axis; negative ones cut
};

/// Before version 11 pads are an attribute (`paddings` in version 1) of all
/// axes.
Widths widths_of(const Call& call) {
  const std::string name = call.attributes.has("paddings") ? "paddings" : "pads";
  const Integers pads = call.at(1).defined() ? list_of(call.at(1)) : call.attributes.integers(name);
  const int rank = call.at(0).rank();
  Widths widths{Shape::filled(rank, 0), Shape::filled(rank, 0)};
  const std::size_t count = pads.size() / 2;
  const bool some = call.at(3).defined();
  const Integers axes = some ? list_of(call.at(3)) : Integers();
  for (std::size_t i = 0; i < count; ++i) {
    const int axis = some ? normalize_axis(call.op, axes[i], rank) : static_cast<int>(i);
    widths.before[axis] = pads[i];
    widths.after[axis] = pads[count + i];
  }
  return widths;
}

std::int64_t modulo(std::int64_t a, std::int64_t n) { return ((a % n) + n) % n; }

/// Where the element at position i, outside 0 … n−1, comes from.
std::int64_t source_of(const std::string& mode, std::int64_t i, std::int64_t n) {
  if (mode == "edge") return std::clamp<std::int64_t>(i, 0, n - 1);
  if (mode == "wrap") return modulo(i, n);
  if (n == 1) return 0;
  const std::int64_t period = 2 * (n - 1);  // reflect: the edge is not repeated
  const std::int64_t phase = modulo(i, period);
  return phase < n ? phase : period - phase;
}

Tensor pad_from_itself(Tensor x, const Widths& widths, const std::string& mode) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    std::vector<std::int64_t> sources;
    for (std::int64_t i = -widths.before[axis]; i < x.size(axis) + widths.after[axis]; ++i) {
      sources.push_back(source_of(mode, i, x.size(axis)));
    }
    const auto count = static_cast<std::int64_t>(sources.size());
    x = index_select(x, axis, from_span(std::span<const std::int64_t>(sources), {count}));
  }
  return x;
}

Tensor pad_with(Tensor x, const Widths& widths, Scalar value) {
  Shape before = widths.before;
  Shape after = widths.after;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t cut_before = std::max<std::int64_t>(-before[axis], 0);
    const std::int64_t cut_after = std::max<std::int64_t>(-after[axis], 0);
    x = narrow(x, axis, cut_before, x.size(axis) - cut_before - cut_after);
    before[axis] += cut_before;
    after[axis] += cut_after;
  }
  return pad(x, before, after, value);
}

Tensors pad_axes(const Call& call) {
  const std::string mode = call.attributes.text("mode", "constant");
  const double value = call.at(2).defined() ? number_of(call.at(2)) : call.attributes.real("value", 0);
  if (mode == "constant") return {pad_with(call.at(0), widths_of(call), value)};
  if (mode != "edge" && mode != "wrap" && mode != "reflect")
    throw Skip("Pad: mode '" + mode + "' is not known");
  return {pad_from_itself(call.at(0), widths_of(call), mode)};
}

}  // namespace

void add_onnx_padding(Table& table) { table["Pad"] = pad_axes; }

}  // namespace heed::conformance
