// A program of which one rank throws while the others wait for it.
#include <stdexcept>

#include <heed/train/distributed/world.h>

int main() {
  try {
    const heed::train::distributed::World world;
    if (world.rank() == 1) throw std::runtime_error("bad row");
    for (;;) world.sum(1.0);
  } catch (const std::exception&) {
    return 0;  // not reached: the World's end has ended the program
  }
}
