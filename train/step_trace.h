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

/// FNV-1a over the elements in row-major order, the bits of one at a time (not byte by byte: that takes longer than the
/// step itself). Two tensors that differ in one element never have the same checksum; it finds accidents, not forgery.
/// Throws    DTypeError unless floating.
std::uint64_t bits_checksum(const Tensor& x);

/// One thing that a step computed, and the checksum of its bits.
struct TracedValue {
  std::string what;  // such as "result 0 of linear in blocks.0.attention"
  std::uint64_t checksum = 0;
  friend bool operator==(const TracedValue&, const TracedValue&) = default;
};

/// The bits of a training step, in the order in which they were computed.
using StepTrace = std::vector<TracedValue>;

/// `StepTracer tracer;` — notes, while it lives, what the operations that this thread records compute and what their
/// vector-Jacobian products give; tensors and numbers that no operation gives are added by name. An operation within
/// `checkpoint` is noted when the backward runs it again.
class StepTracer {
 public:
  StepTracer();

  void add(std::string_view what, const Tensor& x);
  void add(std::string_view what, double number);
  /// `gradient of <name>` for each parameter that has one.
  void add_gradients(const nn::NamedTensors& parameters);
  /// `parameter <name>` for each.
  void add_parameters(const nn::NamedTensors& parameters);
  /// All since the last call.
  StepTrace take();

 private:
  StepTrace values_;
  TapeTrace trace_;
};

/// Where two runs part.
struct TraceDifference {
  std::size_t step = 0;  // counted from 0
  std::string what;      // what differs first, or is computed by one of them only
};

/// The first step, and the first value of it, in which two runs differ in bits, order or number. None: they are equal.
std::optional<TraceDifference> first_difference(std::span<const StepTrace> a, std::span<const StepTrace> b);

}  // namespace heed::train
