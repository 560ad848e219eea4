#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <heed/core/dtype.h>

namespace heed::train::distributed::detail {

/// What processes that train together can tell each other. All functions except rank, size, own_cores and
/// abort must be called by every rank, in the same order. Only one thread of each process may use it.
class Communicator {
 public:
  /// The processes that one mpirun has started; null where this process is the only one. Messages have at
  /// most `largest_message` bytes, which must be at least 8.
  /// Throws    ValueError: there are several processes, and heed was built without MPI.
  static std::unique_ptr<Communicator> open(std::int64_t largest_message);

  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// How many processors of this machine are for this rank.
  virtual int own_cores() const = 0;

  /// Overwrites `bytes` bytes of all ranks with those of rank `root`.
  virtual void broadcast(void* data, std::size_t bytes, int root) = 0;
  /// Writes `bytes` bytes of each rank to `all`, in the order of ranks.
  virtual void all_gather(const void* own, std::size_t bytes, void* all) = 0;
  /// Starts to compute sum[i] = Σ own[i] over all ranks, in f32 or f64. Both arrays must stay until
  /// finish_sums returns. All ranks get the same bits.
  virtual void start_sum(const void* own, void* sum, std::int64_t count, DType dtype) = 0;
  /// Waits for all sums that were started.
  virtual void finish_sums() = 0;
  /// Ends the processes of all ranks with this exit status.
  [[noreturn]] virtual void abort(int status) = 0;
};

}  // namespace heed::train::distributed::detail
