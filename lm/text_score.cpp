#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/lm/text_score.h>
#include <heed/nn/eval_mode.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/reshape.h>

namespace heed::lm {
namespace {

constexpr std::int64_t already_predicted = -1;  // replaces a target that an earlier window has predicted

// Inputs [begin, begin + length), of whose targets only the last `fresh` count.
struct Window {
  std::int64_t begin, length, fresh;
};

std::vector<Window> windows_of(std::int64_t tokens, std::int64_t context, std::int64_t stride) {
  std::vector<Window> windows;
  std::int64_t predicted = 1;  // the first token that no window has predicted
  for (std::int64_t begin = 0; predicted < tokens; begin += stride) {
    const std::int64_t length = std::min(context, tokens - 1 - begin);
    const std::int64_t end = begin + length + 1;
    windows.push_back({begin, length, end - predicted});
    predicted = end;
  }
  return windows;
}

// The sum of the losses of windows of equal length, in nats.
double score(const nn::CausalLM& model, std::span<const std::int64_t> tokens,
             std::span<const Window> windows) {
  const auto count = static_cast<std::int64_t>(windows.size());
  const std::int64_t length = windows.front().length;
  Tensor inputs = empty({count, length}, DType::i64);
  Tensor targets = full({count * length}, already_predicted, DType::i64);
  auto* input = inputs.mutable_data<std::int64_t>();
  auto* target = targets.mutable_data<std::int64_t>();
  for (const Window& window : windows) {
    const std::int64_t* first = tokens.data() + window.begin;
    input = std::copy_n(first, length, input);
    const std::int64_t seen = length - window.fresh;
    std::copy_n(first + seen + 1, window.fresh, target + seen);
    target += length;
  }
  const Tensor logits = reshape(model(inputs), {count * length, model.options().vocab_size});
  return scalar_of(
      cross_entropy(logits, targets, {.ignore_index = already_predicted, .reduction = Reduction::sum}));
}

}  // namespace

TextScore score_tokens(nn::CausalLM& model, std::span<const std::int64_t> tokens,
                       const ScoreOptions& options) {
  constexpr std::string_view op = "score_tokens";
  const std::int64_t context = model.options().context;
  const auto have = static_cast<std::int64_t>(tokens.size());
  check_value(have >= 2, op, "number of tokens", have, "at least 2, one to predict from and one to predict");
  check_value(options.stride >= 0 && options.stride <= context, op, "stride", options.stride,
              fmt::format("0 to the context, which is {}", context));
  check_value(options.batch >= 1, op, "batch", options.batch, "at least 1");
  const nn::EvalMode mode(model);
  const NoGrad guard;
  const auto windows = windows_of(have, context, options.stride == 0 ? context : options.stride);
  TextScore result;
  for (auto first = windows.begin(); first != windows.end();) {
    const auto most = std::min<std::ptrdiff_t>(options.batch, windows.end() - first);
    const auto last =
        std::find_if(first, first + most, [&](const Window& w) { return w.length != first->length; });
    result.nats += score(model, tokens, {first, last});
    for (; first != last; ++first) result.tokens += first->fresh;
  }
  return result;
}

}  // namespace heed::lm
