// Integer arguments at the ends of their range: axes, indices, positions, and integers as elements.
#include <cmath>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/concat.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/embedding.h>
#include <heed/ops/expand.h>
#include <heed/ops/extremum.h>
#include <heed/ops/gated_activation.h>
#include <heed/ops/gather.h>
#include <heed/ops/logsumexp.h>
#include <heed/ops/losses.h>
#include <heed/ops/pad.h>
#include <heed/ops/prod.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rope.h>
#include <heed/ops/rounding.h>
#include <heed/ops/slice.h>
#include <heed/ops/softmax.h>
#include <heed/ops/sort.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/ops/variance.h>
#include <heed/ops/vector_norm.h>

#include "numbers.h"

using namespace heed;
using namespace heed::test;

namespace {

using Number = std::int64_t;
using Numbers = std::vector<Number>;
using Text = std::optional<std::string>;

Tensor grid() { return tensor({0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0}, {2, 4}); }

// An axis of `rank` axes: what the function gives for the axis counted from the front, or an error.
IntegerRow axis_row(std::string name, int rank, std::function<std::string(Number axis)> call) {
  return {std::move(name), 1, [call](const Numbers& n) { return call(n[0]); },
          [call, rank](const Numbers& n) -> Text {
            if (n[0] < -rank || n[0] >= rank) return {};
            return call(n[0] < 0 ? n[0] + rank : n[0]);
          }};
}

IntegerRow axis_row(std::string name, std::function<Tensor(Number axis)> call) {
  return axis_row(std::move(name), 2, [call = std::move(call)](Number axis) { return text_of(call(axis)); });
}

const std::vector<IntegerRow>& axis_rows() {
  static const std::vector<IntegerRow> rows = {
      axis_row("size", 2, [](Number axis) { return fmt::format("{}", grid().size(axis)); }),
      axis_row("softmax", [](Number axis) { return softmax(grid(), axis); }),
      axis_row("log_softmax", [](Number axis) { return log_softmax(grid(), axis); }),
      axis_row("logsumexp", [](Number axis) { return logsumexp(grid(), {axis}); }),
      axis_row("sum", [](Number axis) { return sum(grid(), {axis}); }),
      axis_row("mean", [](Number axis) { return mean(grid(), {axis}); }),
      axis_row("amax", [](Number axis) { return amax(grid(), {axis}); }),
      axis_row("amin", [](Number axis) { return amin(grid(), {axis}); }),
      axis_row("max", [](Number axis) { return max(grid(), axis).indices; }),
      axis_row("min", [](Number axis) { return min(grid(), axis).values; }),
      axis_row("argmax", [](Number axis) { return argmax(grid(), axis); }),
      axis_row("argmin", [](Number axis) { return argmin(grid(), axis); }),
      axis_row("prod", [](Number axis) { return prod(grid(), axis); }),
      axis_row("cumsum", [](Number axis) { return cumsum(grid(), axis); }),
      axis_row("cumprod", [](Number axis) { return cumprod(grid(), axis); }),
      axis_row("variance", [](Number axis) { return variance(grid(), {axis}); }),
      axis_row("standard_deviation", [](Number axis) { return standard_deviation(grid(), {axis}); }),
      axis_row("vector_norm", [](Number axis) { return vector_norm(grid(), 2, {axis}); }),
      axis_row("glu", [](Number axis) { return glu(grid(), axis); }),
      axis_row("swiglu", [](Number axis) { return swiglu(grid(), axis); }),
      axis_row("sort", [](Number axis) { return sort(grid(), axis, true).values; }),
      axis_row("topk", [](Number axis) { return topk(grid(), 1, axis).values; }),
      axis_row("flip", [](Number axis) { return flip(grid(), {axis}); }),
      axis_row("roll", [](Number axis) { return roll(grid(), {1}, {axis}); }),
      axis_row("slice", [](Number axis) { return slice(grid(), axis, 1); }),
      axis_row("select", [](Number axis) { return select(grid(), axis, 1); }),
      axis_row("narrow", [](Number axis) { return narrow(grid(), axis, 1, 1); }),
      axis_row("transpose", [](Number axis) { return transpose(grid(), axis, 0); }),
      axis_row("permute",
               [](Number axis) {
                 return axis == 1 || axis == -1 ? permute(grid(), {axis, 0}) : permute(grid(), {axis, 1});
               }),
      axis_row("flatten", [](Number axis) { return flatten(grid(), axis, 1); }),
      axis_row("concat",
               [](Number axis) {
                 return concat({grid(), grid()}, axis);
               }),
      axis_row("stack", 3,
               [](Number axis) {
                 return text_of(stack({grid(), grid()}, axis));
               }),
      axis_row("split", 2, [](Number axis) { return text_of(split(grid(), 1, axis)); }),
      axis_row("repeat_interleave", [](Number axis) { return repeat_interleave(grid(), 2, axis); }),
      axis_row("squeeze",
               [](Number axis) {
                 return squeeze(ones({1, 1}), axis);
               }),
      axis_row("unsqueeze", 3, [](Number axis) { return text_of(unsqueeze(grid(), axis)); }),
      axis_row("gather",
               [](Number axis) {
                 return gather(grid(), axis, tensor({1L, 0L}, {2, 1}));
               }),
      axis_row("scatter",
               [](Number axis) {
                 return scatter(grid(), axis, tensor({1L}, {1, 1}), tensor({9.0}, {1, 1}));
               }),
      axis_row("scatter_add",
               [](Number axis) {
                 return scatter_add(grid(), axis, tensor({1L}, {1, 1}), tensor({9.0}, {1, 1}));
               }),
      axis_row("index_select", [](Number axis) { return index_select(grid(), axis, tensor({1L})); }),
      axis_row("index_add",
               [](Number axis) { return index_add(grid(), axis, tensor({1L}), narrow(grid(), axis, 0, 1)); }),
  };
  return rows;
}

// An index into `size` places: what the function gives, or an error.
IntegerRow index_row(std::string name, Number size, std::function<Tensor(const Tensor& index)> call,
                     std::function<std::string(Number)> wanted) {
  return {std::move(name), 1, [call](const Numbers& n) { return text_of(call(tensor({n[0]}))); },
          [wanted, size](const Numbers& n) -> Text {
            if (n[0] < 0 || n[0] >= size) return {};
            return wanted(n[0]);
          }};
}

std::string at_index(Number i) { return fmt::format("[1] {}", 10 + i); }

const std::vector<IntegerRow>& index_rows() {
  static const Tensor four = arange(10, 14);
  static const Tensor logits = zeros({1, 4}, DType::f64);
  static const std::vector<IntegerRow> rows = {
      index_row(
          "gather", 4, [](const Tensor& i) { return gather(four, 0, i); }, at_index),
      index_row(
          "index_select", 4, [](const Tensor& i) { return index_select(four, 0, i); }, at_index),
      index_row(
          "scatter", 4, [](const Tensor& i) { return sum(scatter(zeros({4}), 0, i, ones({1}))); },
          [](Number) { return "[] 1"; }),
      index_row(
          "scatter_add", 4, [](const Tensor& i) { return sum(scatter_add(zeros({4}), 0, i, ones({1}))); },
          [](Number) { return "[] 1"; }),
      index_row(
          "index_add", 4, [](const Tensor& i) { return sum(index_add(zeros({4}), 0, i, ones({1}))); },
          [](Number) { return "[] 1"; }),
      index_row(
          "one_hot", 4, [](const Tensor& i) { return sum(one_hot(i, 4)); }, [](Number) { return "[] 1"; }),
      index_row(
          "embedding", 4,
          [](const Tensor& i) {
            return embedding(ones({4, 1}), i);
          },
          [](Number) { return "[1, 1] 1"; }),
      row(
          "padding index of embedding",
          [](Number n) {
            return text_of(embedding(ones({4, 1}), tensor({1L}), n));
          },
          [](Number n) { return n >= 0 && n < 4 ? Text("[1, 1] 1") : std::nullopt; }),
      {"targets and ignored class of nll_loss", 2,
       [](const Numbers& n) { return text_of(nll_loss(logits, tensor({n[0]}), {.ignore_index = n[1]})); },
       [](const Numbers& n) -> Text {
         if (n[0] == n[1]) return "[] 0";
         return n[0] >= 0 && n[0] < 4 ? Text("[] 0") : std::nullopt;
       }},
      {"targets and ignored class of cross_entropy", 2,
       [](const Numbers& n) {
         return fmt::format("{:.6f}",
                            cross_entropy(logits, tensor({n[0]}), {.ignore_index = n[1]}).item<double>());
       },
       [](const Numbers& n) -> Text {
         if (n[0] == n[1]) return "0.000000";
         return n[0] >= 0 && n[0] < 4 ? Text("1.386294") : std::nullopt;
       }},
      row(
          "position of rope",
          [](Number n) {
            const auto y = rope(ones({1, 2}, DType::f64), tensor({n})).to_vector<double>();
            return fmt::format("{:.9f} {:.9f}", y[0], y[1]);
          },
          [](Number n) {
            const auto angle = static_cast<double>(n);
            return Text(fmt::format("{:.9f} {:.9f}", std::cos(angle) - std::sin(angle),
                                    std::sin(angle) + std::cos(angle)));
          }),
      row(
          "rotary of rope",
          [](Number n) {
            return rope(ones({1, 4}), tensor({3L}), {.rotary = n}).shape().str();
          },
          [](Number n) { return n == 0 || n == 2 || n == 4 ? Text("[1, 4]") : std::nullopt; }),
  };
  return rows;
}

// Which of the keys 0 … 2 the two queries at `first` and after it attend.
std::string open_text(const AttentionMask& mask) {
  const Tensor none = mask.open_pairs({1, 1, 2, 3});
  const Tensor open = none.defined() ? expand(none, {1, 1, 2, 3}) : ones({1, 1, 2, 3}, DType::boolean);
  std::string text;
  for (const bool is_open : open.to_vector<bool>()) text += is_open ? '#' : '.';
  const Tensor q = ones({1, 1, 2, 1}, DType::f64);
  const Tensor k = ones({1, 1, 3, 1}, DType::f64);
  const Tensor weights = attention(q, k, k, {.mask = mask, .need_weights = true}).weights;
  const auto w = weights.to_vector<double>();
  for (std::size_t i = 0; i < w.size(); ++i) {
    if ((w[i] != 0) != (text[i] == '#')) text += " but attention differs";
  }
  return text;
}

std::string open_where(const std::function<bool(Wide i, Wide j)>& open) {
  std::string text;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) text += open(i, j) ? '#' : '.';
  }
  return text;
}

