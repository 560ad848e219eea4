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
  zero_gradient,  ///< the gradient is exactly zero in every element, or in every one of a named part
  nonfinite,      ///< the gradient has a NaN or an infinity
  aliased,        ///< two different parameters share elements: an update of one changes the other
  not_listed,     ///< a leaf on the tape that is not among the module's parameters, so no optimizer trains it
  idle_rows,      ///< a warning: rows that an embedding looked up and whose gradient is zero
};
std::string_view name_of(AuditProblem problem);

struct AuditFinding {
  AuditProblem problem = AuditProblem::no_path;
  std::string parameter = {};  ///< its path; empty for a leaf that is not listed
  std::string detail = {};     ///< what was found, such as the position of the first NaN
  std::string block = {};      ///< the named part of the parameter, such as "q"; empty: the whole parameter
  /// Whether this may be intended: padding, for example, and a last token without a target are not trained.
  bool warning() const { return problem == AuditProblem::idle_rows; }
};

struct AuditOptions {
  /// Leaves that may be on the tape besides the parameters: inputs that require grad, parameters
  /// of other modules.
  std::vector<Tensor> known = {};
};

struct AuditReport {
  bool passed = true;           ///< nothing but warnings was found
  std::int64_t parameters = 0;  ///< examined; a tied parameter counts once
  std::int64_t frozen = 0;      ///< those among them that do not require grad
  std::int64_t blocks = 0;      ///< named parts that were examined separately
  std::vector<AuditFinding> findings = {};
  /// One sentence, then one line for each finding.
  std::string report() const;
  std::string to_json() const;
};

/// Examines the gradient of a loss with respect to every parameter of a module: is there a path from the
/// parameter to the loss, is the gradient nonzero and finite, and does every parameter have memory of its
/// own? The same for the parts that modules name, such as q, k and v in one weight and its heads, and for
/// the rows that an embedding looked up. Also checks that every leaf on the tape is among the parameters.
/// Stores no gradient, and the loss can still be walked backward afterwards.
/// Throws    GradError (the loss has no history, or its graph was freed), ShapeError (the loss has several
///           elements; named parts do not add up to their axis).
AuditReport audit(const Tensor& loss, const nn::Module& module, const AuditOptions& options = {});

}  // namespace heed::check
