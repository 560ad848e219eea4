// A consumer with macros that many projects have, built with -ffast-math and a newer standard: heed's
// masks stay right.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#define LOG(x) static_assert(false, #x)
#define CHECK(x) static_assert(false, #x)
#define ERROR 0
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

#include <heed/heed.h>

#if !defined(LOG) || !defined(CHECK) || !defined(ERROR) || !defined(min) || !defined(max)
#error "heed took a macro away"
#endif

int main() {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  const heed::Tensor query = heed::ones({1, 1, 2, 2});
  const heed::Tensor key = heed::tensor({1.0f, 2.0f, nan, inf}, {1, 1, 2, 2});
  const heed::Tensor value = heed::tensor({3.0f, 4.0f, nan, nan}, {1, 1, 2, 2});
  // The first query may see the first key, the second one nothing.
  const heed::Tensor open = heed::tensor({true, false, false, false}, {1, 1, 2, 2});
  const auto attended = heed::attention(query, key, value, {.mask = heed::AttentionMask::attend(open)});
  const std::vector<float> wanted{3, 4, 0, 0};
  const std::vector<float> weights = heed::softmax(heed::tensor({0.0f, -inf, -inf, 0.0f})).to_vector<float>();
  const std::vector<float> halves{0.5f, 0, 0, 0.5f};
  const bool right = attended.output.to_vector<float>() == wanted && weights == halves &&
                     heed::version() == HEED_VERSION_STRING;
  std::puts(right ? "masks are right" : "masks are wrong");
  return right ? 0 : 1;
}
