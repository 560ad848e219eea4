#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/elements.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/view.h>
#include <heed/ops/all_finite.h>

using heed::DType;
using heed::Tensor;
using heed::detail::all_finite;

namespace {

template <class T>
void check_each_place() {
  using Limits = std::numeric_limits<T>;
  Tensor whole = heed::full({3, 5, 7}, Limits::max(), heed::dtype_of<T>);
  const std::vector<Tensor> layouts = {
      whole, heed::view_of(whole, heed::permute_view("test", whole.view(), {2, 0, 1})),
      heed::view_of(whole, heed::slice_view("test", whole.view(), 1, 0, {}, 2))};
  for (const Tensor& x : layouts) CHECK(all_finite(x));
  for (const T bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    for (std::int64_t i = 0; i < whole.numel(); ++i) {
      whole.mutable_data<T>()[i] = bad;
      CHECK_FALSE(all_finite(layouts[0]));
      CHECK_FALSE(all_finite(layouts[1]));
      CHECK(all_finite(layouts[2]) == (i / 7 % 5 % 2 == 1));  // axis 1 has rows 0, 2 and 4 alone
      whole.mutable_data<T>()[i] = T(1);
    }
  }
}

}  // namespace

TEST_CASE("a tensor is all finite, whatever its layout, or one element is not", "[all_finite]") {
  check_each_place<float>();
  check_each_place<double>();
  CHECK(all_finite(Tensor()));
  CHECK(all_finite(heed::zeros({0, 3})));
  CHECK_THROWS_AS(all_finite(heed::zeros({2}, DType::i64)), heed::DTypeError);
}
