#pragma once

#include <functional>
#include <string>
#include <vector>

#include <heed/core/tensor.h>

#include "jet.h"

namespace heed::test {

/// Where a derivative crosses 0 and a fused formula may count in units of its largest term instead:
/// within an eighth of the crossing.
struct Crossing {
  int order;
  double at;
  Quad (*largest_term)(Quad x);
};

/// An operation of one operand over the whole range. Bounds are in units in the last place, fused or
/// composite: 8 where targets have a fused multiply-add.
struct UnaryRow {
  const char* op;
  const char* name;
  std::function<Tensor(const Tensor&)> function;
  std::function<Jet(Quad)> wanted;    ///< at far_out() in place of ∞
  std::vector<double> switches = {};  ///< where the code takes another branch
  std::vector<Crossing> crossings = {};
  double without_fma = 8;  ///< bound on targets without a fused multiply-add
};

const std::vector<UnaryRow>& unary_rows();

/// A function of two variables at a point, with its derivatives up to the second.
struct PlaneJet {
  Quad value = 0, a = 0, b = 0, aa = 0, ab = 0, bb = 0;
};

/// An operation of two operands, at all pairs of a walk of a few dozen numbers, ±∞ and NaN among them.
struct BinaryRow {
  const char* op;
  const char* name;
  std::function<Tensor(const Tensor&, const Tensor&)> function;
  std::function<PlaneJet(Quad a, Quad b)> wanted;
  double largest_a = HUGE_VAL;  ///< how far the first operand goes; NaN is left out where that is not ∞
  bool differentiable = true;
  double without_fma = 8;
};

const std::vector<BinaryRow>& binary_rows();

}  // namespace heed::test
