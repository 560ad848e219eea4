#include <heed/core/error.h>

namespace heed {

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
