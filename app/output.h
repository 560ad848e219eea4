#pragma once

#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace heed::app {

/// Standard output does not take what a command has to say.
struct OutputLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Writes text to standard output; all that commands say there goes through here. It leaves at once, into a
/// pipe too: a run that is killed has told what it did, and what is lost is noticed where it is written.
/// Throws    OutputLost with the system's reason.
void write_out(std::string_view text);

/// The same, put together as fmt::format does.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  write_out(fmt::format(format, std::forward<Args>(args)...));
}

/// What a command says last: closes standard output. Some file systems tell only now that they are full.
/// Throws    OutputLost.
void close_out();

/// Writes text to standard error. Where that cannot be written there is nobody left to tell.
void write_err(std::string_view text) noexcept;

/// The same, put together as fmt::format does.
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write_err(fmt::format(format, std::forward<Args>(args)...));
}

/// To be called before any file is opened. One that takes the number of a closed standard stream would get
/// what is written to the stream; a closed stream stays unwritable instead.
void hold_standard_streams();

}  // namespace heed::app
