#include "flat_positions.h"

#include <heed/core/factory.h>
#include <heed/ops/cast.h>

namespace heed::conformance {

FlatPositions flat_positions(const Tensor& x, const Tensor& indices, int batch) {
  const std::vector<std::int64_t> values = cast(indices, DType::i64).to_vector<std::int64_t>();
  const auto width = static_cast<int>(indices.size(-1));
  FlatPositions flat;
  flat.axes = batch + width;
  std::int64_t batches = 1;
  for (int i = 0; i < batch; ++i) batches *= x.size(i);
  std::int64_t cells = 1;  // that a tuple chooses from
  for (int i = batch; i < flat.axes; ++i) cells *= x.size(i);
  for (int i = flat.axes; i < x.rank(); ++i) flat.slice_size *= x.size(i);
  flat.slices = batches * cells;

  std::int64_t count = 1;
  for (int i = 0; i + 1 < indices.rank(); ++i) count *= indices.size(i);
  std::vector<std::int64_t> positions;
  for (std::int64_t tuple = 0; tuple < count; ++tuple) {
    std::int64_t cell = 0;
    for (int i = 0; i < width; ++i) {
      const std::int64_t size = x.size(batch + i);
      const std::int64_t index = values[static_cast<std::size_t>(tuple * width + i)];
      if (index < -size || index >= size) fail<IndexError>("conformance", "an index is outside its axis");
      cell = cell * size + (index < 0 ? index + size : index);
    }
    positions.push_back(tuple / (count / batches) * cells + cell);
  }
  flat.positions = from_span(std::span<const std::int64_t>(positions), {count});
  return flat;
}

}  // namespace heed::conformance
