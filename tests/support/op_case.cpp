#include "op_case.h"

#include <utility>

#include <heed/core/factory.h>
#include <heed/core/random.h>

namespace heed::test {

std::vector<OpCase>& op_cases() {
  static std::vector<OpCase> cases;
  return cases;
}

std::vector<ErrorCase>& error_cases() {
  static std::vector<ErrorCase> cases;
  return cases;
}

Registration::Registration(std::vector<OpCase> cases, std::vector<ErrorCase> errors) {
  for (OpCase& c : cases) op_cases().push_back(std::move(c));
  for (ErrorCase& e : errors) error_cases().push_back(std::move(e));
}

Function unary(std::function<Tensor(const Tensor&)> f) {
  return [f = std::move(f)](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x[0])}; };
}

Function binary(std::function<Tensor(const Tensor&, const Tensor&)> f) {
  return [f = std::move(f)](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x[0], x[1])}; };
}

Function ternary(std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)> f) {
  return
      [f = std::move(f)](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x[0], x[1], x[2])}; };
}

namespace {

// Row-major position in `from` of element `flat` of a broadcast result.
std::size_t broadcast_position(const Shape& result, const Shape& from, std::int64_t flat) {
  std::int64_t position = 0;
  std::int64_t step = 1;
  for (int k = result.rank() - 1, j = from.rank() - 1; j >= 0; --k, --j) {
    if (from[j] != 1) position += flat % result[k] * step;
    flat /= result[k];
    step *= from[j];
  }
  return static_cast<std::size_t>(position);
}

struct ElementwiseUnary {
  std::function<double(double)> f;
  Array operator()(const std::vector<Array>& in) const {
    Array y = in[0];
    for (double& v : y.values) v = f(v);
    return y;
  }
};

struct ElementwiseBinary {
  std::function<double(double, double)> f;
  Array operator()(const std::vector<Array>& in) const {
    Array y{broadcast_shapes("reference", in[0].shape, in[1].shape), {}};
    for (std::int64_t i = 0; i < element_count(y.shape); ++i) {
      y.values.push_back(f(in[0].values[broadcast_position(y.shape, in[0].shape, i)],
                           in[1].values[broadcast_position(y.shape, in[1].shape, i)]));
    }
    return y;
  }
};

}  // namespace

Reference elementwise(std::function<double(double)> f) { return ElementwiseUnary{std::move(f)}; }
Reference elementwise(std::function<double(double, double)> f) { return ElementwiseBinary{std::move(f)}; }

bool is_elementwise(const OpCase& c) {
  return c.reference.target<ElementwiseUnary>() != nullptr ||
         c.reference.target<ElementwiseBinary>() != nullptr;
}

std::vector<Tensor> make_inputs(const OpCase& op_case, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  std::vector<Tensor> inputs;
  for (const Input& input : op_case.inputs) {
    const DType wanted = input.dtype == DType::f32 ? dtype : input.dtype;
    // Drawn in f32 precision, so that every dtype sees the same numbers.
    std::vector<double> values = input.values;
    if (values.empty()) {
      const Tensor drawn = rand(input.shape, generator, DType::f32, input.low, input.high);
      for (const float v : drawn.to_vector<float>()) values.push_back(v);
    }
    Tensor x = empty(input.shape, wanted);
    visit_dtype(wanted, [&]<class T>(std::type_identity<T>) {
      T* data = x.mutable_data<T>();
      for (std::size_t i = 0; i < values.size(); ++i) data[i] = static_cast<T>(values[i]);
    });
    if (op_case.differentiable && input.differentiable && is_floating(wanted)) x.set_requires_grad();
    inputs.push_back(std::move(x));
  }
  return inputs;
}

Array to_array(const Tensor& x) {
  Array y{x.shape(), {}};
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for (const T v : x.to_vector<T>()) y.values.push_back(static_cast<double>(v));
  });
  return y;
}

}  // namespace heed::test
