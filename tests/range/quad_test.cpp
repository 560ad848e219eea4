#include "../support/quad.h"

#include <limits>

#include <catch2/catch.hpp>

using namespace heed::test;

TEMPLATE_TEST_CASE("errors are counted in units in the last place", "", float, double) {
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  const Quad least = static_cast<Quad>(Limits::denorm_min());
  const Quad largest = static_cast<Quad>(Limits::max());
  const T infinity = Limits::infinity();
  const double never = std::numeric_limits<double>::infinity();
  CHECK(spacing_at<T>(1) == static_cast<Quad>(Limits::epsilon()));
  CHECK(spacing_at<T>(static_cast<Quad>(Limits::min())) == least);
  CHECK(spacing_at<T>(least / 8) == least);
  CHECK(spacing_at<T>(0) == least);
  CHECK(spacing_at<T>(largest * 8) == largest - static_cast<Quad>(std::nextafter(Limits::max(), T(0))));

  CHECK(ulps_off<T>(std::nextafter(T(1), T(2)), 1) == 1);
  CHECK(ulps_off<T>(std::nextafter(T(1), T(0)), 1) == 0.5);
  CHECK(ulps_off<T>(T(0), 3 * least) == 3);
  CHECK(ulps_off<T>(Limits::epsilon(), 0, quad(1.5)) == 1);
  CHECK(ulps_off<T>(Limits::quiet_NaN(), -sqrtq(quad(-1))) == 0);
  CHECK(ulps_off<T>(Limits::quiet_NaN(), 1) == never);
  CHECK(ulps_off<T>(T(1), static_cast<Quad>(Limits::quiet_NaN())) == never);
  CHECK(ulps_off<T>(infinity, static_cast<Quad>(infinity)) == 0);
  CHECK(ulps_off<T>(-infinity, static_cast<Quad>(infinity)) == never);
  CHECK(ulps_off<T>(Limits::max(), static_cast<Quad>(infinity)) == never);
  CHECK(ulps_off<T>(infinity, largest * largest) == 0);
  CHECK(ulps_off<T>(Limits::max(), largest * largest) == 1);
  CHECK(ulps_off<T>(infinity, 1) > 1e6);
}

TEMPLATE_TEST_CASE("a walk through the range meets each power of two, its ends and the switches", "", float,
                   double) {
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  const auto walk = whole_range<T>(1, {-3});
  const auto meets = [&](T x) { return std::find(walk.begin(), walk.end(), x) != walk.end(); };
  for (T x = Limits::denorm_min(); x < Limits::infinity(); x *= 2) REQUIRE((meets(x) && meets(-x)));
  CHECK((meets(0) && meets(Limits::max()) && meets(-Limits::infinity()) && std::isnan(walk[0])));
  CHECK((meets(3) && meets(-std::nextafter(T(3), T(4))) && meets(std::nextafter(T(3), T(2)))));
}
