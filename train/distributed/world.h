#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <heed/core/random.h>
#include <heed/core/share.h>
#include <heed/nn/module.h>

namespace heed::train::distributed {

namespace detail {
class Communicator;
}

struct WorldOptions {
  /// The largest number of bytes passed to MPI at once; longer messages are sent in pieces.
  std::int64_t largest_message = std::int64_t{1} << 30;
};

/// The processes that train one model together, each on its share of every batch: those that one `mpirun -n
/// N` started, with ranks numbered from 0, or this process alone, which then needs no MPI and has no
/// overhead. Unless OMP_NUM_THREADS is set, the number of heed's threads becomes this process's share of
/// the cores. A program should have one World, made and used by one thread.
///
/// Functions marked collective must be called by all ranks, in the same order, and give all of them the
/// same bits. A process that fails should print the reason and call `abort`; where an exception leaves the
/// scope of the World, all processes end with status 1.
/// Throws    ValueError (mpirun started several processes and heed was built without MPI; largest_message
///           outside 8 … 2³¹−1).
class World {
 public:
  explicit World(const WorldOptions& options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const;
  int size() const;
  /// Which rows of a batch are this process's.
  Share share() const { return {rank(), size()}; }

  /// A generator for numbers that must differ between ranks, such as dropout: rank 0 continues the common
  /// stream, the others get seeds of their own.
  Generator own_generator(const Generator& common) const;

  /// Collective. Reductions over the ranks in their order, so the bits are always the same.
  std::int64_t sum(std::int64_t value) const;
  double sum(double value) const;
  std::int64_t largest(std::int64_t value) const;
  /// Collective. Whether `holds` is true on every rank.
  bool all(bool holds) const;

  /// Collective. Overwrites the elements of these tensors on all ranks with those of rank 0.
  /// Throws    ValueError: names, shapes or dtypes differ.
  void broadcast(const nn::NamedTensors& tensors) const;
  /// Collective. Checks that the bits of these tensors are equal on all ranks.
  /// Throws    ValueError on every rank if they are not, naming the first tensor that differs and a rank on
  ///           which it differs from rank 0.
  void check_equal(const nn::NamedTensors& tensors) const;
  /// Collective. The same for a text that all ranks should have; `what` describes it in the message.
  void check_equal(std::string_view what, std::string_view text) const;

  /// Ends the processes of all ranks at once.
  [[noreturn]] void abort(int status) const;

 private:
  friend class GradientReducer;
  template <class T>
  std::vector<T> gathered(T value) const;
  void check_hashes(std::vector<std::uint64_t> hashes, const std::vector<std::string_view>& names) const;

  std::unique_ptr<detail::Communicator> communicator_;  // null: one process alone
  int exceptions_;                                      // uncaught ones when this object was made
};

}  // namespace heed::train::distributed
