#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <heed/core/tensor.h>

namespace heed::conformance {

using Tensors = std::vector<Tensor>;

/// Numbers from a case: as many as it likes, where a Shape ends at Shape::max_rank.
struct Integers : std::vector<std::int64_t> {
  using std::vector<std::int64_t>::vector;
  operator Shape() const { return Shape(std::span<const std::int64_t>(*this)); }  // NOLINT(*-explicit-*)
};

/// Thrown where a case asks for something that heed, or its table here, does
/// not know.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The attributes of an operation. Each access is remembered, so that one that
/// nobody asked for (an option not understood) can be told. `null` counts as
/// absent; accessors without a fallback skip the case where the attribute is
/// absent.
class Attributes {
 public:
  using TensorByName = std::function<Tensor(const std::string&)>;
  Attributes() = default;
  Attributes(nlohmann::json values, TensorByName tensor)
      : values_(std::move(values)), tensor_(std::move(tensor)) {}

  bool has(const std::string& name) const { return find(name) != nullptr; }
  double real(const std::string& name) const;
  double real(const std::string& name, double fallback) const { return has(name) ? real(name) : fallback; }
  std::optional<double> optional_real(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  std::int64_t integer(const std::string& name, std::int64_t fallback) const {
    return has(name) ? integer(name) : fallback;
  }
  std::optional<std::int64_t> optional_integer(const std::string& name) const;
  bool flag(const std::string& name, bool fallback = false) const;
  std::string text(const std::string& name, const std::string& fallback) const;
  /// A list, or a single number as a list of one.
  Integers integers(const std::string& name) const;
  std::vector<double> reals(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;
  Tensor tensor(const std::string& name) const;
  const nlohmann::json& json(const std::string& name) const;

  /// Throws Skip naming `op` and an attribute that was never asked for, if
  /// there is one that is not null.
  void require_all_read(const std::string& op) const;

 private:
  const nlohmann::json* find(const std::string& name) const;

  nlohmann::json values_ = nlohmann::json::object();
  TensorByName tensor_;
  mutable std::set<std::string> read_;
};

/// One operation to carry out.
struct Call {
  std::string op;
  std::int64_t opset = 0;
  std::vector<std::string> names;  // of the inputs
  Tensors inputs;                  // undefined where left out
  std::vector<std::string> outputs;
  Attributes attributes;

  /// The input of that name or position; undefined if it is left out.
  Tensor named(std::string_view name) const;
  Tensor at(std::size_t position) const;
  bool wants(std::string_view output) const;
};

/// Gives the outputs in the order of Call::outputs; those left out may be
/// undefined or missing at the end.
using Operation = std::function<Tensors(const Call&)>;
using Table = std::map<std::string, Operation>;

/// Tables by suite. Every suite's families add themselves.
const Table& torch_table();
const Table& onnx_table();

/// A table entry of a function of one or two tensors.
Operation unary(Tensor (*function)(const Tensor&));
Operation binary(Tensor (*function)(const Tensor&, const Tensor&));

/// Elements of an integer tensor as a list, of a one-element tensor as a
/// number.
Integers list_of(const Tensor& x);
double number_of(const Tensor& x);

}  // namespace heed::conformance
