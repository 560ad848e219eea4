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

/// All that a run needs to go on bit for bit where it was.
struct Checkpoint {
  std::int64_t step = 0;                                 // steps done: the place in schedule and data
  RandomStream random = {};                              // where the run's generator stands
  std::optional<double> validation_loss = std::nullopt;  // at that step, if it was looked at
  std::string config = "{}";                             // a JSON object that describes the run
  nn::NamedTensors tensors = {};                         // of every part, named `<part>.<name>`

  /// Adds the tensors of one part, such as "model" or "optimizer". The handles share their elements.
  void put(std::string_view part, const nn::NamedTensors& state);
  /// The tensors of a part under their own names; none if there is no such part.
  nn::NamedTensors part(std::string_view part) const;
};

/// Reads one checkpoint by its `.json` file: sizes and checksums are compared before anything is returned.
/// Throws    IoError naming the file and what is wrong with it.
Checkpoint load_checkpoint(const std::string& json_file);

/// Checkpoints of one run. Each is a pair of files, `step-00000100.json` and the safetensors file that it names. Both are
/// written to temporary names, synced and renamed, the JSON last: it stands for the checkpoint, so at any
/// moment each checkpoint is there whole or not at all.
class CheckpointFolder {
 public:
  /// Keeps the newest `keep` checkpoints and the one of the least validation loss.
  /// Throws    ValueError when keep is below 1.
  explicit CheckpointFolder(std::string folder, std::int64_t keep = 2);

  /// Makes the folder if need be, writes a checkpoint, then removes those that are not kept, those of later steps, and
  /// what interrupted writes left. Returns the path of its JSON file.
  /// Throws    IoError; the checkpoints that were there are there still. ValueError (config is no JSON object, a
  ///           tensor's name twice).
  std::string save(const Checkpoint& checkpoint);

  /// The JSON files, oldest step first.
  std::vector<std::string> list() const;
  /// The newest checkpoint that is whole; `on_problem` is told about newer ones that are not. None when the folder has none.
  /// Throws    IoError when there are checkpoints but none of them is whole.
  std::optional<Checkpoint> latest(
      const std::function<void(const std::string& problem)>& on_problem = nullptr) const;
  /// The JSON file of the least validation loss, the newest of equals; none without any validation loss.
  std::optional<std::string> best() const;

 private:
  void prune(const std::string& saved) const;

  std::string folder_;
  std::int64_t keep_;
};

}  // namespace heed::train
