#pragma once

#include <cstdint>

namespace heed::test::fuzz {

/// Whether this build counts what operator new gives out: not under sanitizers, which bring their own.
bool counts_allocations();

/// The most bytes that were out at one time since the last reset, beyond those that were out then, and the
/// largest block asked for, which may have been refused.
struct AllocationPeak {
  std::int64_t bytes = 0;
  std::int64_t largest = 0;
};
void reset_allocation_peak();
AllocationPeak allocation_peak();

}  // namespace heed::test::fuzz
