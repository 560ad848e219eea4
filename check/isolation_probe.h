#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/check/isolation_grid.h>
#include <heed/check/isolation_sources.h>
#include <heed/check/isolation_trace.h>

namespace heed::check {

/// What some places of x are overwritten with.
enum class Plant { nan, other, large };

/// One place of x that reaches one place of y, and the values that show it.
struct IsolationLeak {
  SequencePlace from;
  SequencePlace to;
  Plant plant;
};

/// A model and one x, about which questions can be asked.
class IsolationProbe {
 public:
  /// Throws    ShapeError, DTypeError, ValueError; their messages name `check`.
  IsolationProbe(std::string check, const SequenceModel& model, const Tensor& x,
                 const IsolationOptions& options);

  const SequenceGrid& grid() const { return grid_; }
  /// Why no answer would mean anything; empty if all is well.
  std::string problem() const;
  /// Why this way cannot be used; empty if it can.
  std::string obstacle(IsolationWay way) const;
  bool leaks(IsolationWay way, const IsolationQuestion& question) const;
  /// The first leaking pair of a question that leaks in this way.
  IsolationLeak first_leak(IsolationWay way, const IsolationQuestion& question) const;

  const SequenceModel& model() const { return model_; }
  /// The recorded run at x; its y may have no history.
  const Trace& trace() const { return trace_; }
  /// Where the gradients of the model begin; empty for tokens without such a result.
  const std::vector<IsolationSource>& sources() const { return sources_; }
  /// Whether the model draws random numbers.
  bool draws() const;
  /// x with other values at these places.
  Tensor moved(Plant plant, std::uint64_t number, const Places& places) const;
  /// The places of y whose bits this x changes, in the same model.
  Places changed_places(const Tensor& x) const;
  /// The places of y where every element is zero.
  Places zero_places() const;
  /// A cotangent of y: random normal on the places, 0 elsewhere.
  Tensor noise_on(const Places& places) const;

 private:
  Tensor run(const Tensor& x) const;
  Tensor replacement(std::uint64_t number, double size) const;
  Places heard(Plant plant, const IsolationQuestion& question, const Places& places) const;
  Places gradient_places(const Places& kept, const Places& forbidden) const;
  std::vector<Plant> plants_of(IsolationWay way) const;
  IsolationLeak first_leak_by_gradient(const IsolationQuestion& question) const;

  std::string check_;
  const SequenceModel& model_;
  Tensor x_;
  IsolationOptions options_;
  SequenceAxes x_axes_;
  SequenceAxes y_axes_;
  SequenceGrid grid_;
  double size_ = 1;  // root mean square of a floating x
  Tensor plain_;     // y
  Tensor noise_;     // a random cotangent of y
  Trace trace_;
  std::vector<IsolationSource> sources_;
};

}  // namespace heed::check
