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
  nonfinite,      ///< the gradient holds a NaN or an infinity
  aliased,        ///< two parameters share elements without being one: an update of one changes the other
  not_listed,     ///< a leaf on the tape that is none of the module's parameters: no optimizer will train it
  idle_rows,      ///< rows that an embedding looked up, and whose gradient is zero; a warning
};
std::string_view name_of(AuditProblem problem);

struct AuditFinding {
  AuditProblem problem = AuditProblem::no_path;
  std::string parameter = {};  ///< its path; empty for a leaf that is not listed
  std::string detail = {};     ///< what was found, such as the position of the first NaN
  std::string block = {};      ///< the part that it is about, such as "q"; empty: all
  /// May be meant: of padding, or of a last token without a target, nothing is learned.
  bool warning() const { return problem == AuditProblem::idle_rows; }
};

struct AuditOptions {
  /// Leaves that are known to be on the tape beside the parameters: inputs that require grad, parameters of
  /// others.
  std::vector<Tensor> known = {};
};

struct AuditReport {
  bool passed = true;           ///< nothing was found, but for warnings
  std::int64_t parameters = 0;  ///< looked at; a tied one is one
  std::int64_t frozen = 0;      ///< among them, those that ask for no gradient
  std::int64_t blocks = 0;      ///< named parts that were looked at by themselves
  std::vector<AuditFinding> findings = {};
  /// One sentence, then one line a finding.
  std::string report() const;
  std::string to_json() const;
};

/// Looks at the gradient of a loss with respect to every parameter of a module: is there a path at all, is it
/// more than zero, is it finite, and is every parameter an array of its own. The same of the parts that
/// modules name, such as q, k and v in one weight and its heads, and of the rows that an embedding looked up.
/// And is every leaf on the tape among the parameters. Stores no gradient; the loss can be walked again.
/// Throws  GradError (loss without history, or freed), ShapeError (loss of several elements; blocks that do
///         not add up to their axis).
AuditReport audit(const Tensor& loss, const nn::Module& module, const AuditOptions& options = {});

}  // namespace heed::check
