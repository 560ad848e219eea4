#pragma once

namespace heed {

/// `AnomalyMode guard;` — while it lives, GradError on this thread for the first recorded operation
///   - whose result holds a NaN, or an Inf although all its operands are finite,
///   - whose vector-Jacobian product gives a NaN or an Inf,
/// naming operation, module path, result or input, shape and index. For finding a fault: every value is read
/// once more.
/// Infinities that are written on purpose are none of them: operations whose payload says `may_be_infinite`
/// (the log-sum-exp of a row without keys is −inf), and a fill value that is itself an operand.
/// Within it `checkpoint` records its function instead of recomputing it, so that its operations are named.
class AnomalyMode {
 public:
  AnomalyMode() noexcept;
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  bool former_;
};

/// Whether an AnomalyMode lives on this thread.
bool anomaly_mode() noexcept;

}  // namespace heed
