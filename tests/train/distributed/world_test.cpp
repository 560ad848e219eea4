#include "world.h"

#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/transpose.h>

using Catch::Contains;
using heed::Share;
using heed::Tensor;

TEST_CASE("shares cover a whole once and differ by one at most", "[report-50]") {
  for (const std::int64_t total : {0, 1, 2, 11, 100}) {
    for (const std::int64_t of : {1, 2, 3, 4, 7}) {
      std::int64_t next = 0;
      for (std::int64_t part = 0; part < of; ++part) {
        const Share share{part, of};
        CHECK(share.first(total) == next);
        CHECK((share.count(total) == total / of || share.count(total) == (total + of - 1) / of));
        next += share.count(total);
      }
      CHECK(next == total);
    }
  }
  CHECK(Share{0, 3}.count(100) == 34);
  CHECK(Share{2, 3}.count(100) == 33);
}

TEST_CASE("sums, maxima and agreement are the same on every rank") {
  const std::int64_t n = world().size();
  const std::int64_t r = world().rank();
  REQUIRE(r < n);
  CHECK(world().sum(r + 1) == n * (n + 1) / 2);
  CHECK(world().largest(10 * r) == 10 * (n - 1));
  CHECK(world().all(true));
  CHECK(world().all(r != n - 1) == false);
  // In the order of the ranks: 1e16 swallows each 1 that comes after it.
  CHECK(world().sum(r == 0 ? 1e16 : 1.0) == 1e16);
}

TEST_CASE("what is broadcast is rank 0's, whatever its strides", "[report-13][report-50]") {
  const auto mine = static_cast<float>(world().rank());
  Tensor a = heed::full({3, 100}, mine);
  Tensor b = heed::full({}, mine + 0.5, heed::DType::f64);
  Tensor base = heed::full({2, 5}, static_cast<double>(world().rank() + 7), heed::DType::i64);
  const heed::nn::NamedTensors tensors = {{"a", a}, {"b", b}, {"transposed", heed::transpose(base, 0, 1)}};
  const auto check = [&] { world().check_equal(tensors); };
  if (world().size() > 1) CHECK_THROWS_WITH(check(), Contains("a of rank 1"));
  world().broadcast(tensors);
  CHECK_NOTHROW(check());
  CHECK(a.to_vector<float>() == std::vector<float>(300, 0.0f));
  CHECK(b.item<double>() == 0.5);
  CHECK(base.to_vector<std::int64_t>() == std::vector<std::int64_t>(10, 7));
}

TEST_CASE("the first tensor that differs is named, and a rank that has it", "[report-50]") {
  if (world().size() == 1) return;
  const int odd = world().size() - 1;
  Tensor same = heed::zeros({4});
  Tensor other = heed::full({4}, world().rank() == odd ? -0.0 : 0.0);  // bits, not values
  const auto compare = [&] { world().check_equal({{"same", same}, {"other", other}}); };
  const std::string rank = std::to_string(odd);
  CHECK_THROWS_WITH(compare(),
                    "World: ranks do not have the same, other of rank " + rank + "; expected that of rank 0");
  const auto texts = [&] { world().check_equal("the text", world().rank() == odd ? "x" : "y"); };
  CHECK_THROWS_AS(texts(), heed::ValueError);
  const auto layouts = [&] { world().broadcast({{"a", heed::zeros({world().rank() + 1})}}); };
  CHECK_THROWS_WITH(layouts(), Contains("the layout of what is broadcast"));
}

TEST_CASE("no two ranks draw from one stream", "[report-36]") {
  const heed::Generator common(5, 3);
  const auto stream = world().own_generator(common).state();
  CHECK(stream.offset == 3);
  CHECK((stream.seed == 5) == (world().rank() == 0));
  for (int rank = 0; rank < world().size(); ++rank) {
    // A rank gives its seed, all others 0.
    const auto seed = static_cast<std::int64_t>(rank == world().rank() ? stream.seed : 0);
    const auto theirs = static_cast<std::uint64_t>(world().sum(seed));
    CHECK((theirs == stream.seed) == (rank == world().rank()));
  }
}
