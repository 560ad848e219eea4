// Integer arguments at the ends of their range: factories, and operations that give or take shapes.
#include <cmath>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/concat.h>
#include <heed/ops/expand.h>
#include <heed/ops/gather.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/pad.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rms_norm.h>
#include <heed/ops/slice.h>
#include <heed/ops/sort.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/transpose.h>
#include <heed/ops/triangle.h>

#include "numbers.h"

using namespace heed;
using namespace heed::test;

namespace {

using Number = std::int64_t;
using Numbers = std::vector<Number>;
using Text = std::optional<std::string>;

constexpr Number largest = std::numeric_limits<Number>::max();

// [10, 11, 12, 13]
Tensor four() { return arange(10, 14); }
// One element as n of them; needs no memory.
Tensor repeated(Number n) { return expand(ones({1}, DType::boolean), {n}); }

std::string list(const Numbers& values) {
  std::string text = fmt::format("[{}]", values.size());
  if (values.size() > 16) return text;
  for (const Number v : values) text += fmt::format(" {}", v);
  return text;
}

// A shape of one axis, of elements of `bytes` bytes.
Text sized(Wide n, int bytes, const char* element) {
  if (n < 0 || !fits(n * bytes)) return {};
  std::string text = fmt::format("[{}]", static_cast<Number>(n));
  for (Wide i = 0; i < n && n <= 16; ++i) text += std::string(" ") + element;
  return text;
}

Text shape_if(bool legal, const Shape& shape) { return legal ? Text(shape.str()) : std::nullopt; }

// Python's range, by numbers that do not overflow.
Text range_of(Number start, Number stop, Number step) {
  if (step == 0) return {};
  const Wide span = step > 0 ? Wide{stop} - start : Wide{start} - stop;
  const Wide size = step > 0 ? Wide{step} : -Wide{step};
  const Wide count = span <= 0 ? 0 : (span - 1) / size + 1;
  if (!fits(count * 8)) return {};
  Numbers values;
  for (Wide i = 0; i < count && count <= 16; ++i) values.push_back(static_cast<Number>(start + i * step));
  if (count > 16) return fmt::format("[{}]", static_cast<Number>(count));
  return list(values);
}

// Python's x[start:stop:step] of four().
Text python_slice(Number start, Number stop, Number step) {
  if (step == 0) return {};
  const Wide n = 4;
  const auto place = [&](Wide i) { return i < 0 ? i + n : i; };
  Numbers taken;
  if (step > 0) {
    for (Wide i = std::max<Wide>(place(start), 0); i < n && i < place(stop); i += step) {
      taken.push_back(static_cast<Number>(10 + i));
    }
  } else {
    for (Wide i = std::min<Wide>(place(start), n - 1); i >= 0 && i > place(stop); i += step) {
      taken.push_back(static_cast<Number>(10 + i));
    }
  }
  return list(taken);
}

Text rolled(Number shift) {
  Numbers values(4);
  for (Wide i = 0; i < 4; ++i) {
    values[static_cast<std::size_t>(((i + shift) % 4 + 4) % 4)] = static_cast<Number>(10 + i);
  }
  return list(values);
}

// Of ones [2, 3]: columns j with j − i <= diagonal, or >= it.
Text triangle(Number diagonal, bool lower) {
  std::string text = "[2, 3]";
  for (Wide i = 0; i < 2; ++i) {
    for (Wide j = 0; j < 3; ++j) text += (lower ? j - i <= diagonal : j - i >= diagonal) ? " 1" : " 0";
  }
  return text;
}

const std::vector<IntegerRow>& factory_rows() {
  static const std::vector<IntegerRow> rows = {
      row(
          "zeros", [](Number n) { return text_of(zeros({n})); }, [](Number n) { return sized(n, 4, "0"); }),
      row(
          "ones", [](Number n) { return text_of(ones({n}, DType::f64)); },
          [](Number n) { return sized(n, 8, "1"); }),
      row(
          "zeros of no elements",
          [](Number n) {
            return text_of(zeros({0, n}));
          },
          [](Number n) {
            return shape_if(n >= 0, {0, n});
          }),
      {"full of two axes", 2,
       [](const Numbers& n) {
         return text_of(full({n[0], n[1]}, true, DType::boolean));
       },
       [](const Numbers& n) -> Text {
         if (n[0] < 0 || n[1] < 0 || !fits(Wide{n[0]} * n[1])) return {};
         std::string text = Shape({n[0], n[1]}).str();
         for (Number i = 0; i < n[0] * n[1] && n[0] * n[1] <= 16; ++i) text += " true";
         return text;
       }},
      row(
          "value of full, i64", [](Number n) { return text_of(full({}, n, DType::i64)); },
          [](Number n) { return fmt::format("[] {}", n); }),
      row(
          "value of full, f64", [](Number n) { return text_of(full({}, n, DType::f64)); },
          [](Number n) { return fmt::format("[] {}", static_cast<double>(n)); }),
      row(
          "eye", [](Number n) { return text_of(eye(n)); },
          [](Number n) -> Text {
            if (n < 0 || !fits(Wide{n} * n * 4)) return {};
            std::string text = Shape({n, n}).str();
            for (Number i = 0; i < n * n && n * n <= 16; ++i) text += i % (n + 1) == 0 ? " 1" : " 0";
            return text;
          }),
      {"arange", 3, [](const Numbers& n) { return text_of(arange(n[0], n[1], n[2])); },
       [](const Numbers& n) { return range_of(n[0], n[1], n[2]); }},
      {"arange of i32", 2, [](const Numbers& n) { return text_of(arange(n[0], n[1], 1, DType::i32)); },
       [](const Numbers& n) -> Text {
         const bool none = n[0] >= n[1];
         const auto narrow = [](Wide v) { return v >= -(Wide{1} << 31) && v < Wide{1} << 31; };
         if (!none && (!narrow(n[0]) || !narrow(Wide{n[1]} - 1) || !fits((Wide{n[1]} - n[0]) * 4))) return {};
         return range_of(n[0], n[1], 1);
       }},
      row(
          "rand",
          [](Number n) {
            Generator generator(1);
            return rand({n}, generator).shape().str();
          },
          [](Number n) { return shape_if(n >= 0 && fits(Wide{n} * 4), {n}); }),
      row(
          "randn",
          [](Number n) {
            Generator generator(1);
            return randn({n, 2}, generator).shape().str();
          },
          [](Number n) {
            return shape_if(n >= 0 && fits(Wide{n} * 8), {n, 2});
          }),
      {"randint", 2,
       [](const Numbers& n) {
         Generator generator(1);
         for (const Number v : randint(n[0], n[1], {8}, generator).to_vector<Number>()) {
           if (v < n[0] || v >= n[1]) return fmt::format("{}", v);
         }
         return std::string("inside");
       },
       [](const Numbers& n) { return n[0] < n[1] ? Text("inside") : std::nullopt; }},
      row(
          "randint of i32",
          [](Number n) {
            Generator generator(1);
            return text_of(randint(n, n == largest ? n : n + 1, {}, generator, DType::i32));
          },
          [](Number n) -> Text {
            if (n != static_cast<std::int32_t>(n)) return {};
            return fmt::format("[] {}", n);
          }),
      row(
          "randperm",
          [](Number n) {
            Generator generator(1);
            return text_of(sort(randperm(n, generator)).values);
          },
          [](Number n) { return n < 0 ? std::nullopt : range_of(0, n, 1); }),
      row(
          "from_span",
          [](Number n) {
            const Numbers values{1, 2, 3};
            return text_of(from_span(std::span<const Number>(values), {n}));
          },
          [](Number n) { return n == 3 ? Text("[3] 1 2 3") : std::nullopt; }),
  };
  return rows;
}

const std::vector<IntegerRow>& view_rows() {
  static const std::vector<IntegerRow> rows = {
      {"slice", 3, [](const Numbers& n) { return text_of(slice(four(), 0, n[0], n[1], n[2])); },
       [](const Numbers& n) { return python_slice(n[0], n[1], n[2]); }},
      row(
          "slice of a long view",
          [](Number n) { return slice(repeated(largest), 0, n, {}, 1).shape().str(); },
          [](Number n) {
            const Wide first = n < 0 ? std::max<Wide>(Wide{n} + largest, 0) : Wide{n};
            return shape_if(true, {static_cast<Number>(largest - first)});
          }),
      row(
          "select", [](Number n) { return text_of(select(four(), 0, n)); },
          [](Number n) {
            return n < -4 || n > 3 ? std::nullopt : Text(fmt::format("[] {}", 10 + (n + 4) % 4));
          }),
      {"narrow", 2, [](const Numbers& n) { return text_of(narrow(four(), 0, n[0], n[1])); },
       [](const Numbers& n) -> Text {
         if (n[0] < 0 || n[1] < 0 || Wide{n[0]} + n[1] > 4) return {};
         return range_of(10 + n[0], 10 + n[0] + n[1], 1);
       }},
      row(
          "expand",
          [](Number n) {
            return text_of(expand(four(), {n, 4}).shape() == Shape({n, 4}) ? expand(ones({1}), {n})
                                                                           : Tensor(four()));
          },
          [](Number n) -> Text {
            if (n < 0 || Wide{n} * 4 > largest) return {};
            return n <= 16 ? sized(n, 1, "1") : Text(Shape({n}).str());
          }),
      row(
          "sum_to", [](Number n) { return text_of(sum_to(four(), {n})); },
          [](Number n) { return n == 4   ? range_of(10, 14, 1)
                                : n == 1 ? Text("[1] 46")
                                         : std::nullopt; }),
      {"reshape", 2,
       [](const Numbers& n) {
         return text_of(reshape(four(), {n[0], n[1]}));
       },
       [](const Numbers& n) -> Text {
         Number a = n[0], b = n[1];
         if (a == -1 && b > 0 && 4 % b == 0) a = 4 / b;
         if (b == -1 && a > 0 && 4 % a == 0) b = 4 / a;
         if (a < 0 || b < 0 || Wide{a} * b != 4) return {};
         return fmt::format("[{}, {}] 10 11 12 13", a, b);
       }},
      row(
          "reshape of no elements",
          [](Number n) {
            return text_of(reshape(zeros({0, 5}), {n, 0}));
          },
          [](Number n) {
            return shape_if(n >= 0, {n, 0});
          }),
      row(
          "flatten of no elements",
          [](Number n) {
            return text_of(flatten(zeros({0, n, n}), 1, 2));
          },
          [](Number n) -> Text {
            if (n < 0 || Wide{n} * n > largest) return {};
            return Shape({0, n * n}).str();
          }),
      row(
          "flatten a long view",
          [](Number n) {
            return flatten(expand(repeated(1), {n, 2})).shape().str();
          },
          [](Number n) -> Text {
            if (n < 0 || Wide{n} * 2 > largest) return {};
            return Shape({n * 2}).str();
          }),
      {"split into two", 2,
       [](const Numbers& n) {
         return text_of(split(four(), {n[0], n[1]}));
       },
       [](const Numbers& n) -> Text {
         if (n[0] < 0 || n[1] < 0 || Wide{n[0]} + n[1] != 4) return {};
         return *range_of(10, 10 + n[0], 1) + ";" + *range_of(10 + n[0], 14, 1) + ";";
       }},
      {"split into three", 3,
       [](const Numbers& n) {
         return text_of(split(four(), {n[0], n[1], n[2]}));
       },
       [](const Numbers& n) -> Text {
         if (n[0] < 0 || n[1] < 0 || n[2] < 0 || Wide{n[0]} + n[1] + n[2] != 4) return {};
         return *range_of(10, 10 + n[0], 1) + ";" + *range_of(10 + n[0], 10 + n[0] + n[1], 1) + ";" +
                *range_of(14 - n[2], 14, 1) + ";";
       }},
      row(
          "split by size", [](Number n) { return text_of(split(four(), n)); },
          [](Number n) -> Text {
            if (n < 1) return {};
            std::string text;
            for (Wide i = 0; i < 4; i += n) {
              text += *range_of(static_cast<Number>(10 + i),
                                static_cast<Number>(10 + std::min<Wide>(i + n, 4)), 1);
              text += ";";
            }
            return text;
          }),
      row(
          "split of a long view", [](Number n) { return split(repeated(largest), n)[0].shape().str(); },
          [](Number n) { return shape_if(n > 0 && largest / n < 1 << 20, {n}); }),
  };
  return rows;
}

const std::vector<IntegerRow>& copying_rows() {
  static const std::vector<IntegerRow> rows = {
      {"pad", 2, [](const Numbers& n) { return text_of(pad(ones({2}), {n[0]}, {n[1]})); },
       [](const Numbers& n) -> Text {
         const Wide size = Wide{n[0]} + n[1] + 2;
         if (n[0] < 0 || n[1] < 0 || !fits(size * 4)) return {};
         std::string text = fmt::format("[{}]", static_cast<Number>(size));
         for (Wide i = 0; i < size && size <= 16; ++i) text += i < n[0] || i >= n[0] + 2 ? " 0" : " 1";
         return text;
       }},
      {"pad of no elements", 2,
       [](const Numbers& n) {
         return text_of(pad(zeros({0, 1}), {0, n[0]}, {0, n[1]}));
       },
       [](const Numbers& n) -> Text {
         const Wide size = Wide{n[0]} + n[1] + 1;
         if (n[0] < 0 || n[1] < 0 || size > largest) return {};
         return Shape({0, static_cast<Number>(size)}).str();
       }},
      {"concat", 2,
       [](const Numbers& n) {
         return concat({repeated(n[0]), repeated(n[1])}).shape().str();
       },
       [](const Numbers& n) {
         const Wide size = Wide{n[0]} + n[1];
         return shape_if(n[0] >= 0 && n[1] >= 0 && fits(size), {static_cast<Number>(size)});
       }},
      {"concat of no elements", 2,
       [](const Numbers& n) {
         return text_of(concat({zeros({0, n[0]}), zeros({0, n[1]})}, 1));
       },
       [](const Numbers& n) {
         const Wide size = Wide{n[0]} + n[1];
         return shape_if(n[0] >= 0 && n[1] >= 0 && size <= largest, {0, static_cast<Number>(size)});
       }},
      row(
          "stack",
          [](Number n) {
            return stack({repeated(n), repeated(n)}).shape().str();
          },
          [](Number n) {
            return shape_if(n >= 0 && fits(Wide{n} * 2), {2, n});
          }),
      row(
          "repeat", [](Number n) { return text_of(repeat(ones({2}), {n})); },
          [](Number n) -> Text {
            if (n < 0 || (n != 1 && !fits(Wide{n} * 8))) return {};
            return sized(Wide{n} * 2, 4, "1");
          }),
      row(
          "repeat of one element, a view", [](Number n) { return repeat(ones({1}), {n}).shape().str(); },
          [](Number n) { return shape_if(n >= 0, {n}); }),
      row(
          "repeat of no elements",
          [](Number n) {
            return text_of(repeat(zeros({0, 4}), {1, n}));
          },
          [](Number n) {
            return shape_if(n >= 0 && Wide{n} * 4 <= largest, {0, n * (n <= largest / 4 && n > 0 ? 4 : 0)});
          }),
      row(
          "repeat_interleave", [](Number n) { return text_of(repeat_interleave(ones({2}), n, 0)); },
          [](Number n) -> Text {
            if (n < 0 || (n != 1 && !fits(Wide{n} * 8))) return {};
            return sized(Wide{n} * 2, 4, "1");
          }),
      row(
          "repeat_interleave of no elements",
          [](Number n) {
            return text_of(repeat_interleave(zeros({0, 4}), n, 1));
          },
          [](Number n) {
            return shape_if(n >= 0 && Wide{n} * 4 <= largest, {0, n * (n <= largest / 4 && n > 0 ? 4 : 0)});
          }),
      row(
          "roll", [](Number n) { return text_of(roll(four(), {n}, {0})); }, rolled),
      row(
          "roll of a long view", [](Number n) { return roll(repeated(largest), {n}, {0}).shape().str(); },
          [](Number n) { return shape_if(n % largest == 0, {largest}); }),
      row(
          "tril",
          [](Number n) {
            return text_of(tril(ones({2, 3}), n));
          },
          [](Number n) { return triangle(n, true); }),
      row(
          "triu",
          [](Number n) {
            return text_of(triu(ones({2, 3}), n));
          },
          [](Number n) { return triangle(n, false); }),
      row(
          "tril of no elements",
          [](Number n) {
            return text_of(tril(zeros({0, n, n}), n));
          },
          [](Number n) {
            return shape_if(n >= 0, {0, n, n});
          }),
      row(
          "one_hot", [](Number n) { return text_of(one_hot(zeros({1}, DType::i64), n)); },
          [](Number n) -> Text {
            if (n < 1 || !fits(Wide{n} * 4)) return {};
            std::string text = Shape({1, n}).str();
            for (Number i = 0; i < n && n <= 16; ++i) text += i == 0 ? " 1" : " 0";
            return text;
          }),
      row(
          "one_hot of nothing", [](Number n) { return text_of(one_hot(zeros({0}, DType::i64), n)); },
          [](Number n) {
            return shape_if(n >= 0, {0, n});
          }),
      row(
          "topk", [](Number n) { return text_of(topk(four(), n).values); },
          [](Number n) { return n < 0 || n > 4 ? std::nullopt : range_of(13, 13 - n, -1); }),
      row(
          "layer_norm",
          [](Number n) {
            return layer_norm(ones({2, 3}), {n}).shape().str();
          },
          [](Number n) {
            return shape_if(n == 3, {2, 3});
          }),
      row(
          "rms_norm",
          [](Number n) {
            return rms_norm(ones({2, 3}), {2, n}).shape().str();
          },
          [](Number n) {
            return shape_if(n == 3, {2, 3});
          }),
  };
  return rows;
}

}  // namespace

TEST_CASE("sizes and values of factories at the ends of 64 bits", "[fault-16]") {
  for (const IntegerRow& row : factory_rows()) require_row(row);
}

TEST_CASE("sizes and positions of views at the ends of 64 bits", "[fault-16]") {
  for (const IntegerRow& row : view_rows()) require_row(row);
}

TEST_CASE("sizes of operations that copy at the ends of 64 bits", "[fault-16]") {
  for (const IntegerRow& row : copying_rows()) require_row(row);
  CHECK_THROWS_WITH(
      pad(ones({2}), {largest}, {largest}),
      "pad: number too large, the border is 9223372036854775807 + 9223372036854775807; expected "
      "a number of 64 bits");
}

TEST_CASE("a draw of no elements leaves the generator where it is", "[fault-19]") {
  Generator generator(7);
  rand({0}, generator);
  randn({2, 0}, generator);
  randint(0, 5, {0}, generator);
  randperm(0, generator);
  CHECK(generator.state().offset == 0);
  rand({1}, generator);
  CHECK(generator.state().offset == 1);
}
