#include <algorithm>
#include <cmath>

#include <heed/core/strided_loop.h>
#include <heed/ops/all_finite.h>
#include <heed/ops/kernels/all_finite.h>

namespace heed::detail {
namespace {

// The axes from the largest step to the smallest: where elements are dense in memory, in whatever order of
// the axes, they become one run.
View in_memory_order(const View& view) {
  Shape axes;
  for (int k = 0; k < view.shape.rank(); ++k) axes.push_back(k);
  std::stable_sort(axes.begin(), axes.end(), [&](std::int64_t a, std::int64_t b) {
    return view.strides[static_cast<int>(a)] > view.strides[static_cast<int>(b)];
  });
  return permute_view("all_finite", view, axes);
}

}  // namespace

bool all_finite(const Tensor& x) {
  if (!x.defined()) return true;
  return visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* data = x.data<T>() - x.offset();
    bool finite = true;
    const View view = x.is_contiguous() ? x.view() : in_memory_order(x.view());
    const StridedLoop<1> loop({&view});
    loop.run(0, loop.numel(), [&](const auto& at, const auto& step, std::int64_t count) {
      if (step[0] == 1) {
        finite = finite && kernels::all_finite(data + at[0], count);
      } else {
        for (std::int64_t i = 0; i < count; ++i) finite = finite && std::isfinite(data[at[0] + i * step[0]]);
      }
    });
    return finite;
  });
}

}  // namespace heed::detail
