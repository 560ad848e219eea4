#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <heed/core/tensor.h>
#include <heed/nn/module.h>

namespace heed::check {

enum class AuditProblem {
  no_path,        ///< the loss does not depend on the parameter
  zero_gradient,  ///< the gradient is exactly zero in every element
  non_finite,     ///< the gradient holds a NaN or an infinity
  aliased,        ///< two parameters share elements without being one: an update of one changes the other
};
std::string_view name_of(AuditProblem problem);

struct AuditFinding {
  AuditProblem problem = AuditProblem::no_path;
  std::string parameter;
  std::string detail;  ///< what was found, such as the position of the first NaN
};

struct AuditReport {
  bool passed = true;
  std::int64_t parameters = 0;  ///< looked at; a tied one is one
  std::int64_t frozen = 0;      ///< among them, those that ask for no gradient
  std::vector<AuditFinding> findings;
  /// One sentence, then one line a finding.
  std::string report() const;
  std::string to_json() const;
};

/// Looks at the gradient of a loss with respect to every parameter of a module: is there a path at all, is it more than
/// zero, is it finite, and is every parameter an array of its own. Stores no gradient; the loss can be walked again.
/// Throws  GradError (loss without history, or freed), ShapeError (loss of several elements).
AuditReport audit(const Tensor& loss, const nn::Module& module);

}  // namespace heed::check