const std::vector<IntegerRow>& mask_rows() {
  static const std::vector<IntegerRow> rows = {
      {"window", 2, [](const Numbers& n) { return open_text(AttentionMask::window(n[0], n[1])); },
       [](const Numbers& n) -> Text {
         if (n[0] < -1 || n[1] < -1) return {};
         return open_where([&](Wide i, Wide j) {
           const Wide p = i + 1;
           return (n[0] < 0 || j >= p - n[0]) && (n[1] < 0 || j <= p + n[1]);
         });
       }},
      {"window from a start", 2,
       [](const Numbers& n) { return open_text(AttentionMask::window(n[0], -1).query_start(n[1])); },
       [](const Numbers& n) -> Text {
         if (n[0] < -1) return {};
         return open_where([&](Wide i, Wide j) { return n[0] < 0 || j >= i + n[1] - n[0]; });
       }},
      row(
          "start of causal attention",
          [](Number n) { return open_text(AttentionMask::causal().query_start(n)); },
          [](Number n) { return Text(open_where([n](Wide i, Wide j) { return j <= i + n; })); }),
      row(
          "starts of each sample",
          [](Number n) { return open_text(AttentionMask::causal().query_start(tensor({n}))); },
          [](Number n) { return Text(open_where([n](Wide i, Wide j) { return j <= i + n; })); }),
      row(
          "key lengths", [](Number n) { return open_text(AttentionMask::key_lengths(tensor({n}))); },
          [](Number n) -> Text {
            if (n < 0 || n > 3) return {};
            return open_where([n](Wide, Wide j) { return j < n; });
          }),
      row(
          "documents",
          [](Number n) {
            const Tensor open = AttentionMask::documents(tensor({n, 7L, n})).open_pairs({3, 3});
            return text_of(sum(cast(open, DType::i64)));
          },
          [](Number n) { return Text(n == 7 ? "[] 9" : "[] 5"); }),
      row(
          "explained pair",
          [](Number n) {
            const std::string text = AttentionMask::causal().query_start(n).explain({1, 1, 2, 3}, 0, 0, 1, 0);
            return text.substr(0, text.find(" may"));
          },
          [](Number n) { return Text(fmt::format("query 1 at position {}", Wide{n} + 1)); }),
      row(
          "pair to explain",
          [](Number n) {
            return AttentionMask::causal().explain({1, 1, 2, 3}, 0, 0, n, 0).substr(0, 7);
          },
          [](Number n) { return n == 0 || n == 1 ? Text(fmt::format("query {}", n)) : std::nullopt; }),
      row(
          "head of a picture",
          [](Number n) {
            return AttentionMask::causal().picture({1, 1, 2, 3}, 0, n);
          },
          [](Number n) { return n == 0 ? Text("##.\n###\n") : std::nullopt; }),
  };
  return rows;
}

