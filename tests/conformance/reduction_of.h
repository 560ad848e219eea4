#pragma once

#include <heed/ops/cross_entropy.h>

#include "call.h"

namespace heed::conformance {

/// The attribute `reduction`: none, sum or mean (the default).
inline Reduction reduction_of(const Call& call) {
  const std::string name = call.attributes.text("reduction", "mean");
  if (name == "none") return Reduction::none;
  if (name == "sum") return Reduction::sum;
  if (name != "mean") throw Skip(call.op + ": reduction '" + name + "' is not known");
  return Reduction::mean;
}

}  // namespace heed::conformance
