#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <heed/core/random.h>
#include <heed/text/token_text.h>
#include <heed/text/window_loader.h>

namespace heed::text {

/// Documents in the order of one pass.
struct PackedPass;

/// Batches of rows that are full of documents, without padding: the documents stand side by side in an order drawn anew
/// for each pass, and every `context` tokens are a row. A document that does not fit goes on in the next row, as a document
/// of its own there. The target of a document's last token is kNoTarget; documents of a row are numbered from 0. A batch
/// depends on the generator's seed and the step alone. Tokens are not copied and must outlive the loader.
/// Throws    ValueError (options below 1, no tokens, no document of two tokens and so no target, a negative step).
class PackedLoader {
 public:
  PackedLoader(std::vector<TokenSpan> documents, const WindowOptions& options, Generator& generator);

  /// Not for several threads at once: the order of the pass is kept for the next call.
  Batch batch(std::int64_t step) const;

 private:
  const PackedPass& pass(std::int64_t number) const;

  std::vector<TokenSpan> documents_;
  std::int64_t tokens_;
  WindowOptions options_;
  std::uint64_t seed_;
  mutable std::int64_t number_ = -1;
  mutable std::shared_ptr<const PackedPass> pass_;
};

/// One pass in the order of the documents. What is left at its end, less than a row, is not seen.
/// Throws    as PackedLoader, and ValueError for fewer than `context` tokens or rows without a target; IndexError for a batch number outside
///           0 … batches()−1.
class PackedSequence {
 public:
  PackedSequence(std::vector<TokenSpan> documents, const WindowOptions& options);

  std::int64_t rows() const { return rows_; }
  std::int64_t batches() const { return (rows_ + options_.batch - 1) / options_.batch; }
  /// The last one may have fewer rows.
  Batch batch(std::int64_t number) const;

 private:
  WindowOptions options_;
  std::int64_t rows_;
  std::shared_ptr<const PackedPass> pass_;
};

}  // namespace heed::text
