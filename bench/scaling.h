#pragma once

namespace heed::bench {

/// Prints how the time and memory of a step grow when layers, width, batch and context of nano are doubled, beside what the
/// counts of operations and bytes say; and the peak that the tape ledger predicts beside the one measured. One thread.
void print_scaling();

}  // namespace heed::bench
