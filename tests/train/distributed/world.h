#pragma once

#include <heed/train/distributed/world.h>

/// The ranks that run this program. A failed test case ends them all, so that none waits for one that has
/// gone another way.
heed::train::distributed::World& world();
