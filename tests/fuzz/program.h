#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Random programs for the fuzzers. A program is a list of steps, a step a few numbers that are read against
// what stands before it (modulo a count, say), so that any numbers make a legal program: leaving out steps of
// a failing one leaves a program, and it can be made as small as the failure allows.
namespace heed::test::fuzz {

struct Step {
  std::array<std::uint32_t, 4> numbers = {};
};
using Program = std::vector<Step>;

/// What became of a program: itself in readable form, and what went wrong; empty if nothing did.
struct Outcome {
  std::string text;
  std::string failure;
};
using Trial = std::function<Outcome(const Program&)>;

/// `steps` random steps; the same for the same seed on every machine.
Program random_program(std::uint64_t seed, std::size_t steps);

/// The trial's outcome; an exception is a failure.
Outcome outcome_of(const Trial& trial, const Program& program);

/// Leaves out steps, then sets numbers to 0, as long as the program fails.
Program smallest(Program program, const Trial& trial);

/// `usual`, times HEED_LONG_TESTS where that is set.
std::uint64_t rounds(std::uint64_t usual);

/// Tries programs of 1 to `most_steps` steps, one for each seed from 1 to rounds(usual); with
/// HEED_FUZZ_SEED=n that seed alone. Of the first that fails, seed and smallest form are printed and
/// the test fails.
void run(std::uint64_t usual, std::size_t most_steps, const Trial& trial);

}  // namespace heed::test::fuzz
