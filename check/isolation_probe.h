#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <heed/check/isolation.h>

namespace heed::check {

/// Samples and positions of a batch of sequences.
struct SequenceGrid {
  std::int64_t samples = 0;
  std::int64_t positions = 0;
  int time_axis = 1;

  std::int64_t size() const { return samples * positions; }
  /// Number, sample by sample, of the place that an element of a tensor belongs to, by its row-major index.
  std::int64_t place_of(const Shape& shape, std::int64_t element) const;
  SequencePlace place(std::int64_t number) const { return {number / positions, number % positions}; }
};

/// One flag a place.
using Places = std::vector<bool>;

/// What of x may not reach what of y.
struct IsolationQuestion {
  Places forbidden;
  Places kept;
};

/// Where gradients of a model begin: a leaf x, or what it looked up for token ids.
struct IsolationSource {
  Tensor tensor;
  Shape shape;  ///< its elements in row-major order are those of a sequence of this shape
};

/// A model at one x, ready to be asked.
class IsolationProbe {
 public:
  /// Throws    ShapeError, DTypeError. Both name `check`.
  IsolationProbe(std::string check, const SequenceModel& model, const Tensor& x,
                 const IsolationOptions& options);

  const SequenceGrid& grid() const { return grid_; }
  /// Why no answer would mean anything; empty if all is well.
  std::string problem() const;
  /// Why this way cannot be taken; empty if it can.
  std::string obstacle(IsolationWay way) const;
  bool leaks(IsolationWay way, const IsolationQuestion& question) const;
  /// One place of x that reaches one of y, as (from, to), of a question that leaks this way.
  std::pair<SequencePlace, SequencePlace> first_pair(IsolationWay way,
                                                     const IsolationQuestion& question) const;

  /// y as recorded, for a look at its tape; may have no history.
  const Tensor& recorded() const { return recorded_; }
  const std::vector<IsolationSource>& sources() const { return sources_; }
  /// Random normal on the places, 0 elsewhere, of the dtype of `like`.
  Tensor noise_on(const Places& places, const Shape& shape, DType dtype) const;

 private:
  Tensor run(const Tensor& x) const;
  Tensor on(const Places& places, const Tensor& inside, const Tensor& outside) const;
  bool output_changes(const Tensor& x, const Places& kept) const;
  bool gradient_reaches(const IsolationQuestion& question) const;
  void record_once();

  std::string check_;
  const SequenceModel& model_;
  Tensor x_;
  std::uint64_t seed_;
  SequenceGrid grid_;
  Tensor replacement_;         // an x that differs everywhere
  std::vector<double> plain_;  // elements of y
  Shape shape_;                // of y
  Tensor recorded_;
  std::vector<IsolationSource> sources_;
};

}  // namespace heed::check
