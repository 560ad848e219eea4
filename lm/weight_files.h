#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <heed/io/safetensors.h>
#include <heed/lm/weight_layout.h>
#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// The tensors of a folder: those of model.safetensors, or of the files
/// that model.safetensors.index.json names.
/// Throws    IoError naming the file and what is wrong with it: as SafetensorsFile; neither (naming a file of
///           pickle in its place, and how to turn that into safetensors) or both of the two are there; the
///           index names a file in another folder, or a tensor that is not in its file, or not one that is.
class WeightFiles {
 public:
  explicit WeightFiles(const std::string& folder);

  bool has(const std::string& name) const { return file_of_.count(name) != 0; }
  std::int64_t size() const { return static_cast<std::int64_t>(file_of_.size()); }
  /// The name of every tensor, and the number of its file.
  const std::map<std::string, std::size_t>& names() const { return file_of_; }
  const io::SafetensorsEntry& entry(const std::string& name) const;
  Tensor load(const std::string& name) const;

 private:
  void read_index();

  std::string folder_;
  std::vector<io::SafetensorsFile> files_;
  std::map<std::string, std::size_t> file_of_;
};

/// Checks that the tensors of the files are those of the slots, and that a tied weight that a file holds
/// twice is the same both times. Reads no other elements.
/// Throws    IoError that lists every tensor that is missing, has no slot, has another shape (with both
///           shapes) or another dtype than F32, F16 or BF16, and every tied tensor that differs.
void check_weights(const std::string& folder, const WeightFiles& files, const std::vector<WeightSlot>& slots,
                   WeightFormat format);

/// Copies tensors that check_weights has passed into the parameters, one at a time.
void copy_weights(const WeightFiles& files, const std::vector<WeightSlot>& slots, nn::CausalLM& model);

/// The model's parameters as the tensors of a file, views where possible; those that the model does not
/// have are zeros.
std::vector<std::pair<std::string, Tensor>> file_tensors(const nn::CausalLM& model,
                                                         const std::vector<WeightSlot>& slots);

/// Writes model.safetensors. Where the tensors take more than `shard_bytes`, unless it is 0, writes several
/// files of at most that size and their index instead. A tensor larger than that gets a file of its own.
/// Throws    IoError.
void write_weight_files(const std::string& folder, const std::vector<std::pair<std::string, Tensor>>& tensors,
                        std::uint64_t shard_bytes);

}  // namespace heed::lm
