#include <functional>
#include <limits>
#include <sstream>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/node.h>
#include <heed/core/print.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;
using Catch::Matchers::Message;

namespace {

using Values = std::vector<double>;

Tensor transposed(const Tensor& x) { return view_of(x, permute_view("transpose", x.view(), {1, 0})); }
Tensor sliced(const Tensor& x, std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
  return view_of(x, slice_view("slice", x.view(), 0, start, stop, step));
}

}  // namespace

TEST_CASE("every write bumps the version that views share", "[tensor]") {
  Tensor x = tensor({1.0, 2.0, 3.0, 4.0}, {2, 2});
  Tensor row = view_of(x, select_view("select", x.view(), 0, 1));
  const auto start = x.storage()->version();
  row.fill_(7);
  CHECK(x.storage()->version() == start + 1);
  x.copy_(zeros({2, 2}, DType::f64));
  CHECK(row.storage()->version() == start + 2);
  x.mutable_data<double>()[3] = 5;
  CHECK(x.storage()->version() == start + 3);
  CHECK(row.to_vector<double>() == Values{0, 5});
  CHECK(x.data<double>()[3] == 5);
  CHECK(x.storage()->version() == start + 3);
}

TEST_CASE("writes to a tensor with history are refused while gradients are on", "[tensor]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  Tensor y = scale(x, 2);
  const char* leaf_message =
      "fill_: in-place write to a tensor with history, [2] made by leaf; expected a NoGrad scope, or a "
      "detached tensor";
  CHECK_THROWS_MATCHES(x.fill_(0), GradError, Message(leaf_message));
  CHECK_THROWS_MATCHES(y.mutable_data<double>(), GradError,
                       Message("mutable_data: in-place write to a tensor with history, [2] made by scale; "
                               "expected a NoGrad scope, or a detached tensor"));
  CHECK_THROWS_AS(y.copy_(tensor({0.0, 0.0})), GradError);
  CHECK(x.to_vector<double>() == Values{1, 2});
  CHECK(x.storage()->version() == 1);  // the one of its making
  {
    const NoGrad guard;
    x.fill_(5);
  }
  x.detach().fill_(6);
  CHECK(x.to_vector<double>() == Values{6, 6});
}

TEST_CASE("a write to a view whose indices share elements is refused", "[tensor]") {
  const Tensor one = ones({1, 1});
  Tensor x = view_of(one, expand_view("expand", one.view(), {3, 4}));
  CHECK_THROWS_MATCHES(x.fill_(2), ValueError,
                       Message("fill_: in-place write to a view whose indices share elements, shape [3, 4] "
                               "with strides [0, 0]; expected a copy of it"));
  CHECK_THROWS_AS(x.mutable_data<float>(), ValueError);
  CHECK_THROWS_AS(x.copy_(ones({3, 4})), ValueError);
  CHECK(one.item<float>() == 1);
}

TEST_CASE("fill_ and copy_ on views touch their own elements alone", "[tensor]") {
  Tensor x = zeros({2, 3}, DType::f64);
  view_of(x, slice_view("slice", x.view(), 1, {}, {}, 2)).fill_(1.5);
  CHECK(x.to_vector<double>() == Values{1.5, 0, 1.5, 1.5, 0, 1.5});
  transposed(x).copy_(tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {3, 2}));
  CHECK(x.to_vector<double>() == Values{1, 3, 5, 2, 4, 6});
  Tensor five = zeros({5}, DType::f64);
  sliced(five, 4, -6, -2).copy_(tensor({1.0, 2.0, 3.0}));
  CHECK(five.to_vector<double>() == Values{3, 0, 2, 0, 1});
  five.copy_(view_of(scalar(8.0), expand_view("expand", scalar(8.0).view(), {5})));
  CHECK(five.to_vector<double>() == Values{8, 8, 8, 8, 8});
}

