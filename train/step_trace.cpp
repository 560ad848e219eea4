#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <heed/core/dtype.h>
#include <heed/train/step_trace.h>

namespace heed::train {
namespace {

template <class T>
std::uint64_t checksum_of(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  std::uint64_t checksum = 0xcbf29ce484222325u;
  for (const T value : values) checksum = (checksum ^ std::bit_cast<Bits>(value)) * 0x100000001b3u;
  return checksum;
}

std::string name_of(const TapeEvent& event) {
  const Node& node = event.node;
  const std::string module = node.scope() == nullptr ? std::string() : " in " + node.scope()->path();
  const char* kind = event.is_gradient ? "gradient for input" : "result";
  return fmt::format("{} {} of {}{}", kind, event.number, node.op(), module);
}

}  // namespace

std::uint64_t bits_checksum(const Tensor& x) {
  return visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if (x.is_contiguous()) return checksum_of<T>({x.data<T>(), static_cast<std::size_t>(x.numel())});
    return checksum_of<T>(x.to_vector<T>());
  });
}

StepTracer::StepTracer() : trace_([this](const TapeEvent& event) { add(name_of(event), event.value); }) {}

void StepTracer::add(std::string_view what, const Tensor& x) {
  values_.push_back({std::string(what), bits_checksum(x)});
}

void StepTracer::add(std::string_view what, double number) {
  values_.push_back({std::string(what), checksum_of<double>({&number, 1})});
}

void StepTracer::add_gradients(const nn::NamedTensors& parameters) {
  for (const auto& [name, parameter] : parameters) {
    if (const Tensor gradient = parameter.grad(); gradient.defined()) add("gradient of " + name, gradient);
  }
}

void StepTracer::add_parameters(const nn::NamedTensors& parameters) {
  for (const auto& [name, parameter] : parameters) add("parameter " + name, parameter);
}

StepTrace StepTracer::take() { return std::exchange(values_, {}); }

std::optional<TraceDifference> first_difference(std::span<const StepTrace> a, std::span<const StepTrace> b) {
  const auto values_of = [](std::span<const StepTrace> run, std::size_t step) {
    return step < run.size() ? std::span<const TracedValue>(run[step]) : std::span<const TracedValue>();
  };
  for (std::size_t step = 0; step < std::max(a.size(), b.size()); ++step) {
    const auto one = values_of(a, step);
    const auto other = values_of(b, step);
    const auto [at, there] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
    if (at != one.end()) return TraceDifference{step, at->what};
    if (there != other.end()) return TraceDifference{step, there->what};
  }
  return {};
}

}  // namespace heed::train
