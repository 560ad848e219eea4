#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/core/dtype.h>
#include <heed/core/hooks.h>
#include <heed/core/pool.h>
#include <heed/core/ref.h>
#include <heed/core/scalar.h>
#include <heed/core/storage.h>
#include <heed/core/view.h>

namespace heed {

class Node;

/// What a Tensor handle points to. `node` is the producer on the tape (or the leaf's own node); `output` says
/// which of its outputs this is.
struct TensorImpl final : RefCounted, Pooled {
  TensorImpl(Ref<Storage> s, View v, DType t);
  ~TensorImpl();
  static void destroy(TensorImpl* impl) noexcept { delete impl; }

  Ref<Storage> storage;
  Ref<Node> node;
  std::uint32_t output = 0;
  DType dtype;
  View view;
};

/// A multi-dimensional array with a place on the tape. A handle: copies share elements and history. An
/// undefined one has no gradient and requires none, and is a leaf; whatever else it is asked is a ValueError
/// that names the call.
class Tensor {
 public:
  /// An undefined tensor, for optional arguments and absent gradients.
  Tensor() = default;
  /// A handle on elements of `storage`, without history.
  Tensor(Ref<Storage> storage, View view, DType dtype);

  bool defined() const { return static_cast<bool>(impl_); }
  const Shape& shape() const { return of("shape").view.shape; }
  const Strides& strides() const { return of("strides").view.strides; }
  std::int64_t offset() const { return of("offset").view.offset; }
  const View& view() const { return of("view").view; }
  int rank() const { return of("rank").view.shape.rank(); }
  /// Size along an axis; negative axes count from the end. IndexError if there is no such axis.
  std::int64_t size(std::int64_t axis) const;
  std::int64_t numel() const { return of("numel").view.numel; }
  DType dtype() const { return of("dtype").dtype; }
  bool is_contiguous() const { return heed::is_contiguous(of("is_contiguous").view); }
  const Ref<Storage>& storage() const { return of("storage").storage; }

  /// First element for reading; the others lie at strides(). DTypeError if T is not the dtype.
  template <class T>
  const T* data() const {
    require_dtype("data", dtype_of<T>);
    return reinterpret_cast<const T*>(impl_->storage->data()) + impl_->view.offset;
  }
  /// First element for writing. Bumps the version. GradError on a tensor with history while gradients are on;
  /// ValueError on a view whose indices share elements.
  template <class T>
  T* mutable_data() {
    require_dtype("mutable_data", dtype_of<T>);
    prepare_write("mutable_data");
    return reinterpret_cast<T*>(impl_->storage->data()) + impl_->view.offset;
  }

  /// Write `value` to every element, or copy the elements of `source` (same shape and dtype). Both bump the
  /// version and throw as `mutable_data` does.
  Tensor& fill_(Scalar value);
  Tensor& copy_(const Tensor& source);

  /// The only element, as T or wider: `item<double>()` of f32 and `item<std::int64_t>()` of i32 are exact.
  /// ShapeError unless numel() == 1, DTypeError if T does not hold every number of the dtype.
  template <class T>
  T item() const;
  /// All elements in row-major order, as T or wider. DTypeError as for item.
  template <class T>
  std::vector<T> to_vector() const;

  bool requires_grad() const { return impl_ && impl_->node; }
  /// Turns a tensor without history into a leaf (or back). DTypeError unless floating, GradError on a result
  /// of a recorded operation.
  Tensor& set_requires_grad(bool value = true);
  bool is_leaf() const;
  /// Gradient accumulated by `backward` into this leaf; undefined if none.
  Tensor grad() const;
  /// Replaces the gradient of a leaf (undefined clears it).
  void set_grad(Tensor gradient);
  void zero_grad() { set_grad({}); }

  /// Calls `hook` once in every backward or grad that reaches this leaf or result, with the complete
  /// gradient; what it returns takes its place (undefined keeps it). Hooks run in the order of registration,
  /// before the gradient is stored, returned or passed on; with create_graph what they compute is recorded.
  /// They belong to the leaf or result and end with it. The gradient may be shared: it must not be written
  /// to. A hook that holds this tensor keeps it alive for ever.
  /// Throws    GradError (the tensor does not require grad; in backward: a replacement of another shape or
  ///           dtype), ValueError (no function).
  HookHandle register_hook(GradientHook hook) const;
  /// Calls `hook` in every backward as soon as this leaf's last consumer has run and the sum is in `.grad`,
  /// which it sees and may write to.
  /// Throws    GradError (no leaf that requires grad), ValueError.
  HookHandle register_stored_hook(StoredHook hook) const;
  /// The same elements without history.
  Tensor detach() const;

  TensorImpl* impl() const { return impl_.get(); }
  /// Whether this handle is the only owner of its elements.
  bool owns_storage_alone() const {
    return of("owns_storage_alone").unique() && impl_->storage->owns_bytes_alone();
  }

 private:
  // What the handle points to. `member` names the caller in the error for an undefined tensor.
  const TensorImpl& of(const char* member) const {
    if (!impl_) [[unlikely]]
      fail_undefined(member);
    return *impl_;
  }
  [[noreturn]] static void fail_undefined(const char* member);
  void require_dtype(const char* op, DType wanted) const {
    if (!impl_ || impl_->dtype != wanted) [[unlikely]]
      fail_dtype(op, wanted);
  }
  [[noreturn]] void fail_dtype(const char* op, DType wanted) const;
  void require_single() const;
  void prepare_write(const char* op);

  Ref<TensorImpl> impl_;
};

/// A tensor that shares the storage of `x` under another view, without history. View operations record it.
Tensor view_of(const Tensor& x, View view);

}  // namespace heed
