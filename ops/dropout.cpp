#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/dropout.h>
#include <heed/ops/where.h>

namespace heed {

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  check_floating("dropout", "x", x);
  check_value(p >= 0 && p <= 1, "dropout", "p", p, "0 <= p <= 1");
  if (p == 0) return x;
  Tensor keep = empty(x.shape(), DType::boolean);
  const RandomStream stream = x.numel() == 0 ? generator.state() : generator.take();
  bool* data = keep.mutable_data<bool>();
  parallel_for(keep.numel(), elementwise_grain, [&](std::int64_t begin, std::int64_t end) {
    for_random_bits(stream, begin, end, [&](std::int64_t i, std::uint64_t bits) {
      data[i] = uniform_from_bits<double>(bits) >= p;
    });
  });
  return dropout_with_keep(x, keep, p);
}

Tensor dropout_with_keep(const Tensor& x, const Tensor& keep, double p) {
  check_floating("dropout_with_keep", "x", x);
  check_dtype("dropout_with_keep", "keep", keep, {DType::boolean});
  check_expands("dropout_with_keep", "keep", keep, x.shape());
  check_value(p >= 0 && p <= 1, "dropout_with_keep", "p", p, "0 <= p <= 1");
  // At p = 1 nothing is kept, whatever the mask says, and 1 / (1 − p) is not formed.
  return p == 1 ? where(zeros({}, DType::boolean), x, 0) : where(keep, mul(x, 1 / (1 - p)), 0);
}

}  // namespace heed
