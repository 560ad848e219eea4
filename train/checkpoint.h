#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <heed/core/random.h>
#include <heed/nn/module.h>

namespace heed::train {

/// All that a run needs to continue bit for bit from where it was.
struct Checkpoint {
  std::int64_t step = 0;                                 // steps done: the position in schedule and data
  RandomStream random = {};                              // state of the run's generator
  std::optional<double> validation_loss = std::nullopt;  // at that step, if it was computed
  std::string config = "{}";                             // a JSON object that describes the run
  nn::NamedTensors tensors = {};                         // of all parts, named `<part>.<name>`

  /// Adds the tensors of one part, such as "model" or "optimizer". They share their elements with `state`.
  void put(std::string_view part, const nn::NamedTensors& state);
  /// The tensors of a part under their own names; none if there is no such part.
  nn::NamedTensors part(std::string_view part) const;
};

/// Reads one checkpoint by its `.json` file. Sizes and checksums are verified before anything is returned.
/// Throws    IoError naming the file and what is wrong with it.
Checkpoint load_checkpoint(const std::string& json_file);

/// The checkpoints of one run. Each is a pair of files: `step-00000100.json` and the safetensors file that
/// it names. Both are written under temporary names, synced and renamed. The JSON file comes last, and only
/// with it does the checkpoint exist, so at any moment each checkpoint is there whole or not at all.
class CheckpointFolder {
 public:
  /// Keeps the newest `keep` checkpoints and the one of lowest validation loss.
  /// Throws    ValueError when keep is below 1.
  explicit CheckpointFolder(std::string folder, std::int64_t keep = 2);

  /// Creates the folder if necessary and writes a checkpoint. Then removes checkpoints that are not to be
  /// kept, those of later steps, and files that interrupted writes left behind. Returns the path of the
  /// new JSON file.
  /// Throws    IoError (the earlier checkpoints are then still there), ValueError (config is no JSON
  ///           object, a tensor's name twice).
  std::string save(const Checkpoint& checkpoint);

  /// The JSON files, oldest step first.
  std::vector<std::string> list() const;
  /// The newest intact checkpoint; none when the folder has no checkpoints. `on_problem` is called for each
  /// newer one that is damaged.
  /// Throws    IoError when there are checkpoints but none is intact.
  std::optional<Checkpoint> latest(
      const std::function<void(const std::string& problem)>& on_problem = nullptr) const;
  /// The JSON file of the lowest validation loss, the newest of equal ones; none without
  /// any validation loss.
  std::optional<std::string> best() const;

 private:
  void prune(const std::string& saved) const;

  std::string folder_;
  std::int64_t keep_;
};

}  // namespace heed::train
