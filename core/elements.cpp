#include <new>
#include <utility>

#include <fmt/format.h>

#include <heed/core/allocator.h>
#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>

namespace heed {
namespace {

struct AccumulateVjp {
  void vjp(VjpContext& context) const {  // y = a + b
    for (int i = 0; i < 2; ++i) {
      if (context.needs(i)) context.set(i, context.cotangent());
    }
  }
};

// y[i] = a[i] + b[i]; y may be a.
void add_elements(const Tensor& a, const Tensor& b, Tensor& y) {
  visit_floating(y.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* pa = a.data<T>() - a.offset();
    const T* pb = b.data<T>() - b.offset();
    T* py = y.mutable_data<T>() - y.offset();
    const StridedLoop<3> loop({&y.view(), &a.view(), &b.view()});
    loop.run_parallel([&](const auto& at, const auto& step, std::int64_t count) {
      T* out = py + at[0];
      const T* x = pa + at[1];
      const T* z = pb + at[2];
      if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
        for (std::int64_t i = 0; i < count; ++i) out[i] = x[i] + z[i];
      } else {
        for (std::int64_t i = 0; i < count; ++i) out[i * step[0]] = x[i * step[1]] + z[i * step[2]];
      }
    });
  });
}

Ref<Storage> allocate(std::size_t bytes, const Shape& shape, DType dtype) {
  try {
    return Storage::allocate(bytes);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(error_message(
        "empty", "out of memory", fmt::format("{}{} takes {} bytes", name_of(dtype), shape.str(), bytes),
        fmt::format("room beside the {} bytes of tensors in use", memory_stats().live)));
  }
}

}  // namespace

std::size_t byte_count(std::string_view op, const View& view, DType dtype) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(view.numel), size_of(dtype), &bytes) ||
      bytes >= (std::size_t{1} << 62)) {
    fail<ShapeError>(op, "too many bytes", view.shape.str(), "fewer than 2^62 bytes");
  }
  return bytes;
}

Tensor empty(const Shape& shape, DType dtype) {
  View view = contiguous_view(shape);
  if (dtype == DType::bf16)
    fail<DTypeError>("empty", "dtype is reserved", "bf16", "boolean, i32, i64, f32 or f64");
  const std::size_t bytes = byte_count("empty", view, dtype);
  return {allocate(bytes, shape, dtype), std::move(view), dtype};
}

void copy_elements(const Tensor& source, Tensor& target) {
  visit_dtype(source.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* from = source.data<T>() - source.offset();
    T* to = reinterpret_cast<T*>(target.storage()->data());
    const StridedLoop<2> loop({&target.view(), &source.view()});
    loop.run_parallel([&](const auto& at, const auto& step, std::int64_t count) {
      T* out = to + at[0];
      const T* x = from + at[1];
      if (step[0] == 1 && step[1] == 1) {
        std::copy(x, x + count, out);
      } else {
        for (std::int64_t i = 0; i < count; ++i) out[i * step[0]] = x[i * step[1]];
      }
    });
  });
}

Tensor copy_of(const Tensor& x) {
  Tensor y = empty(x.shape(), x.dtype());
  copy_elements(x, y);
  return y;
}

double scalar_of(const Tensor& x) {
  check_floating("scalar_of", "x", x);
  return x.dtype() == DType::f32 ? static_cast<double>(x.item<float>()) : x.item<double>();
}

Tensor accumulate(const Tensor& a, const Tensor& b) {
  check_same_dtype("accumulate", "a", a, "b", b);
  check_same_shape("accumulate", "a", a, "b", b);
  Tensor y = empty(a.shape(), a.dtype());
  add_elements(a, b, y);
  record("accumulate", {&a, &b}, y, [] { return AccumulateVjp{}; });
  return y;
}

void accumulate_into(Tensor& a, const Tensor& b) { add_elements(a, b, a); }

}  // namespace heed