template <class T>
IntegerRow integer_row(std::string name, std::function<Tensor(const Tensor&, const Tensor&)> call,
                       std::function<std::optional<Wide>(Wide, Wide)> exact) {
  return {std::move(name), 2,
          [call](const Numbers& n) {
            return text_of(call(scalar(static_cast<T>(n[0])), scalar(static_cast<T>(n[1]))));
          },
          [exact](const Numbers& n) -> Text {
            const auto value = exact(static_cast<T>(n[0]), static_cast<T>(n[1]));
            if (!value) return {};
            return fmt::format("[] {}", static_cast<T>(*value));  // wraps
          }};
}

template <class T>
std::vector<IntegerRow> arithmetic_rows() {
  const auto first_of = [](auto f) { return [f](const Tensor& a, const Tensor&) { return f(a); }; };
  return {
      integer_row<T>(
          "add", [](const Tensor& a, const Tensor& b) { return add(a, b); },
          [](Wide a, Wide b) { return a + b; }),
      integer_row<T>(
          "sub", [](const Tensor& a, const Tensor& b) { return sub(a, b); },
          [](Wide a, Wide b) { return a - b; }),
      integer_row<T>(
          "mul", [](const Tensor& a, const Tensor& b) { return mul(a, b); },
          [](Wide a, Wide b) {
            // The product of two ends fits in 128 bits.
            return a * b;
          }),
      integer_row<T>(
          "div", [](const Tensor& a, const Tensor& b) { return div(a, b); },
          [](Wide a, Wide b) { return b == 0 ? std::nullopt : std::optional<Wide>(a / b); }),
      integer_row<T>("neg", first_of([](const Tensor& a) { return neg(a); }),
                     [](Wide a, Wide) { return -a; }),
      integer_row<T>("abs", first_of([](const Tensor& a) { return abs(a); }),
                     [](Wide a, Wide) { return a < 0 ? -a : a; }),
      integer_row<T>(
          "sum",
          [](const Tensor& a, const Tensor& b) {
            return sum(stack({a, b}));
          },
          [](Wide a, Wide b) { return a + b; }),
      integer_row<T>(
          "prod",
          [](const Tensor& a, const Tensor& b) {
            return prod(stack({a, b}), 0);
          },
          [](Wide a, Wide b) { return a * b; }),
      integer_row<T>(
          "cumsum",
          [](const Tensor& a, const Tensor& b) {
            return select(cumsum(stack({a, b}), 0), 0, 1);
          },
          [](Wide a, Wide b) { return a + b; }),
      integer_row<T>(
          "max",
          [](const Tensor& a, const Tensor& b) {
            return amax(stack({a, b}));
          },
          [](Wide a, Wide b) { return std::max(a, b); }),
      integer_row<T>(
          "scatter_add",
          [](const Tensor& a, const Tensor& b) {
            return reshape(scatter_add(reshape(a, {1}), 0, tensor({0L}), reshape(b, {1})), {});
          },
          [](Wide a, Wide b) { return a + b; }),
  };
}

}  // namespace

