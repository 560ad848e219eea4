#include <algorithm>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/lm/generate.h>
#include <heed/ops/slice.h>

namespace heed::lm {
namespace {

using Ids = std::vector<std::int64_t>;

struct Sequence {
  Ids tokens;
  Generator random;
  bool open = true;
};

// The model together with the cached keys and values of each sequence.
class CachedModel {
 public:
  CachedModel(const nn::CausalLM& model, std::size_t batch)
      : model_(model), caches_(model.make_caches(static_cast<std::int64_t>(batch))) {}

  // The logits [vocab_size] of the next token of each sequence. Those of ended sequences mean nothing.
  std::vector<Tensor> next(const std::vector<Sequence>& sequences) {
    slide(sequences);
    const std::vector<std::span<const std::int64_t>> unseen = unseen_tokens(sequences);
    Ids counts;
    for (const auto& tokens : unseen) counts.push_back(static_cast<std::int64_t>(tokens.size()));
    const Tensor logits = model_.decode(padded(unseen), caches_, counts);  // [B, T, vocab_size]
    std::vector<Tensor> last;
    for (std::size_t b = 0; b < unseen.size(); ++b) {
      const Tensor rows = select(logits, 0, static_cast<std::int64_t>(b));
      last.push_back(select(rows, 0, std::max<std::int64_t>(counts[b], 1) - 1));
    }
    return last;
  }

 private:
  std::size_t context() const { return static_cast<std::size_t>(model_.options().context); }

  // Where a sequence is longer than the context, its last `context` tokens begin elsewhere than before, so
  // nothing cached for it is valid.
  void slide(const std::vector<Sequence>& sequences) {
    Ids lengths = caches_[0].lengths();
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      if (sequences[b].open && sequences[b].tokens.size() > context()) lengths[b] = 0;
    }
    for (nn::KVCache& cache : caches_) cache.truncate(lengths);
  }

  std::vector<std::span<const std::int64_t>> unseen_tokens(const std::vector<Sequence>& sequences) const {
    std::vector<std::span<const std::int64_t>> unseen;
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      const std::span<const std::int64_t> tokens = sequences[b].tokens;
      const auto cached = static_cast<std::size_t>(caches_[0].lengths()[b]);
      const std::span window = tokens.last(std::min(tokens.size(), context()));
      unseen.push_back(sequences[b].open ? window.subspan(cached) : window.first(0));
    }
    return unseen;
  }

  static Tensor padded(const std::vector<std::span<const std::int64_t>>& rows) {
    std::size_t longest = 0;
    for (const auto& row : rows) longest = std::max(longest, row.size());
    Tensor tokens =
        zeros({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest)}, DType::i64);
    std::int64_t* data = tokens.mutable_data<std::int64_t>();
    for (std::size_t b = 0; b < rows.size(); ++b)
      std::copy(rows[b].begin(), rows[b].end(), data + b * longest);
    return tokens;
  }

  const nn::CausalLM& model_;
  std::vector<nn::KVCache> caches_;
};

std::vector<Sequence> begin(const std::vector<Ids>& prompts, Generator& generator) {
  const RandomStream stream = generator.take();
  std::vector<Sequence> sequences;
  for (const Ids& prompt : prompts) {
    if (prompt.empty()) fail<ValueError>("generate", "the prompt is empty", {}, "at least one token");
    sequences.push_back({prompt, Generator(random_bits(stream, sequences.size()))});
  }
  return sequences;
}

}  // namespace

std::vector<Ids> generate_batch(const nn::CausalLM& model, const std::vector<Ids>& prompts,
                                std::int64_t count, const SamplingOptions& options, Generator& generator,
                                const OnToken& on_token) {
  if (prompts.empty()) fail<ValueError>("generate", "there is no prompt", {}, "at least one");
  check_value(count >= 0, "generate", "count", count, "0 or more");
  check_sampling(options);
  const NoGrad guard;
  std::vector<Sequence> sequences = begin(prompts, generator);
  CachedModel cached(model, prompts.size());
  const auto is_open = [](const Sequence& sequence) { return sequence.open; };
  for (std::int64_t i = 0; i < count && std::any_of(sequences.begin(), sequences.end(), is_open); ++i) {
    const std::vector<Tensor> logits = cached.next(sequences);
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      auto& [tokens, random, open] = sequences[b];
      if (!open) continue;
      tokens.push_back(sample_token(logits[b], options, random, tokens));
      if (on_token) open = on_token(b, tokens.back());
    }
  }
  std::vector<Ids> made;
  for (std::size_t b = 0; b < prompts.size(); ++b) {
    const Ids& tokens = sequences[b].tokens;
    made.emplace_back(tokens.begin() + static_cast<std::ptrdiff_t>(prompts[b].size()), tokens.end());
  }
  return made;
}

Ids generate(const nn::CausalLM& model, std::span<const std::int64_t> prompt, std::int64_t count,
             const SamplingOptions& options, Generator& generator, const OnToken& on_token) {
  return generate_batch(model, {Ids(prompt.begin(), prompt.end())}, count, options, generator, on_token)
      .front();
}

}  // namespace heed::lm
