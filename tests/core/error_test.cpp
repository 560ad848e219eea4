#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/arguments.h>
#include <heed/core/dtype.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/scope.h>

using namespace heed;
using Catch::Matchers::Message;

TEST_CASE("the grammar of messages", "[error]") {
  CHECK(error_message("op", "problem", "given", "expected") == "op: problem, given; expected expected");
  CHECK(error_message("op", "problem", "", "e") == "op: problem; expected e");
  CHECK(error_message("op", "problem", "g", "") == "op: problem, g");
  CHECK(error_message("op", "problem", {}, {}) == "op: problem");
  CHECK_THROWS_MATCHES(fail<IoError>("load", "file is missing", "a.txt"), IoError,
                       Message("load: file is missing, a.txt"));
}

TEST_CASE("every error is an Error and a std::runtime_error", "[error]") {
  CHECK_THROWS_AS(fail<ShapeError>("op", "p"), Error);
  CHECK_THROWS_AS(fail<DTypeError>("op", "p"), Error);
  CHECK_THROWS_AS(fail<IndexError>("op", "p"), Error);
  CHECK_THROWS_AS(fail<ValueError>("op", "p"), Error);
  CHECK_THROWS_AS(fail<GradError>("op", "p"), Error);
  CHECK_THROWS_AS(fail<IoError>("op", "p"), std::runtime_error);
}

TEST_CASE("an error says in which module it was made, once", "[error][fault-46]") {
  const Scope model("model");
  CHECK_THROWS_MATCHES(fail<ShapeError>("op", "p"), ShapeError, Message("op: p (in module model)"));
  try {
    const Scope blocks("blocks.3");
    const Scope attention("attention");
    fail<ShapeError>("op", "p");
  } catch (const Error& error) {
    CHECK(error.module() == "model.blocks.3.attention");
    const ValueError again(error.what());
    CHECK_THAT(again, Message("op: p (in module model.blocks.3.attention)"));
    CHECK(again.module() == "model");
  }
}

TEST_CASE("outside of modules an error has no place", "[error][fault-46]") {
  CHECK(ValueError("text").module().empty());
  CHECK_THAT(ValueError("text"), Message("text"));
}

TEST_CASE("describe", "[error]") {
  CHECK(describe(zeros({2, 3})) == "f32[2, 3]");
  CHECK(describe(scalar(true)) == "boolean[]");
  CHECK(describe(Tensor()) == "undefined");
}

TEST_CASE("check_defined", "[error]") {
  CHECK_NOTHROW(check_defined("op", "x", zeros({0})));
  CHECK_THROWS_MATCHES(check_defined("op", "x", Tensor()), ValueError,
                       Message("op: tensor is undefined, x is undefined; expected a tensor"));
}

TEST_CASE("checks of dtypes", "[error]") {
  const Tensor f = zeros({2});
  const Tensor d = zeros({2}, DType::f64);
  const Tensor i = zeros({2}, DType::i64);
  const Tensor b = zeros({2}, DType::boolean);
  CHECK_NOTHROW(check_floating("op", "x", f));
  CHECK_NOTHROW(check_floating("op", "x", d));
  CHECK_THROWS_MATCHES(check_floating("op", "x", i), DTypeError,
                       Message("op: dtype not supported, x is i64[2]; expected f32 or f64"));
  CHECK_NOTHROW(check_numeric("op", "x", i));
  CHECK_THROWS_MATCHES(
      check_numeric("op", "x", b), DTypeError,
      Message("op: dtype not supported, x is boolean[2]; expected i32 or i64 or f32 or f64"));
  CHECK_NOTHROW(check_dtype("op", "x", b, {DType::i32, DType::boolean}));
  CHECK_THROWS_MATCHES(check_dtype("op", "x", f, {DType::boolean}), DTypeError,
                       Message("op: dtype not supported, x is f32[2]; expected boolean"));
  CHECK_THROWS_MATCHES(
      check_same_dtype("op", "a", f, "b", d), DTypeError,
      Message("op: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)"));
  CHECK_NOTHROW(check_same_dtype("op", "a", f, "b", zeros({3})));
  const Tensor none;
  CHECK_THROWS_AS(check_floating("op", "x", none), ValueError);
  CHECK_THROWS_AS(check_numeric("op", "x", none), ValueError);
  CHECK_THROWS_MATCHES(check_same_dtype("op", "a", f, "b", none), ValueError,
                       Message("op: tensor is undefined, b is undefined; expected a tensor"));
}

TEST_CASE("checks of shapes", "[error]") {
  const Tensor x = zeros({2, 3});
  const Tensor none;
  CHECK_NOTHROW(check_same_shape("op", "a", x, "b", ones({2, 3})));
  CHECK_THROWS_MATCHES(check_same_shape("op", "a", x, "b", ones({3})), ShapeError,
                       Message("op: shapes differ, a is [2, 3] and b is [3]; expected equal shapes"));
  CHECK_THROWS_AS(check_same_shape("op", "a", none, "b", x), ValueError);
  CHECK_THROWS_AS(check_same_shape("op", "a", x, "b", none), ValueError);
  CHECK_NOTHROW(check_shape("op", "x", x, {2, 3}));
  CHECK_THROWS_MATCHES(check_shape("op", "x", x, {3}), ShapeError,
                       Message("op: x has the wrong shape, x is [2, 3]; expected [3]"));
  CHECK_THROWS_MATCHES(check_shape("op", "x", x, {3}, "the last axis of y"), ShapeError,
                       Message("op: x has the wrong shape, x is [2, 3]; expected [3], the last axis of y"));
  CHECK_THROWS_AS(check_shape("op", "x", none, {3}), ValueError);
  CHECK_NOTHROW(check_expands("op", "x", x, {4, 2, 3}));
  CHECK_THROWS_MATCHES(
      check_expands("op", "x", x, {2, 4}), ShapeError,
      Message("op: x does not broadcast, x is [2, 3]; expected a shape that expands to [2, 4]"));
  CHECK_THROWS_AS(check_expands("op", "x", none, {2, 4}), ValueError);
}

