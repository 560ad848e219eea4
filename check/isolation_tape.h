#pragma once

#include <string>
#include <vector>

#include <heed/check/isolation_probe.h>

namespace heed::check {

/// The results of all recorded operations that y depends on, in the order of the tape: handles with their history, and
/// without their elements.
std::vector<Tensor> results_on_tape(const Tensor& y);

/// The operation that first carries a leak out of the forbidden places of one sample, on the way to `to`. An element takes
/// part if its derivative by these places is not zero and that of y at `to` by it is not either. As long as an axis shows
/// all of them at such places, the leak is at home.
/// Empty names if no such operation is on the tape, or one of them has no second derivative.
struct CarryingOp {
  std::string op = {};
  std::string scope = {};
};
CarryingOp find_carrying_op(const IsolationProbe& probe, const IsolationQuestion& question,
                            SequencePlace from, SequencePlace to);

}  // namespace heed::check