TEST_CASE("copy_ between overlapping views copies the old elements", "[tensor]") {
  Tensor x = tensor({1.0, 2.0, 3.0, 4.0});
  sliced(x, 1, 4).copy_(sliced(x, 0, 3));
  CHECK(x.to_vector<double>() == Values{1, 1, 2, 3});
  sliced(x, 0, 3).copy_(sliced(x, 1, 4));
  CHECK(x.to_vector<double>() == Values{1, 2, 3, 3});
  sliced(x, 0, 4).copy_(sliced(x, 3, -5, -1));
  CHECK(x.to_vector<double>() == Values{3, 3, 2, 1});
  Tensor square = tensor({1.0, 2.0, 3.0, 4.0}, {2, 2});
  square.copy_(transposed(square));
  CHECK(square.to_vector<double>() == Values{1, 3, 2, 4});
  const Ref<Storage> whole = Storage::allocate(32);
  Tensor low(Storage::window(whole, 0, 24), contiguous_view({3}), DType::f64);
  Tensor high(Storage::window(whole, 8, 24), contiguous_view({3}), DType::f64);
  low.copy_(tensor({1.0, 2.0, 3.0}));
  high.copy_(low);
  CHECK(high.to_vector<double>() == Values{1, 2, 3});
}

TEST_CASE("copy_ refuses other shapes and dtypes", "[tensor]") {
  Tensor x = zeros({2});
  CHECK_THROWS_MATCHES(
      x.copy_(zeros({3})), ShapeError,
      Message("copy_: shapes differ, target is [2] and source is [3]; expected equal shapes"));
  CHECK_THROWS_MATCHES(x.copy_(zeros({2}, DType::f64)), DTypeError,
                       Message("copy_: dtypes differ, target is f32[2] and source is f64[2]; expected one "
                               "dtype (use cast; 1.0f is f32)"));
  CHECK_THROWS_AS(x.copy_(Tensor()), ValueError);
}

TEST_CASE("item and data check element count and dtype", "[tensor]") {
  CHECK(tensor({4.0}, {1, 1, 1}).item<double>() == 4);
  CHECK(scalar(true).item<bool>());
  CHECK_THROWS_MATCHES(tensor({1.0, 2.0}).item<double>(), ShapeError,
                       Message("item: tensor has not one element, it is [2]; expected one element"));
  CHECK_THROWS_AS(zeros({0}).item<float>(), ShapeError);
  CHECK_THROWS_MATCHES(
      scalar(1.0).item<float>(), DTypeError,
      Message("item: f32 does not hold every f64, tensor is f64[]; expected item<double>(), or a "
              "cast to f32 first"));
  CHECK_THROWS_MATCHES(scalar(1.0).data<float>(), DTypeError,
                       Message("data: dtype not supported, tensor is f64[]; expected f32"));
  CHECK_THROWS_AS(scalar(1.0).mutable_data<std::int64_t>(), DTypeError);
  CHECK_THROWS_AS(scalar(1.0).to_vector<float>(), DTypeError);
}

namespace {

constexpr int held_bits(DType dtype) {  // whole numbers up to 2^bits are exact
  switch (dtype) {
    case DType::boolean:
      return 1;
    case DType::i32:
      return 31;
    case DType::i64:
      return 63;
    case DType::f32:
      return 24;
    default:
      return 53;
  }
}

template <class To, class From>
void check_reading_as() {
  const Tensor x = ones({2}, dtype_of<From>);
  const bool fits = held_bits(dtype_of<From>) <= held_bits(dtype_of<To>) &&
                    (is_floating(dtype_of<To>) || !is_floating(dtype_of<From>));
  CAPTURE(name_of(dtype_of<From>), name_of(dtype_of<To>));
  if (fits) {
    CHECK(ones({1}, dtype_of<From>).template item<To>() == To(1));
    CHECK(x.template to_vector<To>() == std::vector<To>(2, To(1)));
    return;
  }
  const std::string asked(name_of(dtype_of<To>));
  CHECK_THROWS_WITH(ones({1}, dtype_of<From>).template item<To>(),
                    Catch::StartsWith("item: " + asked + " does not hold every "));
  CHECK_THROWS_WITH(x.template to_vector<To>(),
                    Catch::StartsWith("to_vector: " + asked + " does not hold every "));
}

template <class... From>
void check_reading() {
  const auto row = []<class To>(std::type_identity<To>) { (check_reading_as<To, From>(), ...); };
  (row(std::type_identity<From>{}), ...);
}

}  // namespace