TEST_CASE("check_rank", "[error]") {
  const Tensor x = zeros({2, 3});
  CHECK_NOTHROW(check_rank("op", "x", x, 2, 2));
  CHECK_NOTHROW(check_rank("op", "x", x, 1));
  CHECK_THROWS_MATCHES(check_rank("op", "x", x, 3, 3), ShapeError,
                       Message("op: x has the wrong number of axes, x is [2, 3]; expected 3 axes"));
  CHECK_THROWS_MATCHES(check_rank("op", "x", x, 3), ShapeError,
                       Message("op: x has the wrong number of axes, x is [2, 3]; expected 3 axes or more"));
  CHECK_THROWS_MATCHES(check_rank("op", "x", x, 3, 4), ShapeError,
                       Message("op: x has the wrong number of axes, x is [2, 3]; expected 3 to 4 axes"));
  CHECK_THROWS_AS(check_rank("op", "x", Tensor(), 0), ValueError);
}

TEST_CASE("check_indices names value, position and bound", "[error]") {
  const auto message = [](const char* value, int position) {
    return Message("op: index out of range, target is " + std::string(value) + " at position " +
                   std::to_string(position) + "; expected 0 <= target < 4");
  };
  const auto check = [](const Tensor& indices) { check_indices("op", "target", indices, 4); };
  CHECK_NOTHROW(check(tensor({std::int64_t{0}, std::int64_t{3}})));
  CHECK_NOTHROW(check(tensor({std::int32_t{0}, std::int32_t{3}})));
  CHECK_NOTHROW(check(zeros({0}, DType::i64)));
  CHECK_THROWS_MATCHES(check(tensor({std::int64_t{0}, std::int64_t{4}})), IndexError, message("4", 1));
  CHECK_THROWS_MATCHES(check(scalar(std::int32_t{-1})), IndexError, message("-1", 0));
  CHECK_THROWS_MATCHES(check(scalar(std::int64_t{1} << 31)), IndexError, message("2147483648", 0));
  CHECK_THROWS_MATCHES(check(scalar(std::numeric_limits<std::int64_t>::min())), IndexError,
                       message("-9223372036854775808", 0));
  const Tensor x = tensor<std::int64_t>({0, 1, 9, 2}, {2, 2});
  const Tensor transposed = view_of(x, permute_view("permute", x.view(), {1, 0}));
  CHECK_THROWS_MATCHES(check(x), IndexError, message("9", 2));
  CHECK_THROWS_MATCHES(check(transposed), IndexError, message("9", 1));  // positions are those of the view
  CHECK_THROWS_MATCHES(check(zeros({1})), DTypeError,
                       Message("op: dtype not supported, target is f32[1]; expected i32 or i64"));
  CHECK_THROWS_AS(check(Tensor()), ValueError);
  CHECK_THROWS_AS(check_indices("op", "target", zeros({1}, DType::i64), 0), IndexError);
}

TEST_CASE("check_value", "[error]") {
  CHECK_NOTHROW(check_value(true, "op", "p", 0.5, "0 <= p <= 1"));
  CHECK_THROWS_MATCHES(check_value(false, "op", "p", 1.5, "0 <= p <= 1"), ValueError,
                       Message("op: bad p, p is 1.5; expected 0 <= p <= 1"));
  CHECK_THROWS_MATCHES(check_value(false, "op", "p", std::numeric_limits<double>::quiet_NaN(), "a number"),
                       ValueError, Message("op: bad p, p is nan; expected a number"));
  CHECK_THROWS_MATCHES(check_value(false, "op", "n", std::int64_t{-1}, "n >= 0"), ValueError,
                       Message("op: bad n, n is -1; expected n >= 0"));
}

TEST_CASE("dtypes: names, sizes and what is refused", "[error]") {
  CHECK(name_of(DType::boolean) == "boolean");
  CHECK(name_of(DType::bf16) == "bf16");
  CHECK(size_of(DType::boolean) == 1);
  CHECK(size_of(DType::bf16) == 2);
  CHECK(size_of(DType::i32) == 4);
  CHECK(size_of(DType::f64) == 8);
  CHECK(is_floating(DType::f32));
  CHECK_FALSE(is_floating(DType::bf16));
  CHECK(is_integer(DType::i64));
  CHECK_FALSE(is_integer(DType::boolean));
  CHECK_THROWS_MATCHES(visit_dtype(DType::bf16, [](auto) {}), DTypeError,
                       Message("visit_floating: dtype is not floating, bf16; expected f32 or f64"));
}
