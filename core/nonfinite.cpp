#include <cmath>

#include <heed/core/nonfinite.h>
#include <heed/core/strided_loop.h>

// Masks rely on −inf and anomaly checks on NaN. A program that uses heed may be compiled with the option.
#if defined(__FAST_MATH__)
#error "heed itself must not be compiled with -ffast-math"
#endif

namespace heed {
namespace {

// Row-major index of the first element for which `test` holds.
template <class T, class Test>
std::optional<std::int64_t> find_first(const Tensor& x, Test&& test) {
  const T* base = x.data<T>() - x.offset();
  const StridedLoop<1> loop({&x.view()});
  std::int64_t seen = 0;
  std::optional<std::int64_t> found;
  loop.run(0, loop.numel(), [&](const auto& at, const auto& step, std::int64_t count) {
    for (std::int64_t i = 0; i < count && !found; ++i) {
      if (test(base[at[0] + i * step[0]])) found = seen + i;
    }
    seen += count;
  });
  return found;
}

}  // namespace

std::optional<Nonfinite> find_nonfinite(const Tensor& x) {
  if (!is_floating(x.dtype())) return {};
  return visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) -> std::optional<Nonfinite> {
    const auto first = find_first<T>(x, [](T v) { return !std::isfinite(v); });
    if (!first) return {};
    if (const auto nan = find_first<T>(x, [](T v) { return std::isnan(v); })) return Nonfinite{true, *nan};
    return Nonfinite{false, *first};
  });
}

}  // namespace heed
