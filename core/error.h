#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace heed {

struct ScopeName;

/// Base of every exception that heed throws on purpose, `OutOfMemory` aside. One that is made while a module
/// runs, forward or backward, by heed or by a module of the user's, ends with the place:
/// ` (in module decoder.blocks.3)`.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message);

  /// Path of the innermost module that ran when the error was made, such as `decoder.blocks.3.attention`;
  /// empty outside of all.
  std::string module() const;

 private:
  const ScopeName* scope_;
};

/// Shapes that do not fit together, or a shape that cannot exist.
class ShapeError : public Error {
  using Error::Error;
};

/// A dtype an operation is not defined for, or two dtypes that differ.
class DTypeError : public Error {
  using Error::Error;
};

/// An axis, a position or a class index outside its range.
class IndexError : public Error {
  using Error::Error;
};

/// An argument whose value is outside its domain.
class ValueError : public Error {
  using Error::Error;
};

/// Misuse of the tape: a freed graph, an overwritten saved tensor, an operation without a derivative.
class GradError : public Error {
  using Error::Error;
};

/// A file that cannot be read or written, or whose content is not what it claims to be.
class IoError : public Error {
  using Error::Error;
};

/// The elements of a tensor, or what a kernel works in, do not fit into memory; says which shape, dtype and
/// number of bytes. It is a std::bad_alloc and not an `Error`: a class that were both would have the base
/// std::exception twice, and no handler for std::exception would catch it.
class OutOfMemory : public std::bad_alloc {
 public:
  // NOLINTNEXTLINE(bugprone-throw-keyword-missing): a member, which is not thrown
  explicit OutOfMemory(const std::string& message) : message_(message) {}
  const char* what() const noexcept override { return message_.what(); }

 private:
  Error message_;  // with the place; copied without throwing
};

/// The one grammar of messages: `op: problem, given; expected expectation`. Empty parts are left out.
std::string error_message(std::string_view op, std::string_view problem, std::string_view given,
                          std::string_view expected);

/// Throws `E` with the message that `error_message` builds.
template <class E>
[[noreturn]] void fail(std::string_view op, std::string_view problem, std::string_view given = {},
                       std::string_view expected = {}) {
  throw E(error_message(op, problem, given, expected));
}

}  // namespace heed
