#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/io/atomic_file.h>
#include <heed/io/file_elements.h>
#include <heed/io/safetensors.h>
#include <heed/io/safetensors_header.h>

namespace heed::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in the file");

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t longest_header = 100'000'000;  // the limit that the format sets

[[noreturn]] void fail_safetensors(const std::string& path, const std::string& reason) {
  fail<IoError>("read safetensors", fmt::format("'{}': {}", path, reason));
}

std::string_view file_dtype(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "BOOL";
    case DType::i32:
      return "I32";
    case DType::i64:
      return "I64";
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::bf16:
      return "BF16";
  }
  return "";
}

std::span<const std::byte> raw_bytes(const Tensor& contiguous) {
  const std::size_t size = size_of(contiguous.dtype());
  return {contiguous.storage()->data() + static_cast<std::size_t>(contiguous.offset()) * size,
          static_cast<std::size_t>(contiguous.numel()) * size};
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), file_(path) {
  const std::span<const std::byte> file = file_.bytes();
  if (file.size() < length_bytes) {
    fail_safetensors(path, fmt::format("only {} bytes, too short for a header", file.size()));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - length_bytes) {
    fail_safetensors(path,
                     fmt::format("claims a header of {} bytes, but the file has {}", length, file.size()));
  }
  if (length > longest_header)
    fail_safetensors(path, fmt::format("its header of {} bytes is too long", length));
  const std::byte* header_bytes = file.data() + length_bytes;
  const std::byte* data = header_bytes + length;
  const std::uint64_t data_bytes = file.size() - length_bytes - length;
  try {
    SafetensorsHeader header = parse_safetensors_header(
        {reinterpret_cast<const char*>(header_bytes), static_cast<std::size_t>(length)}, data_bytes);
    metadata_ = std::move(header.metadata);
    for (const auto& item : header.items) {
      entries_.emplace(item.name,
                       SafetensorsEntry{item.dtype, item.shape, {data + item.begin, data + item.end}});
    }
  } catch (const HeaderProblem& problem) {
    fail_safetensors(path, problem.what());
  }
}

Tensor SafetensorsFile::load(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) fail_safetensors(path_, fmt::format("has no tensor '{}'", name));
  const SafetensorsEntry& entry = found->second;
  try {
    return detail::from_file_elements(entry.bytes, entry.dtype, entry.shape);
  } catch (const detail::ElementProblem& problem) {
    fail_safetensors(path_, fmt::format("tensor '{}' {}", name, problem.what()));
  }
}

std::vector<std::pair<std::string, Tensor>> load_safetensors(const std::string& path) {
  const SafetensorsFile file(path);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& entry : file.entries()) tensors.emplace_back(entry.first, file.load(entry.first));
  return tensors;
}

void save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::set<std::string_view> names;
  std::vector<const std::pair<std::string, Tensor>*> order;
  for (const auto& named : tensors) {
    check_defined("save_safetensors", named.first, named.second);
    if (!names.insert(named.first).second || named.first == "__metadata__") {
      fail<ValueError>("save_safetensors", "a name is reserved or given twice",
                       fmt::format("'{}'", named.first));
    }
    order.push_back(&named);
  }
  // Wide elements first, so that every tensor begins at a multiple of its element size.
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->second.dtype()) > size_of(b->second.dtype());
  });
  SafetensorsHeader header{.metadata = metadata, .items = {}};
  std::uint64_t place = 0;
  for (const auto* named : order) {
    const Tensor& x = named->second;
    const std::uint64_t end = place + static_cast<std::uint64_t>(x.numel()) * size_of(x.dtype());
    header.items.push_back({named->first, std::string(file_dtype(x.dtype())), x.shape(), place, end});
    place = end;
  }
  std::string json;
  try {
    json = format_safetensors_header(header);
  } catch (const HeaderProblem& problem) {
    fail<ValueError>("save_safetensors", problem.what());
  }
  AtomicFile file(path);
  const auto length = std::bit_cast<std::array<std::byte, length_bytes>>(std::uint64_t{json.size()});
  file.write(std::span<const std::byte>(length));
  file.write(json);
  for (const auto* named : order) {
    file.write(raw_bytes(named->second.is_contiguous() ? named->second : copy_of(named->second)));
  }
  file.commit();
}

}  // namespace heed::io
