#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/strided_loop.h>
#include <heed/core/tensor.h>

namespace heed {
namespace {

// Whether a copy from one to the other could read elements it has already written. Windows share bytes though
// their storages differ, so addresses are compared.
bool share_bytes(const Storage& a, const Storage& b) {
  return a.data() < b.data() + b.bytes() && b.data() < a.data() + a.bytes();
}

// Whether each number of type From is one of type To.
template <class To, class From>
constexpr bool holds = std::numeric_limits<From>::digits <= std::numeric_limits<To>::digits &&
                       (std::is_floating_point_v<To> || !std::is_floating_point_v<From>);

[[noreturn]] void fail_narrow(const char* op, const Tensor& x, DType asked, std::string_view type) {
  fail<DTypeError>(op, fmt::format("{} does not hold every {}", name_of(asked), name_of(x.dtype())),
                   fmt::format("tensor is {}", describe(x)),
                   fmt::format("{}<{}>(), or a cast to {} first", op, type, name_of(asked)));
}

template <class T>
constexpr std::string_view cpp_name() {
  switch (dtype_of<T>) {
    case DType::boolean:
      return "bool";
    case DType::i32:
      return "std::int32_t";
    case DType::i64:
      return "std::int64_t";
    case DType::f32:
      return "float";
    default:
      return "double";
  }
}

// visit_dtype for reading elements as T; DTypeError if that could change one.
template <class T, class F>
auto visit_as(const char* op, const Tensor& x, F&& f) {
  using Result = decltype(f(std::type_identity<T>{}));
  return visit_dtype(x.dtype(), [&]<class From>(std::type_identity<From> from) -> Result {
    if constexpr (holds<T, From>) {
      return f(from);
    } else {
      fail_narrow(op, x, dtype_of<T>, cpp_name<From>());
    }
  });
}

}  // namespace

TensorImpl::TensorImpl(Ref<Storage> s, View v, DType t)
    : storage(std::move(s)), dtype(t), view(std::move(v)) {}
TensorImpl::~TensorImpl() = default;

Tensor::Tensor(Ref<Storage> storage, View view, DType dtype)
    : impl_(new TensorImpl(std::move(storage), std::move(view), dtype)) {}

void Tensor::fail_undefined(const char* member) {
  fail<ValueError>(member, "tensor is undefined", {},
                   "a tensor (there is none for a gradient before backward or a part that is off)");
}

std::int64_t Tensor::size(std::int64_t axis) const {
  of("size");
  if (rank() == 0)
    fail<IndexError>("size", "a tensor without axes has no size", fmt::format("axis is {}", axis));
  return impl_->view.shape[normalize_axis("size", axis, rank())];
}

void Tensor::fail_dtype(const char* op, DType wanted) const {
  of(op);
  detail::fail_dtype(op, "tensor", *this, {wanted});
}

void Tensor::require_single() const {
  of("item");
  if (numel() == 1) return;
  fail<ShapeError>("item", "tensor has not one element", fmt::format("it is {}", shape().str()),
                   "one element");
}

void Tensor::prepare_write(const char* op) {
  of(op);
  if (impl_->node && grad_enabled()) {
    fail<GradError>(op, "in-place write to a tensor with history",
                    fmt::format("{} made by {}", shape().str(), impl_->node->op()),
                    "a NoGrad scope, or a detached tensor");
  }
  if (has_broadcast_axis(impl_->view)) {
    fail<ValueError>(op, "in-place write to a view whose indices share elements",
                     fmt::format("shape {} with strides {}", shape().str(), strides().str()), "a copy of it");
  }
  impl_->storage->bump_version();
}

Tensor& Tensor::fill_(Scalar value) {
  prepare_write("fill_");
  visit_dtype(dtype(), [&]<class T>(std::type_identity<T>) {
    T* data = reinterpret_cast<T*>(storage()->data());
    const T v = value.to<T>();
    StridedLoop<1>({&view()}).run_parallel([&](const auto& at, const auto& step, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) data[at[0] + i * step[0]] = v;
    });
  });
  return *this;
}

