#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/checked_arithmetic.h>
#include <heed/core/elements.h>
#include <heed/text/packed_loader.h>

namespace heed::text {

struct PackedPass {
  std::vector<TokenSpan> documents;
  std::vector<std::int64_t> ends;  // of each document, in tokens from the start of the pass

  explicit PackedPass(std::vector<TokenSpan> ordered) : documents(std::move(ordered)) {
    std::int64_t end = 0;
    for (const TokenSpan& document : documents) ends.push_back(end += document.size());
  }
};

namespace {

std::vector<TokenSpan> checked(std::string_view op, std::vector<TokenSpan> documents,
                               const WindowOptions& options) {
  check_value(options.context >= 1, op, "context", options.context, "at least 1");
  check_value(options.batch >= 1, op, "batch", options.batch, "at least 1");
  check_value(options.share.of >= 1, op, "share.of", options.share.of, "at least 1");
  check_value(options.share.part >= 0 && options.share.part < options.share.of, op, "share.part",
              options.share.part, fmt::format("0 <= part < {}", options.share.of));
  std::erase_if(documents, [](const TokenSpan& document) { return document.size() == 0; });
  check_value(!documents.empty(), op, "number of documents with tokens", std::int64_t{0}, "at least 1");
  const bool any_target = std::any_of(documents.begin(), documents.end(),
                                      [](const TokenSpan& document) { return document.size() >= 2; });
  if (!any_target) {
    fail<ValueError>(op, "no document has a token that another one follows, so there is no target",
                     fmt::format("{} documents of one token", documents.size()), "a document of two tokens");
  }
  return documents;
}

// Whether one of the first `tokens` tokens of a pass has a target.
bool has_target(const PackedPass& pass, std::int64_t tokens) {
  for (std::size_t i = 0; i < pass.documents.size(); ++i) {
    const std::int64_t size = pass.documents[i].size();
    if (pass.ends[i] - size >= tokens) return false;
    if (size >= 2) return true;
  }
  return false;
}

using PassOf = std::function<const PackedPass&(std::int64_t number)>;

// Where the next tokens of a batch are written.
struct Places {
  std::int64_t* input;
  std::int64_t* target;
  std::int64_t* document;
};

void take(const TokenSpan& document, std::int64_t first, std::int64_t count, std::int64_t number,
          Places& to) {
  to.input = document.subspan(first, count).copy(to.input);
  const std::int64_t followed = std::min(count, document.size() - first - 1);
  to.target = document.subspan(first + 1, followed).copy(to.target);
  to.target = std::fill_n(to.target, count - followed, no_target);
  to.document = std::fill_n(to.document, count, number);
}

// Rows first … first+count−1 of consecutive passes, each of `tokens` tokens.
Batch rows_of(std::int64_t first, std::int64_t count, std::int64_t context, std::int64_t tokens,
              const PassOf& pass_of) {
  checked_mul("packed rows", "the last token", checked_add("packed rows", "the last row", first, count),
              context);
  const Shape shape = {count, context};
  Batch batch{empty(shape, DType::i64), empty(shape, DType::i64), empty(shape, DType::i64)};
  Places to{batch.inputs.mutable_data<std::int64_t>(), batch.targets.mutable_data<std::int64_t>(),
            batch.documents.mutable_data<std::int64_t>()};
  for (std::int64_t row = first; row < first + count; ++row) {
    std::int64_t number = 0;
    for (std::int64_t done = 0; done < context; ++number) {
      const std::int64_t place = row * context + done;
      const PackedPass& pass = pass_of(place / tokens);
      const std::int64_t within = place % tokens;
      const auto end = std::upper_bound(pass.ends.begin(), pass.ends.end(), within);
      const TokenSpan& document = pass.documents[static_cast<std::size_t>(end - pass.ends.begin())];
      const std::int64_t taken = std::min(context - done, *end - within);
      take(document, within - (*end - document.size()), taken, number, to);
      done += taken;
    }
  }
  return batch;
}

}  // namespace

PackedLoader::PackedLoader(std::vector<TokenSpan> documents, const WindowOptions& options,
                           Generator& generator)
    : documents_(checked("PackedLoader", std::move(documents), options)),
      tokens_(PackedPass(documents_).ends.back()),
      options_(options),
      seed_(random_bits(generator.take(), 0)) {}

const PackedPass& PackedLoader::pass(std::int64_t number) const {
  if (number == number_) return *pass_;
  Generator generator(seed_, static_cast<std::uint64_t>(number));
  std::vector<TokenSpan> ordered;
  const Tensor order = randperm(static_cast<std::int64_t>(documents_.size()), generator);
  for (const std::int64_t i : order.to_vector<std::int64_t>()) {
    ordered.push_back(documents_[static_cast<std::size_t>(i)]);
  }
  pass_ = std::make_shared<const PackedPass>(std::move(ordered));
  number_ = number;
  return *pass_;
}

Batch PackedLoader::batch(std::int64_t step) const {
  check_value(step >= 0, "PackedLoader", "step", step, "0 or more");
  const Share& share = options_.share;
  const std::int64_t first = checked_add("PackedLoader", "the first row",
                                         checked_mul("PackedLoader", "the first row", step, options_.batch),
                                         share.first(options_.batch));
  return rows_of(first, share.count(options_.batch), options_.context, tokens_,
                 [this](std::int64_t number) -> const PackedPass& { return pass(number); });
}

PackedSequence::PackedSequence(std::vector<TokenSpan> documents, const WindowOptions& options)
    : options_(options),
      pass_(std::make_shared<const PackedPass>(checked("PackedSequence", std::move(documents), options))) {
  rows_ = pass_->ends.back() / options.context;
  if (rows_ == 0) {
    fail<ValueError>("PackedSequence", "the documents are too short",
                     fmt::format("have {} tokens", pass_->ends.back()),
                     fmt::format("at least {}, the context", options.context));
  }
  if (!has_target(*pass_, rows_ * options.context)) {
    fail<ValueError>("PackedSequence", "no token of its rows has a target",
                     fmt::format("{} rows of documents of one token", rows_),
                     "a document of two tokens in them");
  }
}

Batch PackedSequence::batch(std::int64_t number) const {
  if (number < 0 || number >= batches()) {
    fail<IndexError>("PackedSequence", "batch out of range", std::to_string(number),
                     fmt::format("0 <= batch < {}", batches()));
  }
  const std::int64_t first = number * options_.batch;
  return rows_of(first, std::min(options_.batch, rows_ - first), options_.context, pass_->ends.back(),
                 [this](std::int64_t) -> const PackedPass& { return *pass_; });
}

}  // namespace heed::text
