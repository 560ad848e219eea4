#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/check/function.h>
#include <heed/check/verdict.h>
#include <heed/core/random.h>

namespace heed::check {

/// A function along a random line x + t v through its inputs. All elements of the outputs that have history
/// are joined into one vector.
class Line {
 public:
  /// Throws    DTypeError, GradError (as `leaves_of`; the message names `op`).
  Line(const char* op, const Function& function, const std::vector<Tensor>& inputs, Generator& generator);

  /// Whether any input element moves along the line.
  bool moves() const { return wanted_elements(leaves_) > 0; }
  std::vector<double> at(double t);
  /// J v at t = 0, one tensor for each output with history.
  std::vector<Tensor> jacobian_product();
  /// J v as one vector. Where nothing can be compared, sets the verdict and says why in `problem`.
  std::vector<double> examine(Verdict& verdict, std::string& problem);
  /// The rounding noise of each output element, one standard deviation, measured at twelve
  /// very near points.
  std::vector<double> noise();

  /// The largest epsilon of inputs and outputs.
  double epsilon() const { return epsilon_; }
  std::int64_t evaluations() const { return evaluations_; }
  /// Which element of which output an entry of the vector is.
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
