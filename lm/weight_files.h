#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <heed/io/safetensors.h>
#include <heed/lm/weight_layout.h>
#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// The tensors of a folder: those of model.safetensors, or of the files that model.safetensors.index.json names.
/// Throws    IoError naming the file and what is wrong with it: as SafetensorsFile, neither or both are there, the index names a
///           file of another folder, a tensor that is not in the file it names, or not one that is.
class WeightFiles {
 public:
  explicit WeightFiles(const std::string& folder);

  bool has(const std::string& name) const { return file_of_.count(name) != 0; }
  std::int64_t size() const { return static_cast<std::int64_t>(file_of_.size()); }
  /// Name and number of file of every tensor.
  const std::map<std::string, std::size_t>& names() const { return file_of_; }
  const io::SafetensorsEntry& entry(const std::string& name) const;
  Tensor load(const std::string& name) const;

 private:
  void read_index();

  std::string folder_;
  std::vector<io::SafetensorsFile> files_;
  std::map<std::string, std::size_t> file_of_;
};

/// IoError that lists every tensor that is missing, belongs to nothing, or is of another shape or dtype than F32, F16 or BF16, with
/// both shapes, and names that should say the same and do not. Reads no elements but those.
void check_weights(const std::string& folder, const WeightFiles& files, const std::vector<WeightSlot>& slots,
                   WeightFormat format);

/// Copies checked tensors into the parameters, one at a time.
void copy_weights(const WeightFiles& files, const std::vector<WeightSlot>& slots, nn::CausalLM& model);

/// The model's parameters as the tensors of a file, views where they can be; those that the model has not are zeros.
std::vector<std::pair<std::string, Tensor>> file_tensors(const nn::CausalLM& model,
                                                         const std::vector<WeightSlot>& slots);

/// Writes model.safetensors or, where the tensors take more than `shard_bytes`, files of at most that many and their index. 0: one file.
/// A tensor larger than that has a file of its own.
/// Throws    IoError.
void write_weight_files(const std::string& folder, const std::vector<std::pair<std::string, Tensor>>& tensors,
                        std::uint64_t shard_bytes);

}  // namespace heed::lm
