#pragma once

#include <string>

#include <heed/core/tape_ledger.h>

namespace heed::check {

/// The counts of a TapeLedger as text: a line of totals, then a table of operations and a table of modules, each
/// with the bytes saved now and at the peak and the number of nodes, largest at the peak first. A module's line
/// holds what its own operations saved, not what its children's did.
///   TapeLedger ledger;
///   const Tensor loss = model(x);
///   fmt::print("{}", check::ledger_report(ledger.counts()));
std::string ledger_report(const LedgerCounts& counts);

}  // namespace heed::check
