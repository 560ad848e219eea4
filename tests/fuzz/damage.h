#pragma once

#include <random>
#include <string>

namespace heed::test::fuzz {

/// Damages files as accidents and strangers would: flips, cuts, repeats, odd pieces, and numbers in
/// place of numbers.
class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  /// `bytes` with one to three faults.
  std::string operator()(std::string bytes);

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  void once(std::string& bytes);
  void replace_number(std::string& bytes, std::size_t at);

  std::mt19937 random_;
};

}  // namespace heed::test::fuzz
