#pragma once

namespace heed::bench {

/// Prints how the time and memory of a step grow when layers, width, batch size or context of `nano` are
/// doubled, compared with the counts of operations and bytes; also the peak of memory that the tape ledger
/// predicts, compared with the measured one. Uses one thread.
void print_scaling();

}  // namespace heed::bench
