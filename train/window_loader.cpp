#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/elements.h>
#include <heed/train/window_loader.h>

namespace heed::train {
namespace {

void check_windows(std::string_view op, const TokenText& tokens, const WindowOptions& options) {
  check_value(options.context >= 1, op, "context", options.context, "at least 1");
  check_value(options.batch >= 1, op, "batch", options.batch, "at least 1");
  if (tokens.size() > options.context) return;
  fail<ValueError>(op, "the text is too short", fmt::format("have {} tokens", tokens.size()),
                   fmt::format("at least {}, the context and one more", options.context + 1));
}

Batch cut(const TokenText& tokens, const std::vector<std::int64_t>& starts, std::int64_t context) {
  const Shape shape = {static_cast<std::int64_t>(starts.size()), context};
  Batch batch{empty(shape, DType::i64), empty(shape, DType::i64)};
  auto* input = batch.inputs.mutable_data<std::int64_t>();
  auto* target = batch.targets.mutable_data<std::int64_t>();
  for (const std::int64_t start : starts) {
    input = tokens.copy(start, context, input);
    target = tokens.copy(start + 1, context, target);
  }
  return batch;
}

}  // namespace

WindowLoader::WindowLoader(TokenText tokens, const WindowOptions& options, Generator& generator)
    : tokens_(std::move(tokens)), options_(options) {
  check_windows("WindowLoader", tokens_, options);
  seed_ = random_bits(generator.take(), 0);
}

Batch WindowLoader::batch(std::int64_t step) const {
  check_value(step >= 0, "WindowLoader", "step", step, "0 or more");
  Generator generator(seed_, static_cast<std::uint64_t>(step));
  const std::int64_t places = tokens_.size() - options_.context;
  const Tensor starts = randint(0, places, {options_.batch}, generator);
  return cut(tokens_, starts.to_vector<std::int64_t>(), options_.context);
}

WindowSequence::WindowSequence(TokenText tokens, const WindowOptions& options)
    : tokens_(std::move(tokens)), options_(options) {
  check_windows("WindowSequence", tokens_, options);
  windows_ = (tokens_.size() - 1) / options.context;
}

Batch WindowSequence::batch(std::int64_t number) const {
  if (number < 0 || number >= batches()) {
    fail<IndexError>("WindowSequence", "batch out of range", std::to_string(number),
                     fmt::format("0 <= batch < {}", batches()));
  }
  const std::int64_t first = number * options_.batch;
  std::vector<std::int64_t> starts;
  for (std::int64_t w = first; w < std::min(windows_, first + options_.batch); ++w) {
    starts.push_back(w * options_.context);
  }
  return cut(tokens_, starts, options_.context);
}

}  // namespace heed::train
