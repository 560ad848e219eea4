#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/sum.h>
#include <heed/train/distributed/gradient_reducer.h>

#include "world.h"

using heed::Tensor;
using heed::train::distributed::GradientReducer;

namespace {

// Parameters whose names say what becomes of them in `loss`.
struct Parameters {
  Tensor all = heed::full({50}, 2.0).set_requires_grad();
  Tensor wide = heed::full({7, 9}, 3.0, heed::DType::f64).set_requires_grad();
  Tensor last_rank = heed::full({3}, 4.0).set_requires_grad();
  Tensor nobody = heed::full({2, 2}, 5.0).set_requires_grad();
  Tensor tied = heed::full({5}, 6.0).set_requires_grad();

  heed::nn::NamedTensors named() const {
    return {{"tied", tied},           {"all", all},       {"wide", wide},
            {"last_rank", last_rank}, {"nobody", nobody}, {"again", tied}};
  }
  // On rank r: (r+1) Σ all² + Σ tied² + 2 Σ tied, and Σ last_rank on the last rank.
  Tensor loss() const {
    Tensor result =
        heed::sum(all * all) * (world().rank() + 1) + heed::sum(tied * tied) + heed::sum(tied) * 2;
    if (world().rank() + 1 == world().size()) result = result + heed::sum(last_rank);
    return result;
  }
  Tensor wide_loss() const { return heed::sum(wide) * (world().rank() + 1); }

  void check(int times) const {
    const std::int64_t n = world().size();
    const auto ranks = static_cast<float>(n * (n + 1) / 2);
    const auto t = static_cast<float>(times);
    CHECK(all.grad().to_vector<float>() == std::vector<float>(50, t * 4 * ranks));
    CHECK(wide.grad().to_vector<double>() == std::vector<double>(63, ranks));
    CHECK(last_rank.grad().to_vector<float>() == std::vector<float>(3, t));
    CHECK_FALSE(nobody.grad().defined());
    CHECK(tied.grad().to_vector<float>() == std::vector<float>(5, t * static_cast<float>(14 * n)));
  }
};

}  // namespace

TEST_CASE("gradients are summed over the ranks, those that are not there as zeros", "[report-50]") {
  for (const bool overlap : {true, false}) {
    for (const std::int64_t bytes : {1, 100, 1 << 20}) {
      CAPTURE(overlap, bytes);
      const Parameters p;
      GradientReducer reducer(p.named(), world(), {.bucket_bytes = bytes, .overlap = overlap});
      for (int step = 0; step < 2;
           ++step) {  // wide takes part in the earlier of two backwards, the others in both
        for (auto& [name, parameter] : p.named()) parameter.zero_grad();
        heed::backward(p.loss());
        heed::backward(p.wide_loss());
        reducer.begin();
        heed::backward(p.loss());
        reducer.finish();
        if (world().size() > 1) p.check(2);
      }
    }
  }
}

TEST_CASE("a rank that has nothing to do takes part", "[report-50]") {
  if (world().size() == 1) return;
  Tensor x = heed::ones({10}).set_requires_grad();
  GradientReducer reducer({{"x", x}}, world());
  if (world().rank() == 0) {
    reducer.begin();
    heed::backward(heed::sum(x));
  }
  reducer.finish();
  CHECK(x.grad().to_vector<float>() == std::vector<float>(10, 1.0f));
}

TEST_CASE("a reducer sees one backward, and none when it is gone") {
  if (world().size() == 1) return;
  Tensor x = heed::ones({4}).set_requires_grad();
  {
    GradientReducer reducer({{"x", x}}, world());
    reducer.begin();
    heed::backward(heed::sum(x));
    CHECK_THROWS_AS(heed::backward(heed::sum(x)), heed::GradError);
    reducer.finish();
  }
  x.zero_grad();
  heed::backward(heed::sum(x));
  CHECK(x.grad().to_vector<float>() == std::vector<float>(4, 1.0f));
  CHECK_THROWS_AS(GradientReducer({{"x", x}}, world(), {.bucket_bytes = 0}), heed::ValueError);
}
