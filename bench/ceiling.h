#pragma once

namespace heed::bench {

/// Fused multiply-adds that one core does on float32 in registers, in GFLOP/s (two operations each): the rate that no
/// product can pass. Measured for a twentieth of a second.
double fma_peak();

/// Bytes read and written a second by a copy of 64 MiB on one core, in GB/s. The best of several.
double copy_rate();

}  // namespace heed::bench