TEST_CASE("axes at the ends of 64 bits", "[fault-16]") {
  for (const IntegerRow& row : axis_rows()) require_row(row);
}

TEST_CASE("indices and positions at the ends of 64 bits", "[fault-16]") {
  for (const IntegerRow& row : index_rows()) require_row(row);
}

TEST_CASE("windows, starts and lengths of masks at the ends of 64 bits", "[fault-16]") {
  for (const IntegerRow& row : mask_rows()) require_row(row);
}

TEMPLATE_TEST_CASE("integer elements wrap at the ends of their range", "[fault-16]", std::int32_t,
                   std::int64_t) {
  for (const IntegerRow& row : arithmetic_rows<TestType>()) require_row(row);
}

TEST_CASE("numbers that are given to operations at the ends of 64 bits", "[fault-16]") {
  require_row(row(
      "number for i64", [](Number n) { return text_of(add(scalar(Number{0}), n)); },
      [](Number n) { return Text(fmt::format("[] {}", n)); }));
  require_row(row(
      "number for i32", [](Number n) { return text_of(add(scalar(std::int32_t{0}), n)); },
      [](Number n) -> Text {
        if (n != static_cast<std::int32_t>(n)) return {};
        return fmt::format("[] {}", n);
      }));
  require_row(row(
      "number without sign",
      [](Number n) { return text_of(add(scalar(0.0), static_cast<std::uint64_t>(n))); },
      [](Number n) {
        return Text(fmt::format("[] {}", static_cast<double>(static_cast<std::uint64_t>(n))));
      }));
  CHECK(full({}, 1e300, DType::i64).item<Number>() == std::numeric_limits<Number>::max());
  CHECK(full({}, -1e300, DType::i32).item<std::int32_t>() == std::numeric_limits<std::int32_t>::min());
  CHECK(full({}, std::nan(""), DType::i64).item<Number>() == 0);
}
