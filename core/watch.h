#pragma once

#include <vector>

namespace heed {

class Tensor;
class TapeClock;
class TapeLedger;
class TapeTrace;

namespace detail {

/// What watches this thread's recording: nothing, but within the scopes of the guards that set it.
struct Watch {
  bool anomaly = false;                     ///< AnomalyMode
  bool open_checkpoints = false;            ///< OpenCheckpoints
  TapeLedger* ledger = nullptr;             ///< TapeLedger
  TapeClock* clock = nullptr;               ///< TapeClock
  TapeTrace* trace = nullptr;               ///< TapeTrace
  std::vector<Tensor>* captures = nullptr;  ///< operands with history that unrecorded operations read
};

Watch& watch() noexcept;

}  // namespace detail
}  // namespace heed