TEST_CASE("item and to_vector widen, and never narrow", "[tensor][fault-48]") {
  check_reading<bool, std::int32_t, std::int64_t, float, double>();
  CHECK(tensor({0.1f}).item<double>() == static_cast<double>(0.1f));
  CHECK(tensor({2, 3}).to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("whatever an undefined tensor is asked names the call", "[tensor][fault-44]") {
  Tensor none;
  const auto require_named = [&](const std::string& call, const std::function<void()>& ask) {
    INFO(call);
    CHECK_THROWS_MATCHES(
        ask(), ValueError,
        Message(call + ": tensor is undefined; expected a tensor (there is none for a gradient "
                       "before backward or a part that is off)"));
  };
  require_named("shape", [&] { none.shape(); });
  require_named("strides", [&] { none.strides(); });
  require_named("offset", [&] { none.offset(); });
  require_named("view", [&] { none.view(); });
  require_named("rank", [&] { none.rank(); });
  require_named("size", [&] { none.size(0); });
  require_named("numel", [&] { none.numel(); });
  require_named("dtype", [&] { none.dtype(); });
  require_named("is_contiguous", [&] { none.is_contiguous(); });
  require_named("storage", [&] { none.storage(); });
  require_named("owns_storage_alone", [&] { none.owns_storage_alone(); });
  require_named("data", [&] { none.data<float>(); });
  require_named("mutable_data", [&] { none.mutable_data<float>(); });
  require_named("fill_", [&] { none.fill_(1); });
  require_named("item", [&] { none.item<float>(); });
  require_named("to_vector", [&] { none.to_vector<float>(); });
  require_named("set_requires_grad", [&] { none.set_requires_grad(); });
  require_named("set_grad", [&] { none.set_grad({}); });
  require_named("set_grad", [&] { none.zero_grad(); });
  require_named("register_hook", [&] { none.register_hook([](const Tensor& g) { return g; }); });
  require_named("register_stored_hook", [&] { none.register_stored_hook([](const Tensor&) {}); });
  require_named("detach", [&] { none.detach(); });
  // The usual way to one: before backward there is no gradient.
  const Tensor x = zeros({2}).set_requires_grad();
  require_named("rank", [&] { x.grad().rank(); });
}

TEST_CASE("to_vector is row-major whatever the strides", "[tensor]") {
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {3, 2});
  CHECK(transposed(x).to_vector<double>() == Values{1, 3, 5, 2, 4, 6});
  CHECK(sliced(x, 2, -4, -2).to_vector<double>() == Values{5, 6, 1, 2});
  CHECK(tensor({true, false}).to_vector<bool>() == std::vector<bool>{true, false});
  CHECK(zeros({0, 3}).to_vector<float>().empty());
}

TEST_CASE("an undefined tensor is answered with an error, not a crash", "[tensor]") {
  Tensor none;
  CHECK_FALSE(none.defined());
  CHECK_FALSE(none.requires_grad());
  CHECK(none.is_leaf());
  CHECK_FALSE(none.grad().defined());
  CHECK_THROWS_MATCHES(none.fill_(1), ValueError,
                       Message("fill_: tensor is undefined; expected a tensor (there is none for a gradient "
                               "before backward or a part that is off)"));
  CHECK_THROWS_AS(none.copy_(none), ValueError);
  CHECK_THROWS_AS(none.item<float>(), ValueError);
  CHECK_THROWS_AS(none.data<float>(), ValueError);
  CHECK_THROWS_AS(none.mutable_data<float>(), ValueError);
  CHECK_THROWS_AS(none.to_vector<float>(), ValueError);
  CHECK_THROWS_AS(none.detach(), ValueError);
  CHECK_THROWS_AS(none.size(0), ValueError);
  CHECK_THROWS_AS(none.set_requires_grad(), ValueError);
  CHECK(to_string(none) == "undefined");
}

TEST_CASE("sizes by axis", "[tensor]") {
  const Tensor x = zeros({2, 3});
  CHECK(x.size(0) == 2);
  CHECK(x.size(-1) == 3);
  CHECK_THROWS_AS(x.size(2), IndexError);
  CHECK_THROWS_MATCHES(scalar(1.0).size(0), IndexError,
                       Message("size: a tensor without axes has no size, axis is 0"));
}

TEST_CASE("leaves", "[tensor]") {
  Tensor x = zeros({2});
  CHECK(x.is_leaf());
  CHECK_FALSE(x.requires_grad());
  x.set_requires_grad();
  CHECK(x.requires_grad());
  CHECK(x.is_leaf());
  x.set_requires_grad(false);
  CHECK_FALSE(x.requires_grad());
  Tensor integers = tensor({std::int64_t{1}});
  CHECK_THROWS_MATCHES(
      integers.set_requires_grad(), DTypeError,
      Message("set_requires_grad: dtype not supported, tensor is i64[1]; expected f32 or f64"));
  Tensor y = scale(leaf(1.0), 2);
  CHECK_FALSE(y.is_leaf());
  CHECK_NOTHROW(y.set_requires_grad());
  CHECK_THROWS_MATCHES(y.set_requires_grad(false), GradError,
                       Message("set_requires_grad: tensor has history, it was made by scale; expected a leaf "
                               "(use detach)"));
  CHECK_FALSE(y.detach().requires_grad());
  CHECK(y.detach().data<double>() == y.data<double>());
}

TEST_CASE("handles share; copies of elements do not", "[tensor]") {
  Tensor x = tensor({1.0, 2.0});
  Tensor same = x;
  Tensor other = copy_of(x);
  x.fill_(3);
  CHECK(same.to_vector<double>() == Values{3, 3});
  CHECK(other.to_vector<double>() == Values{1, 2});
}

TEST_CASE("factories", "[tensor]") {
  CHECK(eye(2, DType::f64).to_vector<double>() == Values{1, 0, 0, 1});
  CHECK(eye(0).numel() == 0);
  CHECK_THROWS_AS(eye(-1), ShapeError);
  using Integers = std::vector<std::int64_t>;
  CHECK(arange(0, 3).to_vector<std::int64_t>() == Integers{0, 1, 2});
  CHECK(arange(5, 0, -2).to_vector<std::int64_t>() == Integers{5, 3, 1});
  CHECK(arange(0, 5, 2).to_vector<std::int64_t>() == Integers{0, 2, 4});
  CHECK(arange(3, 0).numel() == 0);
  CHECK(arange(0, 3, -1).numel() == 0);
  CHECK(arange(0, 0, -1).numel() == 0);
  constexpr std::int64_t max64 = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t min64 = std::numeric_limits<std::int64_t>::min();
  CHECK(arange(0, max64, max64).to_vector<std::int64_t>() == Integers{0});
  CHECK(arange(-1, min64, min64).to_vector<std::int64_t>() == Integers{-1});
  CHECK_THROWS_AS(arange(min64, max64), ShapeError);
  CHECK_THROWS_MATCHES(arange(0, 1, 0), ValueError,
                       Message("arange: step is 0; expected a step other than 0"));
  CHECK_THROWS_MATCHES(tensor({1.0, 2.0}, {3}), ShapeError,
                       Message("tensor: number of elements differs, 2 values and the shape [3]; expected 3 "
                               "values"));
  CHECK_THROWS_MATCHES(empty({1}, DType::bf16), DTypeError,
                       Message("empty: dtype is reserved, bf16; expected boolean, i32, i64, f32 or f64"));
}

TEST_CASE("scalars take the dtype of the tensor", "[tensor]") {
  CHECK(full({1}, 0.5, DType::boolean).item<bool>());
  CHECK(full({1}, 2.9, DType::i32).item<std::int32_t>() == 2);
  constexpr std::int64_t odd = (std::int64_t{1} << 53) + 1;  // not a double
  CHECK(full({1}, odd, DType::i64).item<std::int64_t>() == odd);
  CHECK(full({1}, 3, DType::f32).item<float>() == 3.0f);
}

TEST_CASE("printing", "[print]") {
  CHECK(to_string(tensor({1.f, 2.f, 3.f, 4.f}, {2, 2})) == "f32[2, 2] [[1, 2], [3, 4]]");
  CHECK(to_string(scalar(0.1)) == "f64[] 0.1");
  CHECK(to_string(tensor({true, false})) == "boolean[2] [true, false]");
  CHECK(to_string(zeros({0})) == "f32[0] []");
  CHECK(to_string(zeros({2, 0})) == "f32[2, 0] [[], []]");
  CHECK(to_string(transposed(tensor({1.0, 2.0, 3.0, 4.0}, {2, 2}))) == "f64[2, 2] [[1, 3], [2, 4]]");
  CHECK(to_string(arange(0, 7)) == "i64[7] [0, 1, 2, 3, 4, 5, 6]");
  CHECK(to_string(arange(0, 100)) == "i64[100] [0, 1, 2, ..., 97, 98, 99]");
  CHECK(to_string(arange(0, 100), 1) == "i64[100] [0, ..., 99]");
  CHECK(to_string(arange(0, 100), 0) == "i64[100] [...]");
  CHECK(to_string(arange(0, 3), std::numeric_limits<int>::max()) == "i64[3] [0, 1, 2]");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(to_string(tensor({nan, -std::numeric_limits<double>::infinity()})) == "f64[2] [nan, -inf]");
  std::ostringstream out;
  out << arange(0, 2);
  CHECK(out.str() == "i64[2] [0, 1]");
}
