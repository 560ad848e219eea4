#include "numbers.h"

#include <algorithm>
#include <new>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <heed/core/elements.h>
#include <heed/core/error.h>

namespace heed::test {

const std::vector<std::int64_t>& end_numbers() {
  static const std::vector<std::int64_t> numbers = [] {
    constexpr Wide low = std::numeric_limits<std::int64_t>::min();
    constexpr Wide high = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> all;
    for (const Wide base : {low, -(Wide{1} << 62), -(Wide{1} << 31), Wide{0}, Wide{1} << 31, Wide{1} << 32,
                            Wide{1} << 61, Wide{1} << 62, high}) {
      for (int step = -2; step <= 2; ++step) {
        if (base + step >= low && base + step <= high) all.push_back(static_cast<std::int64_t>(base + step));
      }
    }
    for (const std::int64_t n : {3, 4, 5, -3, -4, -5}) all.push_back(n);
    return all;
  }();
  return numbers;
}

std::string text_of(const Tensor& x) {
  std::string text = x.shape().str();
  if (x.numel() > 16) return text;
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for (const T v : x.to_vector<T>()) text += fmt::format(" {}", v);
  });
  return text;
}

std::string text_of(const std::vector<Tensor>& x) {
  std::string text;
  for (const Tensor& part : x) text += text_of(part) + ";";
  return text;
}

IntegerRow row(std::string name, std::function<std::string(std::int64_t)> call,
               std::function<std::optional<std::string>(std::int64_t)> wanted) {
  return {std::move(name), 1,
          [call = std::move(call)](const std::vector<std::int64_t>& n) { return call(n[0]); },
          [wanted = std::move(wanted)](const std::vector<std::int64_t>& n) { return wanted(n[0]); }};
}

namespace {

// Whether the row holds there; if not, the test says what came instead.
bool holds_at(const IntegerRow& row, const std::vector<std::int64_t>& at) {
  const std::optional<std::string> wanted = row.wanted(at);
  std::string got;
  std::string refusal;
  try {
    got = row.call(at);
  } catch (const Error& e) {
    refusal = e.what();
  } catch (const std::bad_alloc&) {
    refusal = "no memory";
  } catch (const std::exception& e) {
    FAIL(fmt::format("{} at {}: no error of heed's: {}", row.name, fmt::join(at, ", "), e.what()));
  }
  const bool right = wanted ? refusal.empty() && got == *wanted : !refusal.empty();
  if (!right) {
    FAIL_CHECK(fmt::format("{} at {}: gave {}, wanted {}", row.name, fmt::join(at, ", "),
                           refusal.empty() ? got : "the error \"" + refusal + "\"",
                           wanted.value_or("an error")));
  }
  return right;
}

}  // namespace

void require_row(const IntegerRow& row) {
  const auto& numbers = end_numbers();
  std::vector<std::size_t> place(static_cast<std::size_t>(row.arguments), 0);
  std::vector<std::int64_t> at(place.size());
  std::int64_t tried = 0, held = 0;
  while (true) {
    std::transform(place.begin(), place.end(), at.begin(), [&](std::size_t i) { return numbers[i]; });
    ++tried;
    if (holds_at(row, at)) ++held;
    std::size_t k = 0;
    while (k < place.size() && ++place[k] == numbers.size()) place[k++] = 0;
    if (k == place.size()) break;
  }
  CHECK(held == tried);
}

}  // namespace heed::test
