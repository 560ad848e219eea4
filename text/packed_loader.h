#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <heed/core/random.h>
#include <heed/text/token_text.h>
#include <heed/text/window_loader.h>

namespace heed::text {

/// The documents in the order of one pass.
struct PackedPass;

/// Batches of rows that are filled with documents, without padding: the documents stand side by side in an
/// order drawn anew for each pass, and every `context` tokens form a row. A document that does not fit
/// continues in the next row, where it counts as a separate document. The target of a document's last token
/// is no_target. The documents of a row are numbered from 0. A batch depends only on the generator's seed
/// and the step. Tokens are not copied and must outlive the loader.
/// Throws    ValueError (options below 1, no tokens, no document of at least two tokens and therefore no
///           target, a negative step).
class PackedLoader {
 public:
  PackedLoader(std::vector<TokenSpan> documents, const WindowOptions& options, Generator& generator);

  /// Must not be called by several threads at once: the order of the pass is cached for the next call.
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

/// One pass over the documents in their given order. Tokens left over at the end, fewer than a row,
/// are not used.
/// Throws    as PackedLoader; ValueError (fewer than `context` tokens, or rows without a target);
///           IndexError (a batch number outside 0 … batches()−1).
class PackedSequence {
 public:
  PackedSequence(std::vector<TokenSpan> documents, const WindowOptions& options);

  std::int64_t rows() const { return rows_; }
  std::int64_t batches() const { return (rows_ - 1) / options_.batch + 1; }
  /// The last batch may have fewer rows.
  Batch batch(std::int64_t number) const;

 private:
  WindowOptions options_;
  std::int64_t rows_;
  std::shared_ptr<const PackedPass> pass_;
};

}  // namespace heed::text
