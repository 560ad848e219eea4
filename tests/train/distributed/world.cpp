#include <cstdio>
#include <cstdlib>
#include <memory>

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include "world.h"

namespace {

std::unique_ptr<heed::train::distributed::World> the_world;

struct WorldListener : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo&) override {
    heed::train::distributed::WorldOptions options;
    const char* const largest = std::getenv("HEED_TEST_LARGEST_MESSAGE");
    if (largest != nullptr) options.largest_message = std::atoll(largest);
    the_world = std::make_unique<heed::train::distributed::World>(options);
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.assertions.allOk()) return;
    std::fflush(stdout);
    the_world->abort(EXIT_FAILURE);
  }
  void testRunEnded(const Catch::TestRunStats&) override { the_world.reset(); }
};

}  // namespace

CATCH_REGISTER_LISTENER(WorldListener)

heed::train::distributed::World& world() { return *the_world; }
