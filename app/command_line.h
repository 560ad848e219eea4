#pragma once

#include <heed/train/distributed/world.h>

namespace heed::app {

/// Does what the arguments of the program say, by all ranks of a world together. Returns the exit status.
/// Throws    ValueError (no command, or a command, flag or value that there is not), and what commands throw.
int run_command_line(int argc, char** argv, const heed::train::distributed::World& world);

}  // namespace heed::app
