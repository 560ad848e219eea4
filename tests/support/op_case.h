#pragma once

#include <functional>
#include <string>
#include <vector>

#include <heed/core/error.h>
#include <heed/core/tensor.h>

namespace heed::test {

/// Elements of a tensor in row-major order as doubles, for references that know no heed operation.
struct Array {
  Shape shape;
  std::vector<double> values;
};

/// How an operand is made. Floating operands are drawn uniformly from [low, high), in each floating dtype in
/// turn; `values` fixes the elements instead. A `dtype` other than f32 stays as it is and gets no gradient.
struct Input {
  Shape shape;
  double low = -2.0;
  double high = 2.0;
  std::vector<double> values = {};
  DType dtype = DType::f32;
  bool differentiable = true;
};

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
/// The first result, element by element, from the operands.
using Reference = std::function<Array(const std::vector<Array>&)>;

/// One use of an operation. The generic suite (tests/ops/generic_*test.cpp) runs each through every row;
/// docs/adding-an-op.md lists them.
struct OpCase {
  std::string op;    ///< exported function, as listed by add_op
  std::string name;  ///< what is special about this case
  std::vector<Input> inputs;
  Function function;
  Reference reference;
  /// Bound on the relative error (to 1 + |wanted|) of f32 values; the default is 32 roundings of an element
  /// of size 1.
  double f32_tolerance = 2e-6;
  /// Results without derivative (comparisons, indices): value rows only.
  bool differentiable = true;
};

/// A call that must throw `E` (checked by `matches`) with exactly this message.
struct ErrorCase {
  std::string op;
  std::string name;
  std::function<void()> call;
  std::string message;
  std::function<bool(const std::exception&)> matches;
};

template <class E>
ErrorCase throws(std::string op, std::string name, std::function<void()> call, std::string message) {
  return {std::move(op), std::move(name), std::move(call), std::move(message),
          [](const std::exception& e) { return dynamic_cast<const E*>(&e) != nullptr; }};
}

std::vector<OpCase>& op_cases();
std::vector<ErrorCase>& error_cases();

/// `const Registration r({...cases...}, {...errors...});` at namespace scope of an op's test file.
struct Registration {
  Registration(std::vector<OpCase> cases, std::vector<ErrorCase> errors);
};

/// Wraps an operation of one, two or three operands and one result.
Function unary(std::function<Tensor(const Tensor&)> f);
Function binary(std::function<Tensor(const Tensor&, const Tensor&)> f);
Function ternary(std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)> f);

/// Element-by-element references. The binary one broadcasts as NumPy does. The generic suite runs a case with
/// such a reference at many lengths too.
Reference elementwise(std::function<double(double)> f);
Reference elementwise(std::function<double(double, double)> f);
bool is_elementwise(const OpCase& op_case);

/// Draws the operands of a case: `dtype` is that of its floating operands.
std::vector<Tensor> make_inputs(const OpCase& op_case, DType dtype, std::uint64_t seed);
/// Elements of any dtype as doubles.
Array to_array(const Tensor& x);

}  // namespace heed::test
