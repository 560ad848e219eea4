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
  /// Bytes that MPI is given at once; what is longer goes in pieces.
  std::int64_t largest_message = std::int64_t{1} << 30;
};

/// The processes that train one model together, each on its share of every batch: those that one `mpirun -n N`
/// started, numbered from 0, or this one alone, which then needs no MPI and pays nothing. Unless OMP_NUM_THREADS is
/// set, heed's threads become this process's share of the cores. One World for a program, made and used by one
/// thread.
///
/// What is marked collective must be called by all ranks, in the same order, and gives all of them the same bits. A
/// process that fails should say why and call `abort`; where an exception leaves the scope of the World, all
/// processes end with status 1.
/// Throws    ValueError: mpirun started several processes, and heed was built without MPI; largest_message outside
/// 8 … 2³¹−1.
class World {
 public:
  explicit World(const WorldOptions& options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const;
  int size() const;
  /// The rows of a batch that are this process's.
  Share share() const { return {rank(), size()}; }

  /// A generator for what must not be alike on two ranks, such as dropout: that of rank 0 goes on with the common
  /// stream, the others have seeds of their own.
  Generator own_generator(const Generator& common) const;

  /// Collective. Over the ranks in their order, so always with the same bits.
  std::int64_t sum(std::int64_t value) const;
  double sum(double value) const;
  std::int64_t largest(std::int64_t value) const;
  /// Collective. Whether it holds on every rank.
  bool all(bool holds) const;

  /// Collective. Overwrites the elements of all ranks' tensors with those of rank 0.
  /// Throws    ValueError: names, shapes or dtypes differ.
  void broadcast(const nn::NamedTensors& tensors) const;
  /// Collective.
  /// Throws    ValueError on every rank where bits differ, naming the first tensor that does and a rank
  /// that has another than rank 0.
  void check_equal(const nn::NamedTensors& tensors) const;
  /// Collective. The same of a text that all ranks should have; `what` says what it is.
  void check_equal(std::string_view what, std::string_view text) const;

  /// Ends the processes of all ranks at once.
  [[noreturn]] void abort(int status) const;

 private:
  friend class GradientReducer;
  template <class T>
  std::vector<T> gathered(T value) const;
  void check_hashes(std::vector<std::uint64_t> hashes, const std::vector<std::string_view>& names) const;

  std::unique_ptr<detail::Communicator> communicator_;  // null: alone
  int exceptions_;                                      // that were on their way when it was made
};

}  // namespace heed::train::distributed
