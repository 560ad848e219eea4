#pragma once

#include <map>
#include <string>
#include <string_view>

#include <heed/nn/module.h>

namespace heed::optim {

/// Takes the tensors of a saved state one by one and gathers what does not fit, so that one error can list
/// all of it before anything is changed.
class StateReader {
 public:
  explicit StateReader(const nn::NamedTensors& state);

  bool has(const std::string& path) const { return tensors_.count(path) != 0; }
  /// The tensor of this name; undefined, and a problem noted, if it is missing or of another shape or dtype.
  Tensor take(const std::string& path, const Shape& shape, DType dtype);
  /// The element of a scalar; 0, and a problem noted, if there is none.
  double take_double(const std::string& path);
  std::int64_t take_int(const std::string& path);
  void problem(const std::string& text);

  /// ValueError with every problem, names that nobody took included. `owner` is what the state was for.
  void check(std::string_view owner);

 private:
  std::map<std::string, Tensor> tensors_;
  std::string problems_;
};

}  // namespace heed::optim
