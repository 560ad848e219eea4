// The only file that uses MPI.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <mpi.h>
#include <sched.h>

#include <heed/core/arguments.h>
#include <heed/train/distributed/communicator.h>

namespace heed::train::distributed::detail {
namespace {

// Polling takes time from the cores that compute. On a line of 1 Gbit/s the system's buffers stay filled
// for longer than this.
constexpr auto poll_interval = std::chrono::milliseconds(1);

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

// MPI_Init takes time and may start a daemon, so a program that was not started by a launcher
// does without MPI.
bool started_by_launcher() {
  return is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMI_SIZE") || is_set("PMIX_RANK");
}

// With two or three ranks, Open MPI by default collects the sum on one rank and sends it back, so that each
// line is busy in one direction at a time. A ring keeps both directions busy; Open MPI chooses it by itself
// from four ranks on.
void ask_for_ring() {
  const char* const ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (ranks != nullptr && std::atoi(ranks) < 4) {
    ::setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "ring", /*overwrite=*/0);
  }
}

// Open MPI binds each rank to one core unless told otherwise. If nobody has chosen a binding, all cores
// are allowed again.
void undo_default_binding() {
  if (!is_set("OMPI_MCA_orte_bound_at_launch") || is_set("OMPI_MCA_hwloc_base_binding_policy") ||
      is_set("OMPI_MCA_rmaps_base_mapping_policy")) {
    return;
  }
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);  // the kernel leaves out cores that this process may not use
  ::sched_setaffinity(0, sizeof all, &all);
}

// Ranks of one machine that may run on the same cores share them evenly.
int share_of_cores(MPI_Comm machine) {
  cpu_set_t own;
  CPU_ZERO(&own);
  ::sched_getaffinity(0, sizeof own, &own);
  int ranks = 0;
  MPI_Comm_size(machine, &ranks);
  std::vector<cpu_set_t> sets(static_cast<std::size_t>(ranks));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, sets.data(), sizeof own, MPI_BYTE, machine);
  const auto sharers =
      std::count_if(sets.begin(), sets.end(), [&](const cpu_set_t& set) { return CPU_EQUAL(&set, &own); });
  return std::max(1, CPU_COUNT(&own) / static_cast<int>(sharers));
}

// Open MPI moves messages only while it is being called. So a helper thread calls it while sums are under
// way and the ranks compute. Every call of MPI holds the mutex, as MPI_THREAD_SERIALIZED requires.
class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(std::int64_t largest_message) : largest_(largest_message) {
    ask_for_ring();
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    undo_default_binding();
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    own_cores_ = share_of_cores(machine);
    MPI_Comm_free(&machine);
    if (size_ > 1 && provided >= MPI_THREAD_SERIALIZED) helper_ = std::thread([this] { move_messages(); });
  }

  ~MpiCommunicator() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    if (helper_.joinable()) helper_.join();
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int own_cores() const override { return own_cores_; }

  void broadcast(void* data, std::size_t bytes, int root) override {
    const std::lock_guard lock(mutex_);
    auto* const first = static_cast<std::byte*>(data);
    in_pieces(static_cast<std::int64_t>(bytes), 1, [&](std::int64_t at, int count) {
      MPI_Bcast(first + at, count, MPI_BYTE, root, MPI_COMM_WORLD);
    });
  }

  void all_gather(const void* own, std::size_t bytes, void* all) override {
    const std::lock_guard lock(mutex_);
    check_value(static_cast<std::int64_t>(bytes) <= largest_, "World", "bytes of a gathered message",
                static_cast<std::int64_t>(bytes), "at most the largest message");
    const int count = static_cast<int>(bytes);
    MPI_Allgather(own, count, MPI_BYTE, all, count, MPI_BYTE, MPI_COMM_WORLD);
  }

  void start_sum(const void* own, void* sum, std::int64_t count, DType dtype) override {
    const auto width = static_cast<std::int64_t>(size_of(dtype));
    const MPI_Datatype type = dtype == DType::f32 ? MPI_FLOAT : MPI_DOUBLE;
    {
      const std::lock_guard lock(mutex_);
      in_pieces(count, width, [&](std::int64_t at, int length) {
        MPI_Request& request = requests_.emplace_back();
        MPI_Iallreduce(static_cast<const std::byte*>(own) + at * width,
                       static_cast<std::byte*>(sum) + at * width, length, type, MPI_SUM, MPI_COMM_WORLD,
                       &request);
      });
    }
    wake_.notify_all();
  }

  void finish_sums() override {
    const std::lock_guard lock(mutex_);
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }

  [[noreturn]] void abort(int status) override {
    MPI_Abort(MPI_COMM_WORLD, status);
    std::abort();  // MPI_Abort does not return
  }

 private:
  // Calls piece(first, count) for parts of at most largest_ bytes, since MPI counts elements in an int.
  template <class Piece>
  void in_pieces(std::int64_t total, std::int64_t width, Piece&& piece) const {
    const std::int64_t most = largest_ / width;
    for (std::int64_t at = 0; at < total; at += most) {
      piece(at, static_cast<int>(std::min(most, total - at)));
    }
  }

  // Moves messages; returns whether all requests are complete.
  bool poll() {
    int done = 1;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
  }

  void move_messages() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      wake_.wait(lock, [this] { return ending_ || !requests_.empty(); });
      while (!requests_.empty() && !poll()) {
        lock.unlock();
        std::this_thread::sleep_for(poll_interval);
        lock.lock();
      }
      requests_.clear();  // complete, or cleared by finish_sums
    }
  }

  std::int64_t largest_;
  int rank_ = 0;
  int size_ = 1;
  int own_cores_ = 1;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::vector<MPI_Request> requests_;
  std::thread helper_;
};

}  // namespace

std::unique_ptr<Communicator> Communicator::open(std::int64_t largest_message) {
  if (!started_by_launcher()) return nullptr;
  return std::make_unique<MpiCommunicator>(largest_message);
}

}  // namespace heed::train::distributed::detail
