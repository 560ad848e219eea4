#include "program.h"

#include <algorithm>
#include <stdexcept>

#include <catch2/catch.hpp>

using namespace heed::test::fuzz;

namespace {

// Fails where a step whose first number is 3 modulo 5 comes before one that is 1 modulo 5.
Outcome three_before_one(const Program& program) {
  bool three = false;
  for (const Step& step : program) {
    if (three && step.numbers[0] % 5 == 1) return {"", "found"};
    three = three || step.numbers[0] % 5 == 3;
  }
  return {};
}

}  // namespace

TEST_CASE("a failing program is made as small as its failure allows") {
  const Program program = random_program(1, 60);
  REQUIRE(three_before_one(program).failure == "found");
  const Program small = smallest(program, three_before_one);
  REQUIRE(small.size() == 2);
  CHECK(small[0].numbers[0] % 5 == 3);
  CHECK(small[1].numbers[0] % 5 == 1);
  for (const Step& step : small) {
    CHECK(std::all_of(step.numbers.begin() + 1, step.numbers.end(), [](auto n) { return n == 0; }));
  }
}

TEST_CASE("an exception is a failure") {
  const Trial throws = [](const Program&) -> Outcome { throw std::runtime_error("broken"); };
  CHECK(outcome_of(throws, {}).failure == "exception: broken");
  CHECK(smallest(random_program(2, 9), throws).empty());
}

TEST_CASE("a seed means one program") {
  const Program a = random_program(3, 4);
  const Program b = random_program(3, 4);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].numbers == b[i].numbers);
  CHECK(a[0].numbers != random_program(4, 4)[0].numbers);
}
