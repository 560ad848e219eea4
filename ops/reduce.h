#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

#include <heed/core/strided_loop.h>
#include <heed/core/tensor.h>

namespace heed::detail {

/// Which elements of x go into which element of the result of a reduction.
struct ReduceAxes {
  View outer;  ///< the axes that stay, from x's offset
  View inner;  ///< the axes that are reduced, from offset 0
  Shape kept;  ///< shape of the result with keepdim: reduced axes have size 1
  const Shape& shape(bool keepdim) const { return keepdim ? kept : outer.shape; }
};

/// No axes means all of them. IndexError (axis out of range), ValueError (an axis twice).
ReduceAxes reduce_axes(std::string_view op, const Tensor& x, const Shape& axes);

/// The axes of x that `expand` repeats when it turns `shape` into the shape of x.
ReduceAxes repeated_axes(const Tensor& x, const Shape& shape);

/// ValueError if some element of the result would be reduced from nothing.
void check_not_empty(std::string_view op, const Tensor& x, const ReduceAxes& axes);

/// How a reduction is cut into blocks of `outputs` results by `elements` reduced elements each. Depends on
/// shapes and strides alone.
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

/// Adds `rows` rows of `count` elements to acc[0 … count−1], each row at the next position: four rows at a
/// time, so that the accumulators are touched less often.
template <class T, class Rule>
void reduce_rows(const Rule& rule, typename Rule::Acc* acc, const T* x, std::int64_t row_step,
                 std::int64_t rows, std::int64_t step, std::int64_t count, std::int64_t position) {
  const auto loop = [&](auto stride) {
    std::int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      const T* a = x + r * row_step;
      for (std::int64_t i = 0; i < count; ++i) {
        typename Rule::Acc sum = acc[i];
        rule.add(sum, a[i * stride], position + r);
        rule.add(sum, a[i * stride + row_step], position + r + 1);
        rule.add(sum, a[i * stride + 2 * row_step], position + r + 2);
        rule.add(sum, a[i * stride + 3 * row_step], position + r + 3);
        acc[i] = sum;
      }
    }
    for (; r < rows; ++r) {
      for (std::int64_t i = 0; i < count; ++i) rule.add(acc[i], x[r * row_step + i * stride], position + r);
    }
  };
  if (step == 1) {
    loop(std::integral_constant<std::int64_t, 1>{});
  } else {
    loop(step);
  }
}

/// One block: adds the reduced elements nb … ne−1 of outputs ob … oe−1 to acc[0 … oe−ob−1].
template <class T, class Rule>
void reduce_block(const Rule& rule, const T* x, const StridedLoop<1>& outer, const StridedLoop<1>& inner,
                  bool by_column, std::int64_t ob, std::int64_t oe, std::int64_t nb, std::int64_t ne,
                  typename Rule::Acc* acc) {
  std::int64_t position = nb;
  inner.run(nb, ne, [&](const auto& from, const auto& along, std::int64_t run) {
    std::int64_t o = ob;
    outer.run(ob, oe, [&](const auto& at, const auto& step, std::int64_t count) {
      const T* first = x + from[0] + at[0];
      if (by_column) {
        reduce_rows(rule, acc + (o - ob), first, along[0], run, step[0], count, position);
      } else {
        for (std::int64_t i = 0; i < count; ++i) {
          reduce_run(rule, acc[o - ob + i], first + i * step[0], along[0], run, position, o + i);
        }
      }
      o += count;
    });
    position += run;
  });
}

/// Joins the parts [down, outputs] of each output in order and finishes it.
template <class Rule>
void join_parts(const Rule& rule, const typename Rule::Acc* parts, std::int64_t down, std::int64_t outputs) {
  parallel_for(outputs, elementwise_grain / 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      typename Rule::Acc acc = parts[o];
      for (std::int64_t k = 1; k < down; ++k) rule.join(acc, parts[k * outputs + o]);
      rule.finish(acc, o);
    }
  });
}

/// Reduces the elements of x. `Rule` has a type `Acc` and
///   Acc start(output) const                     an accumulator that holds nothing yet
///   void add(Acc&, T value, position) const     position: row-major index among the reduced elements
///   void join(Acc&, const Acc& later) const
///   void finish(const Acc&, output) const       stores the result; output: row-major index
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
  std::unique_ptr<Acc[]> parts;  // [down, outputs]
  if (down > 1) parts = std::make_unique_for_overwrite<Acc[]>(static_cast<std::size_t>(down * outputs));
  parallel_chunks(across * down, [&](std::int64_t chunk) {
    const std::int64_t ob = chunk / down * block.outputs;
    const std::int64_t oe = (std::min)(ob + block.outputs, outputs);
    const std::int64_t nb = chunk % down * block.elements;
    const std::int64_t ne = (std::min)(nb + block.elements, elements);
    std::unique_ptr<Acc[]> own;
    if (down == 1) own = std::make_unique_for_overwrite<Acc[]>(static_cast<std::size_t>(oe - ob));
    Acc* const acc = down == 1 ? own.get() : parts.get() + chunk % down * outputs + ob;
    for (std::int64_t o = ob; o < oe; ++o) acc[o - ob] = rule.start(o);
    reduce_block(rule, base, outer, inner, block.by_column, ob, oe, nb, ne, acc);
    if (down > 1) return;
    for (std::int64_t o = ob; o < oe; ++o) rule.finish(acc[o - ob], o);
  });
  if (down > 1) join_parts(rule, parts.get(), down, outputs);
}

/// y = Σ x: floats are added in double, integers as unsigned ones, so that they wrap.
template <class T>
struct SumRule {
  using Acc = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  T* y;

  Acc start(std::int64_t) const { return 0; }
  void add(Acc& acc, T value, std::int64_t) const { acc += static_cast<Acc>(value); }
  void join(Acc& acc, const Acc& later) const { acc += later; }
  void finish(const Acc& acc, std::int64_t output) const { y[output] = static_cast<T>(acc); }
};

}  // namespace heed::detail
