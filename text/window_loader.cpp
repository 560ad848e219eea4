#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/text/window_loader.h>

namespace heed::text {
namespace {

void check_windows(std::string_view op, const TokenText& tokens, const WindowOptions& options) {
  check_value(options.context >= 1, op, "context", options.context, "at least 1");
  check_value(options.batch >= 1, op, "batch", options.batch, "at least 1");
  check_value(options.share.of >= 1, op, "share.of", options.share.of, "at least 1");
  check_value(options.share.part >= 0 && options.share.part < options.share.of, op, "share.part",
              options.share.part, fmt::format("0 <= part < {}", options.share.of));
  check_value(options.every >= 0, op, "every", options.every, "0 or more");
  if (tokens.size() > options.context) return;
  fail<ValueError>(
      op, "the text is too short", fmt::format("have {} tokens", tokens.size()),
      fmt::format("at least {}, the context and one more", static_cast<std::uint64_t>(options.context) + 1));
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

std::int64_t counted_tokens(const Batch& batch, std::int64_t ignore_index) {
  const auto targets = batch.targets.to_vector<std::int64_t>();
  return std::ssize(targets) - std::count(targets.begin(), targets.end(), ignore_index);
}

WindowLoader::WindowLoader(TokenText tokens, const WindowOptions& options, Generator& generator)
    : tokens_(std::move(tokens)), options_(options) {
  check_windows("WindowLoader", tokens_, options);
  seed_ = random_bits(generator.take(), 0);
}

Batch WindowLoader::batch(std::int64_t step) const {
  check_value(step >= 0, "WindowLoader", "step", step, "0 or more");
  Generator generator(seed_, static_cast<std::uint64_t>(step));
  const std::int64_t every = std::max<std::int64_t>(options_.every, 1);
  const std::int64_t places = (tokens_.size() - options_.context - 1) / every + 1;
  const auto starts = randint(0, places, {options_.batch}, generator).to_vector<std::int64_t>();
  const auto first = starts.begin() + options_.share.first(options_.batch);
  std::vector<std::int64_t> own(first, first + options_.share.count(options_.batch));
  for (std::int64_t& start : own) start *= every;
  return cut(tokens_, own, options_.context);
}

WindowSequence::WindowSequence(TokenText tokens, const WindowOptions& options)
    : tokens_(std::move(tokens)), options_(options) {
  check_windows("WindowSequence", tokens_, options);
  if (options_.every == 0) options_.every = options.context;
  windows_ = (tokens_.size() - options.context - 1) / options_.every + 1;
}

Batch WindowSequence::batch(std::int64_t number) const {
  if (number < 0 || number >= batches()) {
    fail<IndexError>("WindowSequence", "batch out of range", std::to_string(number),
                     fmt::format("0 <= batch < {}", batches()));
  }
  const std::int64_t first = number * options_.batch;
  std::vector<std::int64_t> starts;
  for (std::int64_t w = first; w < std::min(windows_, first + options_.batch); ++w) {
    starts.push_back(w * options_.every);
  }
  return cut(tokens_, starts, options_.context);
}

}  // namespace heed::text
