#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/print.h>

namespace heed {
namespace {

std::string element_text(const Tensor& x, std::int64_t at) {
  return visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) -> std::string {
    const T value = (x.data<T>() - x.offset())[at];
    if constexpr (std::is_floating_point_v<T>) {
      return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value);  // without the sign that NaN may have
    } else {
      return fmt::format("{}", value);
    }
  });
}

// One nesting level per axis, so the depth is at most Shape::max_rank.
void append(std::string& text, const Tensor& x, int axis, std::int64_t at, int edge) {
  if (axis == x.rank()) {
    text += element_text(x, at);
    return;
  }
  const std::int64_t n = x.shape()[axis];
  text += '[';
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) text += ", ";
    if (i == edge && n - edge > edge + std::int64_t{1}) {
      text += "...";
      if (edge == 0) break;
      text += ", ";
      i = n - edge;
    }
    append(text, x, axis + 1, at + i * x.strides()[axis], edge);
  }
  text += ']';
}

}  // namespace

std::string to_string(const Tensor& x, int edge) {
  std::string text = describe(x);
  if (!x.defined()) return text;
  text += ' ';
  append(text, x, 0, x.offset(), edge);
  return text;
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }

}  // namespace heed
