#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/compare.h>
#include <heed/ops/embedding.h>
#include <heed/ops/index_rows.h>
#include <heed/ops/reshape.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

// Lets y through, and no gradient back from the rows of the padding index.
struct PaddingVjp {
  SavedTensor indices;  // [n]
  std::int64_t padding_index = 0;
  void vjp(VjpContext& context) const {  // y = rows [n, C]
    const Tensor padded = unsqueeze(eq(context.unpack(indices), padding_index), 1);
    context.set(0, masked_fill(context.cotangent(), padded, 0));
  }
};

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices, std::optional<std::int64_t> padding_index) {
  check_floating("embedding", "weight", weight);
  check_rank("embedding", "weight", weight, 2, 2);
  const std::int64_t rows = weight.shape()[0];
  if (padding_index) {
    check_value(*padding_index >= 0 && *padding_index < rows, "embedding", "padding_index", *padding_index,
                "a row of weight");
  }
  const Tensor at = reshape(detail::checked_indices("embedding", indices, rows), {indices.numel()});
  Tensor y = detail::take_rows("embedding", weight, 0, at);
  if (padding_index) {
    const Tensor taken = y;
    y = view_of(taken, taken.view());
    record("embedding", {&taken}, y, [&] { return PaddingVjp{save_input(at, "indices"), *padding_index}; });
  }
  Shape shape = indices.shape();
  shape.push_back(weight.shape()[1]);
  return reshape(y, shape);
}

}  // namespace heed
