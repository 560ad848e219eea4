#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/elements.h>
#include <heed/io/atomic_file.h>
#include <heed/io/safetensors.h>
#include <heed/io/safetensors_header.h>

namespace heed::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in the file");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own bound

[[noreturn]] void fail_reading(const std::string& path, const std::string& reason) {
  fail<IoError>("read safetensors", fmt::format("'{}': {}", path, reason));
}

template <class T>
T element(const std::byte* bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// IEEE half: 1 sign, 5 exponent (bias 15), 10 fraction bits.
float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1Fu;
  const std::uint32_t fraction = bits & 0x3FFu;
  if (exponent == 0) {  // zero and subnormal: fraction · 2^-24, exact in f32
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t widened = exponent == 31 ? 0xFFu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (widened << 23) | (fraction << 13));
}

template <class From, class To, class Convert>
Tensor converted(const SafetensorsEntry& entry, Convert&& convert) {
  Tensor y = empty(entry.shape, dtype_of<To>);
  To* out = y.mutable_data<To>();
  for (std::int64_t i = 0; i < y.numel(); ++i) out[i] = convert(element<From>(entry.bytes.data(), i));
  return y;
}

template <class From, class To>
Tensor widened(const SafetensorsEntry& entry) {
  return converted<From, To>(entry, [](From value) { return static_cast<To>(value); });
}

template <class T>
Tensor copied(const SafetensorsEntry& entry) {
  Tensor y = empty(entry.shape, dtype_of<T>);
  if (!entry.bytes.empty()) std::memcpy(y.mutable_data<T>(), entry.bytes.data(), entry.bytes.size());
  return y;
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
  if (file.size() < kLengthBytes) {
    fail_reading(path, fmt::format("only {} bytes, too short for a header", file.size()));
  }
  const auto length = element<std::uint64_t>(file.data(), 0);
  if (length > file.size() - kLengthBytes) {
    fail_reading(path, fmt::format("claims a header of {} bytes, but the file has {}", length, file.size()));
  }
  if (length > kLongestHeader) fail_reading(path, fmt::format("its header of {} bytes is too long", length));
  const std::byte* header_bytes = file.data() + kLengthBytes;
  const std::byte* data = header_bytes + length;
  const std::uint64_t data_bytes = file.size() - kLengthBytes - length;
  try {
    SafetensorsHeader header = parse_safetensors_header(
        {reinterpret_cast<const char*>(header_bytes), static_cast<std::size_t>(length)}, data_bytes);
    metadata_ = std::move(header.metadata);
    for (const auto& item : header.items) {
      entries_.emplace(item.name,
                       SafetensorsEntry{item.dtype, item.shape, {data + item.begin, data + item.end}});
    }
  } catch (const HeaderProblem& problem) {
    fail_reading(path, problem.what());
  }
}

Tensor SafetensorsFile::load(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) fail_reading(path_, fmt::format("has no tensor '{}'", name));
  const SafetensorsEntry& entry = found->second;
  const std::string& dtype = entry.dtype;
  if (dtype == "F32") return copied<float>(entry);
  if (dtype == "F64") return copied<double>(entry);
  if (dtype == "I64") return copied<std::int64_t>(entry);
  if (dtype == "I32") return copied<std::int32_t>(entry);
  if (dtype == "F16") return converted<std::uint16_t, float>(entry, from_f16);
  if (dtype == "BF16") return converted<std::uint16_t, float>(entry, from_bf16);
  if (dtype == "I8") return widened<std::int8_t, std::int32_t>(entry);
  if (dtype == "U8") return widened<std::uint8_t, std::int32_t>(entry);
  if (dtype == "I16") return widened<std::int16_t, std::int32_t>(entry);
  if (dtype == "U16") return widened<std::uint16_t, std::int32_t>(entry);
  if (dtype == "U32") return widened<std::uint32_t, std::int64_t>(entry);
  if (dtype == "U64") {
    return converted<std::uint64_t, std::int64_t>(entry, [&](std::uint64_t value) {
      if (value > INT64_MAX) fail_reading(path_, fmt::format("tensor '{}' holds {}", name, value));
      return static_cast<std::int64_t>(value);
    });
  }
  return converted<std::uint8_t, bool>(entry, [&](std::uint8_t value) {
    if (value > 1) fail_reading(path_, fmt::format("tensor '{}' is BOOL and holds {}", name, value));
    return value == 1;
  });
}

std::vector<std::pair<std::string, Tensor>> SafetensorsFile::load_all() const {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& entry : entries_) tensors.emplace_back(entry.first, load(entry.first));
  return tensors;
}

void write_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::set<std::string_view> names;
  std::vector<const std::pair<std::string, Tensor>*> order;
  for (const auto& named : tensors) {
    check_defined("write_safetensors", named.first, named.second);
    if (!names.insert(named.first).second || named.first == "__metadata__") {
      fail<ValueError>("write_safetensors", "a name is reserved or given twice",
                       fmt::format("'{}'", named.first));
    }
    order.push_back(&named);
  }
  // Wide elements first: every tensor then begins at a multiple of its element size.
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
    fail<ValueError>("write_safetensors", problem.what());
  }
  AtomicFile file(path);
  const auto length = std::bit_cast<std::array<std::byte, kLengthBytes>>(std::uint64_t{json.size()});
  file.write(std::span<const std::byte>(length));
  file.write(json);
  for (const auto* named : order) {
    file.write(raw_bytes(named->second.is_contiguous() ? named->second : copy_of(named->second)));
  }
  file.commit();
}

}  // namespace heed::io
