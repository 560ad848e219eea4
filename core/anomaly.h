#pragma once

#include <heed/core/restore.h>
#include <heed/core/tape_observer.h>

namespace heed {

/// `AnomalyMode guard;` — while it lives, this thread throws a GradError at the first recorded operation
///   - whose result holds a NaN, or an Inf although all its operands are finite,
///   - whose vector-Jacobian product gives a NaN or an Inf.
/// The error names operation, module path, result or input, shape and index. For finding a fault, as every
/// value is read once more. Infinities that are made on purpose do not count: those of operations whose
/// payload says `may_be_infinite` (the log-sum-exp of a row without keys is −inf), and a fill value that is
/// itself an operand. Within it `checkpoint` records its function instead of recomputing it, so that the
/// operations inside are named.
class AnomalyMode final : public TapeObserver {
 public:
  /// Of nested ones the innermost holds: `AnomalyMode pause(false);` turns the check off for its scope.
  explicit AnomalyMode(bool enable = true) noexcept;

 private:
  void on_recorded(const RecordedOperation& operation) override;
  void on_cotangent(const Node& node, std::size_t output, const Tensor& cotangent) override;
  void on_gradient(const Node& node, std::size_t input, const Tensor& gradient) override;

  Restore<bool> enabled_;
};

/// Whether the innermost AnomalyMode of this thread is enabled; false where there is none.
bool anomaly_mode() noexcept;

}  // namespace heed
