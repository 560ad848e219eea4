#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <heed/core/strided_loop.h>
#include <heed/core/tensor.h>

namespace heed::detail {

/// Which elements of x go into which element of the result of a reduction.
struct ReduceAxes {
  View outer;  ///< the axes that stay, from x's offset
  View inner;  ///< the axes that go, from offset 0
  Shape kept;  ///< shape of the result when the axes that go stay with size 1
  const Shape& shape(bool keepdim) const { return keepdim ? kept : outer.shape; }
};

/// No axes means all of them. IndexError (axis out of range), ValueError (an axis twice).
ReduceAxes reduce_axes(std::string_view op, const Tensor& x, const Shape& axes);

/// ValueError if some element of the result would be reduced from nothing.
void check_not_empty(std::string_view op, const Tensor& x, const ReduceAxes& axes);

/// How a reduction is cut: blocks of so many outputs by so many reduced elements, by shapes and strides
/// alone.
struct ReduceBlocks {
  bool by_column;  ///< neighbours in memory go to different outputs
  std::int64_t outputs;
  std::int64_t elements;
};
ReduceBlocks reduce_blocks(const ReduceAxes& axes);

/// Adds a run of `count` elements to `acc`, in eight lanes that are joined in order.
template <class T, class Rule>
void reduce_run(const Rule& rule, typename Rule::Acc& acc, const T* x, std::int64_t step, std::int64_t count,
                std::int64_t position, std::int64_t output) {
  constexpr std::int64_t lanes = 8;
  std::int64_t i = 0;
  if (count >= 2 * lanes) {
    typename Rule::Acc lane[lanes];
    for (std::int64_t l = 0; l < lanes; ++l) lane[l] = rule.start(output);
    const auto loop = [&](auto stride) {
      for (; i + lanes <= count; i += lanes) {
        for (std::int64_t l = 0; l < lanes; ++l) rule.add(lane[l], x[(i + l) * stride], position + i + l);
      }
    };
    if (step == 1) {
      loop(std::integral_constant<std::int64_t, 1>{});
    } else {
      loop(step);
    }
    for (std::int64_t l = 0; l < lanes; ++l) rule.join(acc, lane[l]);
  }
  for (; i < count; ++i) rule.add(acc, x[i * step], position + i);
}

/// One block: outputs ob … oe−1 from the reduced elements nb … ne−1.
template <class T, class Rule>
void reduce_block(const Rule& rule, const T* x, const StridedLoop<1>& outer, const StridedLoop<1>& inner,
                  bool by_column, std::int64_t ob, std::int64_t oe, std::int64_t nb, std::int64_t ne,
                  typename Rule::Acc* acc) {
  if (by_column) {
    std::int64_t position = nb;
    inner.run(nb, ne, [&](const auto& from, const auto& down, std::int64_t rows) {
      for (std::int64_t r = 0; r < rows; ++r, ++position) {
        std::int64_t o = 0;
        outer.run(ob, oe, [&](const auto& at, const auto& step, std::int64_t count) {
          const T* row = x + from[0] + r * down[0] + at[0];
          for (std::int64_t i = 0; i < count; ++i) rule.add(acc[o + i], row[i * step[0]], position);
          o += count;
        });
      }
    });
    return;
  }
  std::int64_t o = ob;
  outer.run(ob, oe, [&](const auto& at, const auto& step, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, ++o) {
      const T* first = x + at[0] + i * step[0];
      std::int64_t position = nb;
      inner.run(nb, ne, [&](const auto& from, const auto& along, std::int64_t run) {
        reduce_run(rule, acc[o - ob], first + from[0], along[0], run, position, o);
        position += run;
      });
    }
  });
}

/// Reduces the elements of x. `Rule` has a type `Acc` and
///   Acc start(output) const                     the accumulator of nothing
///   void add(Acc&, T value, position) const     position: row-major number among the reduced elements
///   void join(Acc&, const Acc& later) const
///   void finish(const Acc&, output) const       stores the result; output: row-major number
/// The order of additions depends on shapes and strides alone, never on the number of threads.
template <class T, class Rule>
void reduce(const Tensor& x, const ReduceAxes& axes, const Rule& rule) {
  using Acc = typename Rule::Acc;
  const std::int64_t outputs = axes.outer.numel;
  const std::int64_t elements = axes.inner.numel;
  if (outputs == 0) return;
  const ReduceBlocks block = reduce_blocks(axes);
  const std::int64_t across = (outputs + block.outputs - 1) / block.outputs;
  const std::int64_t down = std::max<std::int64_t>(1, (elements + block.elements - 1) / block.elements);
  const StridedLoop<1> outer({&axes.outer});
  const StridedLoop<1> inner({&axes.inner});
  const T* base = x.data<T>() - x.offset();
  std::vector<Acc> parts(static_cast<std::size_t>(down > 1 ? down * outputs : 0));
  parallel_chunks(across * down, [&](std::int64_t chunk) {
    const std::int64_t ob = chunk % across * block.outputs;
    const std::int64_t oe = (std::min)(ob + block.outputs, outputs);
    const std::int64_t nb = chunk / across * block.elements;
    const std::int64_t ne = (std::min)(nb + block.elements, elements);
    std::vector<Acc> acc;
    acc.reserve(static_cast<std::size_t>(oe - ob));
    for (std::int64_t o = ob; o < oe; ++o) acc.push_back(rule.start(o));
    reduce_block(rule, base, outer, inner, block.by_column, ob, oe, nb, ne, acc.data());
    for (std::int64_t o = ob; o < oe; ++o) {
      const Acc& part = acc[static_cast<std::size_t>(o - ob)];
      if (down == 1) {
        rule.finish(part, o);
      } else {
        parts[static_cast<std::size_t>(chunk / across * outputs + o)] = part;
      }
    }
  });
  if (down == 1) return;
  parallel_for(outputs, elementwise_grain / 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      Acc acc = parts[static_cast<std::size_t>(o)];
      for (std::int64_t k = 1; k < down; ++k)
        rule.join(acc, parts[static_cast<std::size_t>(k * outputs + o)]);
      rule.finish(acc, o);
    }
  });
}

}  // namespace heed::detail
