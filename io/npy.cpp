#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/view.h>
#include <heed/io/atomic_file.h>
#include <heed/io/memory_map.h>
#include <heed/io/npy.h>

namespace heed::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;
constexpr std::size_t kAlignment = 64;            // of the elements, from the file's beginning
constexpr std::size_t kLongestHeader = 64 << 10;  // NumPy's own are below 200 bytes

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

struct Kind {
  DType dtype;
  std::string_view descr;
};
constexpr Kind kKinds[] = {{DType::f32, "<f4"},
                           {DType::f64, "<f8"},
                           {DType::i32, "<i4"},
                           {DType::i64, "<i8"},
                           {DType::boolean, "|b1"}};

struct Problem {
  std::string text;
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }: these keys in any order, each once.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Header read() {
    Header header;
    std::vector<std::string> seen;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) refuse();
      seen.push_back(key);
      expect(':');
      if (key == "descr") {
        header.descr = quoted();
      } else if (key == "fortran_order") {
        header.fortran_order = truth();
      } else if (key == "shape") {
        header.shape = sizes();
      } else {
        refuse();
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (place_ != text_.size() || seen.size() != 3) refuse();
    return header;
  }

 private:
  [[noreturn]] void refuse() const {
    throw Problem{fmt::format("the header is not as NumPy writes it, at its byte {}", place_)};
  }
  void skip_blanks() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\n')) ++place_;
  }
  bool take(char c) {
    skip_blanks();
    if (place_ == text_.size() || text_[place_] != c) return false;
    ++place_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse();
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (!text_.substr(place_).starts_with(word)) return false;
    place_ += word.size();
    return true;
  }

  std::string quoted() {
    skip_blanks();
    if (place_ == text_.size() || (text_[place_] != '\'' && text_[place_] != '"')) refuse();
    const std::size_t end = text_.find(text_[place_], place_ + 1);
    if (end == std::string_view::npos) refuse();
    const std::string word(text_.substr(place_ + 1, end - place_ - 1));
    place_ = end + 1;
    return word;
  }

  bool truth() {
    if (take("True")) return true;
    if (!take("False")) refuse();
    return false;
  }

  std::int64_t number() {
    skip_blanks();
    const std::size_t begin = place_;
    std::int64_t value = 0;
    for (; place_ < text_.size() && text_[place_] >= '0' && text_[place_] <= '9'; ++place_) {
      const int digit = text_[place_] - '0';
      if (value > (INT64_MAX - digit) / 10) refuse();
      value = value * 10 + digit;
    }
    if (place_ == begin) refuse();
    return value;
  }

  std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!take(')')) {
      if (values.size() == Shape::max_rank) {
        throw Problem{fmt::format("the array has more than {} axes", Shape::max_rank)};
      }
      values.push_back(number());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view text_;
  std::size_t place_ = 0;
};

DType dtype_of_descr(const std::string& descr) {
  for (const Kind& kind : kKinds) {
    if (kind.descr == descr) return kind.dtype;
  }
  throw Problem{
      fmt::format("elements of type '{}'; expected one of <f4, <f8, <i4, <i8, |b1", descr.substr(0, 40))};
}

// Takes the header off the front of the file.
Header take_header(std::string_view& file) {
  if (!file.starts_with(kMagic)) throw Problem{"is no npy file: it does not begin as one"};
  file.remove_prefix(kMagic.size());
  const int version = file.size() < kVersionBytes ? 0 : file[0];
  if (version < 1 || version > 3) throw Problem{"npy version 1, 2 or 3 is known, not this one"};
  file.remove_prefix(kVersionBytes);
  std::uint32_t length = 0;
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (file.size() < length_bytes) throw Problem{"ends within the header"};
  std::memcpy(&length, file.data(), length_bytes);
  file.remove_prefix(length_bytes);
  if (length > kLongestHeader) throw Problem{fmt::format("a header of {} bytes is too long", length)};
  if (length > file.size()) throw Problem{"ends within the header"};
  const Header header = HeaderReader(file.substr(0, length)).read();
  file.remove_prefix(length);
  return header;
}

Tensor copied(std::string_view bytes, const Shape& shape, DType dtype) {
  Tensor x = empty(shape, dtype);
  if (!bytes.empty()) std::memcpy(x.storage()->data(), bytes.data(), bytes.size());
  return x;
}

Tensor read_array(std::string_view file) {
  const Header header = take_header(file);
  const DType dtype = dtype_of_descr(header.descr);
  Shape shape{std::span<const std::int64_t>(header.shape)};
  std::int64_t count = 0;
  try {
    count = element_count(shape);
  } catch (const ShapeError&) {
    throw Problem{fmt::format("a shape of {} is too large", shape.str())};
  }
  if (static_cast<std::uint64_t>(count) != file.size() / size_of(dtype) ||
      file.size() % size_of(dtype) != 0) {
    throw Problem{
        fmt::format("{} bytes of elements do not make {}{}", file.size(), name_of(dtype), shape.str())};
  }
  if (dtype == DType::boolean) {
    const auto odd = std::find_if(file.begin(), file.end(), [](char c) { return c != 0 && c != 1; });
    if (odd != file.end()) {
      throw Problem{fmt::format("truth value {} is neither 0 nor 1", odd - file.begin())};
    }
  }
  if (header.fortran_order) std::reverse(shape.begin(), shape.end());
  if (!header.fortran_order) return copied(file, shape, dtype);
  // A turned copy of the bytes where they lie, unless they lie crooked.
  const bool aligned = reinterpret_cast<std::uintptr_t>(file.data()) % size_of(dtype) == 0;
  const Tensor x = aligned && !file.empty() ? from_blob(const_cast<char*>(file.data()), shape, dtype)
                                            : copied(file, shape, dtype);
  Shape axes = shape;
  std::iota(axes.begin(), axes.end(), 0);
  std::reverse(axes.begin(), axes.end());
  return copy_of(view_of(x, permute_view("load_npy", x.view(), axes)));
}

std::string header_of(std::string_view descr, const Shape& shape) {
  const std::string_view comma = shape.rank() == 1 ? "," : "";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(shape.begin(), shape.end(), ", "), comma);
  const std::size_t before = kMagic.size() + kVersionBytes + 2;
  const std::size_t end = before + text.size() + 1;  // and the newline
  text.append((kAlignment - end % kAlignment) % kAlignment, ' ');
  text += '\n';
  const std::size_t length = text.size();
  std::string header(kMagic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, length % 256, length / 256}) {
    header += static_cast<char>(byte);
  }
  return header + text;
}

}  // namespace

Tensor load_npy(const std::string& path) {
  const MemoryMap map(path);
  try {
    return read_array({reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()});
  } catch (const Problem& problem) {
    fail<IoError>("read npy", fmt::format("'{}': {}", path, problem.text));
  }
}

void save_npy(const std::string& path, const Tensor& x) {
  check_dtype("save_npy", "x", x, {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean});
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const Kind& candidate) { return candidate.dtype == x.dtype(); });
  const Tensor rows = x.is_contiguous() ? x : copy_of(x);
  const std::size_t size = size_of(x.dtype());
  AtomicFile file(path);
  file.write(header_of(kind->descr, x.shape()));
  file.write(
      std::span<const std::byte>(rows.storage()->data() + static_cast<std::size_t>(rows.offset()) * size,
                                 static_cast<std::size_t>(rows.numel()) * size));
  file.commit();
}

}  // namespace heed::io
