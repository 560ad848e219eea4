#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/io/read_file.h>
#include <heed/train/distributed/communicator.h>
#include <heed/train/distributed/world.h>

namespace heed::train::distributed {
namespace {

std::unique_ptr<detail::Communicator> open(const WorldOptions& options) {
  check_value(options.largest_message >= 8 && options.largest_message <= INT_MAX, "World", "largest_message",
              options.largest_message, "from 8 to 2147483647");
  return detail::Communicator::open(options.largest_message);
}

std::string_view bytes_of(const Tensor& x) {
  return {reinterpret_cast<const char*>(x.storage()->data()) +
              x.offset() * static_cast<std::int64_t>(size_of(x.dtype())),
          byte_count("World", x.view(), x.dtype())};
}

std::uint64_t hash_of(std::string_view bytes) {
  io::Checksum checksum;
  checksum.add(bytes);
  return checksum.value();
}

std::uint64_t hash_of(const Tensor& x) { return hash_of(bytes_of(x.is_contiguous() ? x : copy_of(x))); }

// A text that is equal on all ranks if the broadcasts of their tensors fit together.
std::string layout_of(const nn::NamedTensors& tensors) {
  std::string layout;
  for (const auto& [name, tensor] : tensors) {
    layout += fmt::format("{} {}{}\n", name, name_of(tensor.dtype()), tensor.shape().str());
  }
  return layout;
}

}  // namespace

World::World(const WorldOptions& options)
    : communicator_(open(options)), exceptions_(std::uncaught_exceptions()) {
  if (communicator_ && std::getenv("OMP_NUM_THREADS") == nullptr) set_num_threads(communicator_->own_cores());
}

// Without the abort, a rank that leaves early would wait for the others in MPI_Finalize, and they would
// wait for it.
World::~World() {
  if (communicator_ && std::uncaught_exceptions() > exceptions_) {
    fmt::print(stderr, "heed: an exception ends rank {} of {}, and with it the others\n", rank(), size());
    communicator_->abort(EXIT_FAILURE);
  }
}

int World::rank() const { return communicator_ ? communicator_->rank() : 0; }

int World::size() const { return communicator_ ? communicator_->size() : 1; }

Generator World::own_generator(const Generator& common) const {
  const RandomStream& stream = common.state();
  if (rank() == 0) return common;
  return Generator(random_bits({stream.seed, UINT64_MAX}, static_cast<std::uint64_t>(rank())), stream.offset);
}

template <class T>
std::vector<T> World::gathered(T value) const {
  std::vector<T> all(static_cast<std::size_t>(size()), value);
  if (communicator_) communicator_->all_gather(&value, sizeof value, all.data());
  return all;
}

std::int64_t World::sum(std::int64_t value) const {
  std::int64_t total = 0;
  for (const std::int64_t each : gathered(value)) total += each;
  return total;
}

double World::sum(double value) const {
  double total = 0;
  for (const double each : gathered(value)) total += each;
  return total;
}

std::int64_t World::largest(std::int64_t value) const {
  const auto all = gathered(value);
  return *std::max_element(all.begin(), all.end());
}

bool World::all(bool holds) const { return largest(holds ? 0 : 1) == 0; }

void World::broadcast(const nn::NamedTensors& tensors) const {
  if (!communicator_) return;
  check_equal("the layout of what is broadcast", layout_of(tensors));
  const NoGrad guard;
  for (const auto& [name, tensor] : tensors) {
    const Tensor whole = copy_of(tensor);
    communicator_->broadcast(whole.storage()->data(), bytes_of(whole).size(), 0);
    Tensor target = tensor;
    if (rank() != 0) target.copy_(whole);
  }
}

void World::check_equal(const nn::NamedTensors& tensors) const {
  if (!communicator_) return;
  check_equal("the layout of what is compared", layout_of(tensors));
  std::vector<std::uint64_t> hashes;
  std::vector<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    hashes.push_back(hash_of(tensor));
    names.push_back(name);
  }
  check_hashes(std::move(hashes), names);
}

void World::check_equal(std::string_view what, std::string_view text) const {
  if (communicator_) check_hashes({hash_of(text)}, {what});
}

void World::check_hashes(std::vector<std::uint64_t> hashes,
                         const std::vector<std::string_view>& names) const {
  const std::vector<std::uint64_t> own = hashes;
  communicator_->broadcast(hashes.data(), hashes.size() * sizeof(std::uint64_t), 0);
  const auto first = std::mismatch(own.begin(), own.end(), hashes.begin()).first - own.begin();
  const auto firsts = gathered(static_cast<std::int64_t>(first));
  const auto least = std::min_element(firsts.begin(), firsts.end());
  if (*least == std::ssize(own)) return;
  fail<ValueError>(
      "World", "ranks do not have the same",
      fmt::format("{} of rank {}", names[static_cast<std::size_t>(*least)], least - firsts.begin()),
      "that of rank 0");
}

void World::abort(int status) const {
  if (communicator_) communicator_->abort(status);
  std::exit(status);
}

}  // namespace heed::train::distributed