Tensor& Tensor::copy_(const Tensor& source) {
  check_same_dtype("copy_", "target", *this, "source", source);
  check_same_shape("copy_", "target", *this, "source", source);
  prepare_write("copy_");
  copy_elements(share_bytes(*storage(), *source.storage()) ? copy_of(source) : source, *this);
  return *this;
}

template <class T>
T Tensor::item() const {
  require_single();
  return visit_as<T>("item", *this,
                     [&]<class From>(std::type_identity<From>) { return static_cast<T>(*data<From>()); });
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  of("to_vector");
  std::vector<T> result;
  visit_as<T>("to_vector", *this, [&]<class From>(std::type_identity<From>) {
    const From* from = data<From>() - offset();
    result.reserve(static_cast<std::size_t>(numel()));
    const StridedLoop<1> loop({&view()});
    loop.run(0, loop.numel(), [&](const auto& at, const auto& step, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<T>(from[at[0] + i * step[0]]));
    });
  });
  return result;
}

template bool Tensor::item() const;
template std::int32_t Tensor::item() const;
template std::int64_t Tensor::item() const;
template float Tensor::item() const;
template double Tensor::item() const;
template std::vector<bool> Tensor::to_vector() const;
template std::vector<std::int32_t> Tensor::to_vector() const;
template std::vector<std::int64_t> Tensor::to_vector() const;
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;

Tensor& Tensor::set_requires_grad(bool value) {
  of("set_requires_grad");
  if (impl_->node && !impl_->node->is_leaf()) {
    if (value) return *this;
    fail<GradError>("set_requires_grad", "tensor has history",
                    fmt::format("it was made by {}", impl_->node->op()), "a leaf (use detach)");
  }
  if (!value) {
    impl_->node = {};
  } else if (!impl_->node) {
    check_floating("set_requires_grad", "tensor", *this);
    impl_->node = Ref<Node>(new LeafNode(shape(), dtype()));
    impl_->output = 0;
  }
  return *this;
}

bool Tensor::is_leaf() const { return !requires_grad() || impl_->node->is_leaf(); }

Tensor Tensor::grad() const {
  return requires_grad() && impl_->node->is_leaf() ? static_cast<LeafNode*>(impl_->node.get())->grad()
                                                   : Tensor();
}

void Tensor::set_grad(Tensor gradient) {
  if (!of("set_grad").node || !impl_->node->is_leaf()) {
    fail<GradError>("set_grad", "tensor is no leaf that requires grad", {}, "a leaf");
  }
  if (gradient.defined()) {
    check_same_dtype("set_grad", "tensor", *this, "gradient", gradient);
    check_same_shape("set_grad", "tensor", *this, "gradient", gradient);
  }
  // With history, a gradient could own its own leaf and never be freed.
  if (gradient.requires_grad()) gradient = gradient.detach();
  static_cast<LeafNode*>(impl_->node.get())->set_grad(std::move(gradient));
}

HookHandle Tensor::register_hook(GradientHook hook) const {
  if (!hook) fail<ValueError>("register_hook", "hook is empty", {}, "a function");
  of("register_hook");
  if (!requires_grad()) {
    fail<GradError>("register_hook", "tensor does not require grad", describe(*this),
                    "a leaf that requires grad or a result of recorded operations");
  }
  Ref<detail::HookList> list = impl_->node->hook_list();
  const std::uint64_t id = list->add(impl_->output, std::move(hook));
  return {std::move(list), id};
}

HookHandle Tensor::register_stored_hook(StoredHook hook) const {
  if (!hook) fail<ValueError>("register_stored_hook", "hook is empty", {}, "a function");
  of("register_stored_hook");
  if (!requires_grad() || !is_leaf()) {
    fail<GradError>("register_stored_hook", "tensor is no leaf that requires grad", describe(*this),
                    "a leaf");
  }
  Ref<detail::HookList> list = impl_->node->hook_list();
  const std::uint64_t id =
      list->add(detail::HookList::stored, [hook = std::move(hook)](const Tensor& gradient) {
        hook(gradient);
        return Tensor();
      });
  return {std::move(list), id};
}

Tensor Tensor::detach() const {
  of("detach");
  return view_of(*this, view());
}

Tensor view_of(const Tensor& x, View view) { return {x.storage(), std::move(view), x.dtype()}; }

}  // namespace heed
