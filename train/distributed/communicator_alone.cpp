// The communicator of a build without MPI: this process is the only one.
#include <cstdlib>
#include <initializer_list>
#include <string>

#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/train/distributed/communicator.h>

namespace heed::train::distributed::detail {

std::unique_ptr<Communicator> Communicator::open(std::int64_t) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const size = std::getenv(name);
    if (size == nullptr || std::atoi(size) < 2) continue;
    fail<ValueError>("World", "heed was built without MPI", fmt::format("{} is {}", name, size),
                     "a single process, or MPI installed when heed is built, and not HEED_MPI=OFF");
  }
  return nullptr;
}

}  // namespace heed::train::distributed::detail
