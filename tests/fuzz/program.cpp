#include "program.h"

#include <cstdlib>
#include <exception>
#include <random>

#include <catch2/catch.hpp>

namespace heed::test::fuzz {

Program random_program(std::uint64_t seed, std::size_t steps) {
  std::mt19937_64 random(seed);
  Program program(steps);
  for (Step& step : program) {
    for (auto& number : step.numbers) number = static_cast<std::uint32_t>(random());
  }
  return program;
}

Outcome outcome_of(const Trial& trial, const Program& program) {
  try {
    return trial(program);
  } catch (const std::exception& e) {
    return {"", std::string("exception: ") + e.what()};
  }
}

Program smallest(Program program, const Trial& trial) {
  const auto fails = [&](const Program& p) { return !outcome_of(trial, p).failure.empty(); };
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::size_t i = program.size(); i-- > 0;) {
      Program without = program;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      if (!fails(without)) continue;
      program = std::move(without);
      shorter = true;
    }
  }
  for (std::size_t i = 0; i < program.size(); ++i) {
    for (std::size_t k = 0; k < program[i].numbers.size(); ++k) {
      Program simpler = program;
      simpler[i].numbers[k] = 0;
      if (fails(simpler)) program = std::move(simpler);
    }
  }
  return program;
}

std::uint64_t rounds(std::uint64_t usual) {
  const char* factor = std::getenv("HEED_LONG_TESTS");
  return factor == nullptr ? usual : usual * std::strtoull(factor, nullptr, 10);
}

void run(std::uint64_t usual, std::size_t most_steps, const Trial& trial) {
  std::uint64_t first = 1;
  std::uint64_t last = rounds(usual);
  if (const char* only = std::getenv("HEED_FUZZ_SEED")) first = last = std::strtoull(only, nullptr, 10);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Program program = random_program(seed, 1 + seed % most_steps);
    if (outcome_of(trial, program).failure.empty()) continue;
    const Outcome small = outcome_of(trial, smallest(program, trial));
    FAIL("seed " << seed << " fails (HEED_FUZZ_SEED=" << seed << " repeats it); its smallest form:\n"
                 << small.text << small.failure);
  }
  SUCCEED(last - first + 1 << " programs");
}

}  // namespace heed::test::fuzz
