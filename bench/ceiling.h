#pragma once

namespace heed::bench {

/// Fused multiply-adds that one core does on float32 in registers, in GFLOP/s (two operations each): the rate that no
/// product can pass. Measured for a twentieth of a second.
double fma_peak();

}  // namespace heed::bench
