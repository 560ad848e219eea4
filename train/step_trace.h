#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/core/tape_trace.h>
#include <heed/nn/module.h>

namespace heed::train {

/// FNV-1a over the elements in row-major order, taking the bits of a whole element at a time (byte by byte
/// would take longer than the step itself). Two tensors that differ in one element never have the same
/// checksum. It finds accidents, not forgery.
/// Throws    DTypeError unless floating.
std::uint64_t bits_checksum(const Tensor& x);

/// One value that a step computed, as the checksum of its bits.
struct TracedValue {
  std::string what;  // such as "result 0 of linear in blocks.0.attention"
  std::uint64_t checksum = 0;
  friend bool operator==(const TracedValue&, const TracedValue&) = default;
};

/// The checksums of a training step, in the order in which the values were computed.
using StepTrace = std::vector<TracedValue>;

/// `StepTracer tracer;` records, while it lives, the checksums of the results of all operations that this
/// thread records on the tape, and of their vector-Jacobian products. Other tensors and numbers are added
/// by name. Operations within `checkpoint` are traced when the backward recomputes them.
class StepTracer {
 public:
  StepTracer();

  void add(std::string_view what, const Tensor& x);
  void add(std::string_view what, double number);
  /// Adds `gradient of <name>` for each parameter that has a gradient.
  void add_gradients(const nn::NamedTensors& parameters);
  /// Adds `parameter <name>` for each parameter.
  void add_parameters(const nn::NamedTensors& parameters);
  /// Returns everything since the last call.
  StepTrace take();

 private:
  StepTrace values_;
  TapeTrace trace_;
};

/// Where two runs begin to differ.
struct TraceDifference {
  std::size_t step = 0;  // counted from 0
  std::string what;      // the first value that differs, or that only one run computed
};

/// The first step, and the first value in it, in which two runs differ in bits, order or number of values.
/// None if they are equal.
std::optional<TraceDifference> first_difference(std::span<const StepTrace> a, std::span<const StepTrace> b);

}  // namespace heed::train
