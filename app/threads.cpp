#include <cstdint>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/app/threads.h>
#include <heed/core/arguments.h>
#include <heed/core/parallel.h>

namespace heed::app {
namespace {

constexpr int most_threads = 256;

}  // namespace

void add_threads_flag(CLI::App& parser, int& threads) {
  parser.add_option("--threads", threads, "Processor threads; 0 takes all there are")->capture_default_str();
}

void check_threads(std::string_view command, int threads) {
  heed::check_value(threads >= 0 && threads <= most_threads, command, "--threads", std::int64_t{threads},
                    fmt::format("0 to {}", most_threads));
}

void use_threads(int threads) {
  if (threads > 0) heed::set_num_threads(threads);
}

}  // namespace heed::app
