#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <heed/core/hooks.h>
#include <heed/core/tensor.h>
#include <heed/nn/module.h>
#include <heed/train/distributed/world.h>

namespace heed::train::distributed {

struct ReducerOptions {
  /// Gradients travel in buckets that are full at so many bytes; a larger gradient has one to itself. Small ones hide
  /// more of their way behind the backward, and each costs a message's latency: docs/scaling.md.
  std::int64_t bucket_bytes = std::int64_t{1} << 20;
  /// Send a bucket as soon as its last gradient is there, while the backward goes on; else all of them after it.
  bool overlap = true;
};

/// Puts Σ over ranks of each parameter's `.grad` in its place:
///
///     reducer.begin();   // the next backward is the last before the step
///     backward(loss);    // each rank's part of the loss
///     reducer.finish();
///
/// Buckets are filled from the last parameter to the first, which is about the order of a backward, and sent in
/// that order on every rank, whatever a backward reaches: a gradient that is not there counts as zero, and where no
/// rank has one it stays away. Without `begin` (a rank with nothing to do) `finish` sends what is there. All ranks
/// get the same bits, as MPI demands of a reduction to all (MPI-3.1, section 5.9.6), and every run the same, since
/// buckets and sums do not depend on time. A parameter that appears twice is one. The buckets take twice the memory
/// of the gradients. In a world of one nothing happens.
/// Throws    ValueError (bucket_bytes below 1, a parameter that does not require grad); from a backward: GradError (a
///           second one before finish).
class GradientReducer {
 public:
  /// The world must outlive it. Collective: all ranks' parameters must have the same names and shapes.
  GradientReducer(const nn::NamedTensors& parameters, const World& world, const ReducerOptions& options = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  const World& world() const { return world_; }
  void begin();
  void finish();

 private:
  struct Entry {
    Tensor parameter;
    std::size_t bucket;
    std::int64_t
        offset;  // in elements; the flag of a bucket's k-th entry is k elements behind the last gradient
    std::int64_t flag;
    bool filled = false;
    HookHandle hook = {};
  };
  struct Bucket {
    DType dtype;
    std::int64_t elements = 0;
    std::vector<std::size_t> entries = {};
    std::size_t missing = 0;
    Tensor own = {};
    Tensor sum = {};
  };

  void plan(const nn::NamedTensors& parameters, std::int64_t bucket_bytes);
  void fill(Entry& entry);
  void send_full_ones();
  void take(const Entry& entry);

  const World& world_;
  bool overlap_;
  bool begun_ = false;
  std::vector<Entry> entries_;
  std::vector<Bucket> buckets_;
  std::size_t sent_ = 0;  // buckets
};

}  // namespace heed::train::distributed
