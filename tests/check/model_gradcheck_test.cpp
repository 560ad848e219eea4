#include <catch2/catch.hpp>

#include <heed/check/model_gradcheck.h>
#include <heed/core/fusion.h>
#include <heed/core/random.h>

using namespace heed;

// The script tests/faults/run plants a fault in one backward rule at a time and expects this to fail.
TEST_CASE("every parameter of a two-layer language model has the gradient that differences give",
          "[model-gradcheck]") {
  Generator generator(1);
  const auto require_passed = [](const nn::CausalLM& model) {
    const auto result = check::gradcheck_model(model, {.elements = 30, .batch = 2});
    INFO(result.report);
    REQUIRE(result.passed);
    REQUIRE(result.elements > 300);
    REQUIRE(result.directions == 5);
  };
  for (const bool bias : {true, false}) {
    const nn::CausalLM model(
        {.vocab_size = 11, .context = 8, .num_layers = 2, .num_heads = 2, .embed_dim = 12, .bias = bias},
        generator);
    require_passed(model);
    const NoFusion guard;
    require_passed(model);
  }
}
