#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <heed/core/dtype.h>

namespace heed::train::distributed::detail {

/// What processes that train together have to say to each other. All but rank, size, progress and abort are for
/// every rank, in the same order. One thread of each process may use it.
class Communicator {
 public:
  /// The processes that one mpirun has started; null where there is but this one. Messages have at most
  /// `largest_message` bytes, at least 8.
  /// Throws    ValueError: there are several, and heed was built without MPI.
  static std::unique_ptr<Communicator> open(std::int64_t largest_message);

  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Of the processors of this machine, those that are for this rank.
  virtual int own_cores() const = 0;

  /// Overwrites `bytes` bytes of all ranks with those of `root`.
  virtual void broadcast(void* data, std::size_t bytes, int root) = 0;
  /// `all` takes `bytes` bytes of each rank, in their order.
  virtual void all_gather(const void* own, std::size_t bytes, void* all) = 0;
  /// Begins sum[i] = Σ own[i] over all ranks, of f32 or f64; both must stay until finish_sums. All ranks get the
  /// same bits.
  virtual void start_sum(const void* own, void* sum, std::int64_t count, DType dtype) = 0;
  /// Waits for all that were begun.
  virtual void finish_sums() = 0;
  /// Ends the processes of all ranks with this status.
  [[noreturn]] virtual void abort(int status) = 0;
};

}  // namespace heed::train::distributed::detail
