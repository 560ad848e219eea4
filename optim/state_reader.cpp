#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/optim/state_reader.h>

namespace heed::optim {

StateReader::StateReader(const nn::NamedTensors& state) {
  for (const auto& [path, value] : state) {
    if (!tensors_.emplace(path, value).second) problem(fmt::format("'{}' is given twice", path));
  }
}

Tensor StateReader::take(const std::string& path, const Shape& shape, DType dtype) {
  const auto found = tensors_.find(path);
  if (found == tensors_.end()) {
    problem(fmt::format("'{}' is missing", path));
    return {};
  }
  const Tensor value = found->second;
  tensors_.erase(found);
  if (value.defined() && value.shape() == shape && value.dtype() == dtype) return value;
  problem(fmt::format("'{}' is {}, not {}{}", path, value.defined() ? describe(value) : "undefined",
                      name_of(dtype), shape.str()));
  return {};
}

double StateReader::take_double(const std::string& path) {
  const Tensor value = take(path, {}, DType::f64);
  return value.defined() ? value.item<double>() : 0;
}

std::int64_t StateReader::take_int(const std::string& path) {
  const Tensor value = take(path, {}, DType::i64);
  return value.defined() ? value.item<std::int64_t>() : 0;
}

void StateReader::problem(const std::string& text) {
  if (!problems_.empty()) problems_ += "; ";
  problems_ += text;
}

void StateReader::check(std::string_view owner) {
  for (const auto& [path, value] : tensors_) problem(fmt::format("'{}' belongs to nothing", path));
  tensors_.clear();
  if (problems_.empty()) return;
  fail<ValueError>("load_state_dict", fmt::format("the state does not fit {}", owner), problems_);
}

}  // namespace heed::optim
