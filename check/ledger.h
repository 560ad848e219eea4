#pragma once

#include <string>

#include <heed/core/tape_ledger.h>

namespace heed::check {

/// The counts of a TapeLedger as text: a line of totals, then a table by operation and a table by module,
/// sorted by the bytes saved at the peak. Each line has the bytes saved at the peak and now, and the number
/// of nodes. A module's line counts what its own operations saved, without its children's.
///   TapeLedger ledger;
///   const Tensor loss = model(x);
///   fmt::print("{}", check::ledger_report(ledger.counts()));
std::string ledger_report(const LedgerCounts& counts);

}  // namespace heed::check
