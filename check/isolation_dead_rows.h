#pragma once

#include <cstdint>
#include <string>

#include <heed/check/isolation_probe.h>

namespace heed::check {

/// Rows that hear nothing although their token counts.
struct DeadRows {
  std::int64_t count = 0;
  SequencePlace first = {};
  std::string op = {};     ///< attention whose queries they are; empty: they are rows of y
  std::string scope = {};  ///< the module it ran in
};

/// Rows of y, at these places, that keep their bits whatever x holds there, if they are zero or the same
/// position of another sample does not keep them. If there are none: queries of `attention` that follow from
/// these places and not from others, and get zeros.
DeadRows find_dead_rows(const IsolationProbe& probe, const Places& alive);

}  // namespace heed::check
