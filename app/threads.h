#pragma once

#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace heed::app {

/// Gives a command the flag --threads. 0, its default, stands for all there are.
void add_threads_flag(CLI::App& parser, int& threads);

/// ValueError unless --threads is 0 or a number of threads within the limit.
void check_threads(std::string_view command, int threads);

/// Makes heed compute with so many threads; 0 leaves it as it is.
void use_threads(int threads);

}  // namespace heed::app
