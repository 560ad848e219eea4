#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include <catch2/catch.hpp>

#include <heed/ops/kernels/targets.h>

using namespace heed;

namespace {

// HEED_SIMD=NAME runs this program's tests on that instruction set, where the CPU has it.
const bool chosen = [] {
  const char* name = std::getenv("HEED_SIMD");
  if (name == nullptr) return false;
  if (!kernels::use_simd_target(name))
    throw std::runtime_error(std::string("HEED_SIMD: no such target, ") + name);
  return true;
}();

}  // namespace

TEST_CASE("the instruction sets of kernels can be named and chosen") {
  const std::vector<std::string> targets = kernels::simd_targets();
  REQUIRE_FALSE(targets.empty());
  if (chosen) {
    REQUIRE(targets == std::vector<std::string>{std::getenv("HEED_SIMD")});
    return;
  }
  REQUIRE_FALSE(kernels::use_simd_target("none"));
  for (const std::string& target : targets) {
    REQUIRE(kernels::use_simd_target(target));
    REQUIRE(kernels::simd_targets() == std::vector<std::string>{target});
  }
  REQUIRE(kernels::use_simd_target(""));
  REQUIRE(kernels::simd_targets() == targets);
}
