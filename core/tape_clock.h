#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <heed/core/tape_observer.h>

namespace heed {

/// Seconds that one operation took.
struct ClockRow {
  std::string op;
  std::int64_t nodes = 0;  ///< recorded
  double forward = 0;
  double backward = 0;
};

/// `TapeClock clock;` — measures, while it lives, the operations that this thread records and the
/// vector-Jacobian products that it runs. An operation's forward time runs from the last recorded operation,
/// or restart(), to its own recording, so unrecorded work counts for the next one. Adding gradients up
/// belongs to no operation. Of nested clocks the innermost measures.
class TapeClock final : public TapeObserver {
 public:
  TapeClock();

  /// Starts the time anew, so that what has passed since the last operation does not count for the next one.
  void restart();
  /// In the order in which each operation was first met.
  const std::vector<ClockRow>& rows() const { return rows_; }

 private:
  void on_recorded(const RecordedOperation& operation) override;
  void before_vjp(const Node& node) override;
  void after_vjp(const Node& node) override;
  ClockRow& row_of(const Node& node);
  double lap();

  std::map<std::string_view, std::size_t> places_;
  std::vector<ClockRow> rows_;
  double last_;  ///< seconds
};

}  // namespace heed
