// A query's results have the same bits alone and among others, wherever its row stands: a batch, a chunk of a
// prompt and a step of decoding give what the whole pass gives.
#include <cstdlib>
#include <span>
#include <string>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/compare.h>
#include <heed/ops/kernels/targets.h>
#include <heed/ops/slice.h>

#include "../../support/same_bits.h"

using namespace heed;
using heed::test::same_bits;

namespace {

// Operands and options of all queries, from a seed.
class Problem {
 public:
  Problem(std::uint64_t seed, DType dtype, std::int64_t size) : generator_(seed), dtype_(dtype) {
    queries = 65 + below(80);
    const std::int64_t keys = 1 + below(200);
    start_ = often() ? 0 : keys / 2;
    q = normal({1, heads, queries, size}).set_requires_grad();
    k = normal({1, heads, keys, size});
    v = normal({1, heads, keys, size + 3});
    cotangent = normal({1, heads, queries, size + 3});
    if (often()) mask_ = mask_ & AttentionMask::causal();
    if (often()) mask_ = mask_ & AttentionMask::window(70, 3);
    if (often()) mask_ = mask_ & AttentionMask::alibi(normal({heads}));
    if (often()) attend_ = lt(rand({queries, keys}, generator_, DType::f64), 0.8);
    if (often()) bias_ = normal({queries, keys});
    if (often()) {
      keep_ = lt(rand({queries, keys}, generator_, DType::f64), 0.7);
      options_.dropout = 0.3;
    }
    if (often()) options_.softcap = 5;
    if (often()) options_.sink = normal({heads});
    options_.need_lse = options_.need_statistics = options_.need_weights = true;
  }

  // Attention of the queries begin … end, and the gradient of their rows of q.
  AttentionResult of_rows(std::int64_t begin, std::int64_t end, Tensor& dq) const {
    AttentionOptions options = options_;
    options.mask = mask_.query_start(start_ + begin);
    const auto rows = [&](const Tensor& x) { return slice(x, -2, begin, end); };
    if (attend_.defined()) options.mask = options.mask & AttentionMask::attend(rows(attend_));
    if (bias_.defined()) options.mask = options.mask & AttentionMask::bias(rows(bias_));
    if (keep_.defined()) options.dropout_keep = rows(keep_);
    const Tensor some = rows(q).detach().set_requires_grad();
    const AttentionResult result = attention(some, k, v, options);
    dq = grad(std::span(&result.output, 1), std::span(&some, 1), {.grad_outputs = {rows(cotangent)}})[0];
    return result;
  }

  static constexpr std::int64_t heads = 2;
  std::int64_t queries = 0;
  Tensor q, k, v, cotangent;

 private:
  std::int64_t below(std::int64_t n) { return randint(0, n, {}, generator_).item<std::int64_t>(); }
  bool often() { return below(2) == 1; }
  Tensor normal(const Shape& shape) { return randn(shape, generator_, dtype_); }

  Generator generator_;
  DType dtype_;
  std::int64_t start_ = 0;
  AttentionMask mask_;
  Tensor attend_, bias_, keep_;  // [Tq, Tk], undefined where absent
  AttentionOptions options_;
};

void check_rows(const Problem& problem) {
  Tensor dq_of_all, dq;
  const AttentionResult all = problem.of_rows(0, problem.queries, dq_of_all);
  for (const std::int64_t count : {1, 2, 17, 64}) {
    for (std::int64_t begin = 0; begin + count <= problem.queries; begin += 1 + problem.queries / 5) {
      CAPTURE(count, begin);
      const AttentionResult some = problem.of_rows(begin, begin + count, dq);
      const auto rows = [&](const Tensor& x) { return slice(x, 2, begin, begin + count); };
      CHECK(same_bits(some.output, rows(all.output)));
      CHECK(same_bits(some.lse, rows(all.lse)));
      CHECK(same_bits(some.entropy, rows(all.entropy)));
      CHECK(same_bits(some.largest_logit, rows(all.largest_logit)));
      CHECK(same_bits(some.weights, rows(all.weights)));
      CHECK(same_bits(dq, rows(dq_of_all)));
    }
  }
}

}  // namespace

TEST_CASE("rows of attention have the same bits alone and among others", "[attention][bits]") {
  const char* chosen = std::getenv("HEED_SIMD");
  const auto dtype = GENERATE(DType::f32, DType::f64);
  const auto size = GENERATE(5, 32, 64);
  const auto seed = GENERATE(range(1, 13));
  CAPTURE(name_of(dtype), size, seed);
  const Problem problem(static_cast<std::uint64_t>(seed), dtype, size);
  for (const std::string& target : kernels::simd_targets()) {
    CAPTURE(target);
    REQUIRE(kernels::use_simd_target(target));
    check_rows(problem);
  }
  REQUIRE(kernels::use_simd_target(chosen == nullptr ? "" : chosen));
}
