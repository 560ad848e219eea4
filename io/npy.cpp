#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/view.h>
#include <heed/io/atomic_file.h>
#include <heed/io/file_elements.h>
#include <heed/io/memory_map.h>
#include <heed/io/npy.h>

namespace heed::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t version_bytes = 2;
constexpr std::size_t data_alignment = 64;            // the elements begin at a multiple of this
constexpr std::size_t longest_npy_header = 64 << 10;  // NumPy's own are below 200 bytes

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// NumPy's name of a type and its name in file_elements.h. The first five are the types that tensors
// are written as.
struct Kind {
  std::string_view descr;
  std::string_view type;
};
constexpr std::array<Kind, 12> npy_kinds = {{{"<f4", "F32"},
                                             {"<f8", "F64"},
                                             {"<i4", "I32"},
                                             {"<i8", "I64"},
                                             {"|b1", "BOOL"},
                                             {"<f2", "F16"},
                                             {"|i1", "I8"},
                                             {"<i2", "I16"},
                                             {"|u1", "U8"},
                                             {"<u2", "U16"},
                                             {"<u4", "U32"},
                                             {"<u8", "U64"}}};

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

std::string_view type_of_descr(const std::string& descr) {
  std::vector<std::string_view> known;
  for (const Kind& kind : npy_kinds) {
    if (kind.descr == descr) return kind.type;
    known.push_back(kind.descr);
  }
  throw Problem{
      fmt::format("elements of type '{}'; expected one of {}", descr.substr(0, 40), fmt::join(known, ", "))};
}

// Reads the header and removes it from the front of `file`.
Header take_header(std::string_view& file) {
  if (!file.starts_with(magic)) throw Problem{"is no npy file: it does not begin as one"};
  file.remove_prefix(magic.size());
  const int version = file.size() < version_bytes ? 0 : file[0];
  if (version < 1 || version > 3) throw Problem{"npy version 1, 2 or 3 is known, not this one"};
  file.remove_prefix(version_bytes);
  std::uint32_t length = 0;
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (file.size() < length_bytes) throw Problem{"ends within the header"};
  std::memcpy(&length, file.data(), length_bytes);
  file.remove_prefix(length_bytes);
  if (length > longest_npy_header) throw Problem{fmt::format("a header of {} bytes is too long", length)};
  if (length > file.size()) throw Problem{"ends within the header"};
  const Header header = HeaderReader(file.substr(0, length)).read();
  file.remove_prefix(length);
  return header;
}

Tensor elements_of(std::string_view bytes, std::string_view type, const Shape& shape) {
  try {
    return detail::from_file_elements(std::as_bytes(std::span(bytes)), type, shape);
  } catch (const detail::ElementProblem& problem) {
    throw Problem{problem.what()};
  }
}

Tensor read_array(std::string_view file) {
  const Header header = take_header(file);
  const std::string_view type = type_of_descr(header.descr);
  const std::size_t size = detail::file_element_size(type);
  Shape shape{std::span<const std::int64_t>(header.shape)};
  std::int64_t count = 0;
  try {
    count = element_count(shape);
  } catch (const ShapeError&) {
    throw Problem{fmt::format("a shape of {} is too large", shape.str())};
  }
  if (static_cast<std::uint64_t>(count) != file.size() / size || file.size() % size != 0) {
    throw Problem{
        fmt::format("{} bytes of elements do not make {}{}", file.size(), header.descr, shape.str())};
  }
  if (!header.fortran_order) return elements_of(file, type, shape);
  std::reverse(shape.begin(), shape.end());
  // Transposed straight from the mapped file where type and alignment allow it.
  const bool in_place = detail::has_tensor_layout(type) && !file.empty() &&
                        reinterpret_cast<std::uintptr_t>(file.data()) % size == 0;
  const Tensor x = in_place ? from_blob(const_cast<char*>(file.data()), shape, detail::dtype_of_file(type))
                            : elements_of(file, type, shape);
  Shape axes = shape;
  std::iota(axes.begin(), axes.end(), 0);
  std::reverse(axes.begin(), axes.end());
  return copy_of(view_of(x, permute_view("load_npy", x.view(), axes)));
}

std::string header_of(std::string_view descr, const Shape& shape) {
  const std::string_view comma = shape.rank() == 1 ? "," : "";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(shape.begin(), shape.end(), ", "), comma);
  const std::size_t before = magic.size() + version_bytes + 2;
  const std::size_t end = before + text.size() + 1;  // and the newline
  text.append((data_alignment - end % data_alignment) % data_alignment, ' ');
  text += '\n';
  const std::size_t length = text.size();
  std::string header(magic);
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
  const auto* kind = std::find_if(npy_kinds.begin(), npy_kinds.end(), [&](const Kind& candidate) {
    return detail::dtype_of_file(candidate.type) == x.dtype();
  });
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
