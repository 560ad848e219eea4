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
  /// Gradients are sent in buckets of at most so many bytes; a larger gradient has a bucket of its own.
  /// Small buckets hide more of the transfer behind the backward, but each bucket costs the latency of a
  /// message: see docs/scaling.md.
  std::int64_t bucket_bytes = std::int64_t{1} << 20;
  /// Send a bucket as soon as its last gradient is there, while the backward continues; otherwise send all
  /// buckets after the backward.
  bool overlap = true;
};

/// Replaces the `.grad` of each parameter by its sum over all ranks:
///
///     reducer.begin();   // the next backward is the last before the step
///     backward(loss);    // each rank's part of the loss
///     reducer.finish();
///
/// Buckets are filled from the last parameter to the first, which is about the order of a backward, and
/// sent in that order on every rank, whatever a backward reaches. A missing gradient counts as zero; where
/// no rank has a gradient, none is stored. `finish` without `begin` (on a rank with nothing to do) sends
/// the gradients that are there. All ranks get the same bits, as MPI requires of MPI_Allreduce (MPI-3.1,
/// section 5.9.6), and so does every run, since neither buckets nor sums depend on timing. A parameter
/// that appears twice counts once. The buckets take twice the memory of the gradients. In a World of one
/// rank nothing happens.
/// Throws    ValueError (bucket_bytes below 1, a parameter that does not require grad); from a backward:
///           GradError (a second backward before finish).
class GradientReducer {
 public:
  /// The World must outlive the reducer. Collective: parameters must have the same names and shapes
  /// on all ranks.
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
    std::int64_t offset;  // of the gradient in its bucket, in elements
    std::int64_t flag;    // its flag's offset; the flags of a bucket follow its last gradient
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
  std::size_t sent_ = 0;  // number of buckets sent
};

}  // namespace heed::train::distributed
