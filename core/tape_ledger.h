#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <heed/core/scope.h>
#include <heed/core/tape_observer.h>

namespace heed {

class Storage;

/// What the tape kept for the vector-Jacobian products of one operation in one module.
struct LedgerRow {
  std::string op;
  std::string module;              ///< path; empty outside of modules
  std::int64_t nodes = 0;          ///< recorded since the start of the ledger
  std::int64_t saved_now = 0;      ///< bytes
  std::int64_t saved_at_peak = 0;  ///< bytes at the moment the total was largest
};

struct LedgerCounts {
  /// Sums over the rows. Elements that two nodes save, or one node twice, count twice.
  std::int64_t saved_now = 0;
  std::int64_t saved_at_peak = 0;
  /// Bytes of the storages behind them, each counted once and as a whole, parameters included.
  std::int64_t unique_now = 0;
  std::int64_t unique_at_peak = 0;
  /// In the order in which each pair of operation and module was first met.
  std::vector<LedgerRow> rows;
};

/// `TapeLedger ledger;` — while it lives, counts what the nodes that this thread records save; what they
/// release, on whatever thread, is subtracted again. Of nested ledgers only the innermost counts.
/// check::ledger_report prints the counts.
class TapeLedger final : public TapeObserver {
 public:
  TapeLedger();
  ~TapeLedger() override;
  LedgerCounts counts() const;

  // Called by a Node that drops what it saved.
  static void remove(std::uint32_t ledger, const Node& node) noexcept;

 private:
  void before_saving() override;
  void on_saved(const Tensor& x) override;
  void on_recorded(const RecordedOperation& operation) override;

  struct Book;
  static std::map<std::uint32_t, Book*>& open_books();
  std::unique_ptr<Book> book_;
  std::vector<const Storage*> noted_;  // what the operation being recorded has saved so far
};

}  // namespace heed
