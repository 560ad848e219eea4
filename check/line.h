#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/check/function.h>
#include <heed/check/verdict.h>
#include <heed/core/random.h>

namespace heed::check {

/// A function along a random line x + t v through its inputs, with all results that have history as one row of numbers.
class Line {
 public:
  /// Throws  DTypeError, GradError (as `leaves_of`, naming `op`).
  Line(const char* op, const Function& function, const std::vector<Tensor>& inputs, Generator& generator);

  /// Whether there is an element to move.
  bool moves() const { return wanted_elements(leaves_) > 0; }
  std::vector<double> at(double t);
  /// J v at t = 0, one tensor for each result with history.
  std::vector<Tensor> jacobian_product();
  /// J v as a row; or the verdict and, in words, what stands between the function and a comparison.
  std::vector<double> examine(Verdict& verdict, std::string& problem);
  /// Rounding noise of each number, one standard deviation, measured at twelve very near points.
  std::vector<double> noise();

  /// The coarser epsilon of inputs and results.
  double epsilon() const { return epsilon_; }
  std::int64_t evaluations() const { return evaluations_; }
  /// Which element of which output an entry of the row is.
  GradcheckElement place(std::int64_t entry) const;

 private:
  std::vector<Tensor> evaluate();
  Tensor direction(std::size_t input) const;

  const Function& function_;
  std::vector<Tensor> leaves_;
  std::vector<std::vector<double>> starts_;
  std::vector<std::vector<double>> directions_;
  std::vector<bool> used_;
  std::vector<Shape> shapes_;
  double epsilon_ = 0;
  std::int64_t evaluations_ = 0;
};

}  // namespace heed::check
