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
  nonfinite,      ///< the gradient has a NaN or an infinity
  aliased,        ///< two different parameters share elements: an update of one changes the other
};
std::string_view name_of(AuditProblem problem);

struct AuditFinding {
  AuditProblem problem = AuditProblem::no_path;
  std::string parameter;
  std::string detail;  ///< what was found, such as the position of the first NaN
};

struct AuditReport {
  bool passed = true;
  std::int64_t parameters = 0;  ///< examined; a tied parameter counts once
  std::int64_t frozen = 0;      ///< those among them that do not require grad
  std::vector<AuditFinding> findings;
  /// One sentence, then one line for each finding.
  std::string report() const;
  std::string to_json() const;
};

/// Examines the gradient of a loss with respect to every parameter of a module: is there a path from the
/// parameter to the loss, is the gradient nonzero and finite, and does every parameter have memory of its
/// own? Stores no gradient, and the loss can still be walked backward afterwards.
/// Throws    GradError (the loss has no history, or its graph was freed), ShapeError (the loss
///           has several elements).
AuditReport audit(const Tensor& loss, const nn::Module& module);

}  // namespace heed::check
