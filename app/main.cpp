// The program heed: `heed train` learns a text, `heed generate` goes on from a prompt, and other commands
// prepare and inspect; command_line.cpp has the table of them. Exit status: 0 success, 1 a run that went
// wrong, 2 bad input, said in one line on standard error.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include <heed/app/command_line.h>
#include <heed/app/output.h>
#include <heed/core/error.h>
#include <heed/train/distributed/world.h>

namespace {

constexpr int exit_failure = 1;
constexpr int exit_bad_input = 2;

using heed::train::distributed::World;

std::string speaker = "heed: ";  // what complaints begin with

void set_speaker(const World& world) {
  if (world.size() > 1) speaker = fmt::format("heed: rank {} of {}: ", world.rank(), world.size());
}

// Handles SIGBUS, which a read beyond the end of a mapped file raises: another process has cut the file. No
// exception can be thrown from there. mpirun ends the other ranks.
extern "C" void end_at_cut_file(int) {
  constexpr std::string_view message = "a file became shorter while it was read\n";
  for (const std::string_view part : {std::string_view(speaker), message}) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, part.data(), part.size());
  }
  ::_exit(exit_failure);
}

// An error on one of several ranks ends them all. Ranks other than 0 wait a moment first, so that rank 0 says
// what stops every one of them.
int complain(const World* world, std::string message, int status) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  const bool alone = world == nullptr || world->size() == 1;
  if (!alone && world->rank() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  heed::app::warn("{}{}\n", speaker, message);
  if (alone) return status;
  world->abort(status);
}

// Runs `body` and says in one line what stopped it.
template <class Body>
int guarded(const World* world, Body&& body) {
  try {
    return body();
  } catch (const heed::GradError& error) {
    return complain(world, std::string("training stopped: ") + error.what(), exit_failure);
  } catch (const heed::Error& error) {
    return complain(world, error.what(), exit_bad_input);
  } catch (const heed::OutOfMemory& error) {
    return complain(world, std::string("not enough memory: ") + error.what(), exit_bad_input);
  } catch (const std::bad_alloc&) {
    return complain(world, "not enough memory for a model of this size", exit_bad_input);
  } catch (const std::exception& error) {
    return complain(world, error.what(), exit_failure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  heed::app::hold_standard_streams();
  std::signal(SIGBUS, end_at_cut_file);
  return guarded(nullptr, [&] {
    const World world;
    set_speaker(world);
    return guarded(&world, [&] {
      if (world.rank() > 0) std::freopen("/dev/null", "w", stdout);
      const int status = heed::app::run_command_line(argc, argv, world);
      heed::app::close_out();
      return status;
    });
  });
}
