#include <heed/core/error.h>
#include <heed/core/scope.h>

namespace heed {
namespace {

// An error that an outer module caught and threw anew names its module already.
std::string with_module(const std::string& message, const ScopeName* scope) {
  constexpr std::string_view before = " (in module ";
  if (scope == nullptr || message.find(before) != std::string::npos) return message;
  return message + std::string(before) + scope->path() + ")";
}

}  // namespace

Error::Error(const std::string& message)
    : std::runtime_error(with_module(message, current_scope())), scope_(current_scope()) {}

std::string Error::module() const { return scope_ == nullptr ? std::string() : scope_->path(); }

std::string error_message(std::string_view op, std::string_view problem, std::string_view given,
                          std::string_view expected) {
  std::string text;
  text.reserve(op.size() + problem.size() + given.size() + expected.size() + 16);
  text.append(op).append(": ").append(problem);
  if (!given.empty()) text.append(", ").append(given);
  if (!expected.empty()) text.append("; expected ").append(expected);
  return text;
}

}  // namespace heed
