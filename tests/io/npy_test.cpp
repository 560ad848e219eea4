#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/view.h>
#include <heed/io/memory_map.h>
#include <heed/io/npy.h>

namespace fs = std::filesystem;
using Catch::Contains;
using heed::Tensor;
using heed::io::load_npy;
using heed::io::save_npy;

namespace {

struct File {
  fs::path path = fs::temp_directory_path() / ("heed_npy_test_" + std::to_string(::getpid()) + ".npy");
  File() { fs::remove(path); }
  ~File() { fs::remove(path); }
  void put(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

template <class T>
std::string elements(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

std::string head(const std::string& dictionary) {
  const auto length = static_cast<std::uint16_t>(dictionary.size());
  return std::string("\x93NUMPY\x01\0", 8) + elements({length}) + dictionary;
}

std::string head(const std::string& descr, bool fortran, const std::string& shape) {
  return head("{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
              ", 'shape': " + shape + ", }\n");
}

}  // namespace

TEST_CASE("an npy file has the bytes that NumPy writes") {
  const File file;
  save_npy(file.path, heed::tensor({0.5, 1.0, 2.0, 3.0, 4.0, 5.0}, {2, 3}));
  // np.save(f, np.array([[.5, 1, 2], [3, 4, 5]])): 128 bytes before the elements
  std::string expected("\x93NUMPY\x01\0\x76\0", 10);
  expected += "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
  expected += std::string(127 - expected.size(), ' ') + "\n" + elements({0.5, 1.0, 2.0, 3.0, 4.0, 5.0});
  CHECK(file.bytes() == expected);
  save_npy(file.path, heed::tensor({1.f}));
  CHECK_THAT(file.bytes(), Contains("'shape': (1,), }"));
}

TEST_CASE("every type comes back, whatever its shape and strides") {
  const File file;
  const auto round = [&](const Tensor& x) {
    save_npy(file.path, x);
    const Tensor y = load_npy(file.path);
    CHECK(y.dtype() == x.dtype());
    CHECK(y.shape() == x.shape());
    return y;
  };
  CHECK(round(heed::tensor({1.f, -2.f}, {2, 1})).to_vector<float>() == std::vector<float>{1, -2});
  CHECK(round(heed::scalar(4.5)).item<double>() == 4.5);
  CHECK(round(heed::tensor({std::int32_t{-7}})).to_vector<std::int32_t>() == std::vector<std::int32_t>{-7});
  CHECK(round(heed::tensor({INT64_MIN, INT64_MAX})).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{INT64_MIN, INT64_MAX});
  CHECK(round(heed::tensor({true, false})).to_vector<bool>() == std::vector<bool>{true, false});
  CHECK(round(heed::zeros({0, 3})).numel() == 0);
  const Tensor x = heed::tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {3, 2});
  const Tensor columns = heed::view_of(x, heed::permute_view("test", x.view(), {1, 0}));
  CHECK(round(columns).to_vector<float>() == std::vector<float>{1, 3, 5, 2, 4, 6});
}

TEST_CASE("column-major files, other versions and other spellings of the header are read") {
  const File file;
  const std::string six = elements<std::int32_t>({1, 2, 3, 4, 5, 6});
  file.put(head("<i4", true, "(2, 3)") + six);
  Tensor x = load_npy(file.path);
  CHECK(x.shape() == heed::Shape{2, 3});
  CHECK(x.to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 3, 5, 2, 4, 6});
  file.put(head(R"( {"shape":(6,),"fortran_order":False,"descr":"<i4"})") + six);
  CHECK(load_npy(file.path).to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
  const std::string first = head("<i4", false, "(3, 2)");
  file.put(first.substr(0, 6) + std::string("\x02\0", 2) + first.substr(8, 2) + std::string(2, '\0') +
           first.substr(10) + six);
  CHECK(load_npy(file.path).shape() == heed::Shape{3, 2});
  file.put(head("<f4", false, "(0, 9223372036854775807, 9)"));
  CHECK(load_npy(file.path).numel() == 0);
}

TEST_CASE("narrow and unsigned types are widened, in either order", "[fault-34]") {
  const File file;
  const auto read = [&](const std::string& descr, const std::string& bytes, bool fortran = false) {
    file.put(head(descr, fortran, fortran ? "(2, 2)" : "(2,)") + bytes);
    return load_npy(file.path);
  };
  using Ints = std::vector<std::int32_t>;
  using Longs = std::vector<std::int64_t>;
  CHECK(read("|u1", elements<std::uint8_t>({0, 255})).to_vector<std::int32_t>() == Ints{0, 255});
  CHECK(read("|i1", elements<std::int8_t>({-128, 127})).to_vector<std::int32_t>() == Ints{-128, 127});
  CHECK(read("<u2", elements<std::uint16_t>({50256, 65535})).to_vector<std::int32_t>() == Ints{50256, 65535});
  CHECK(read("<i2", elements<std::int16_t>({-32768, 32767})).to_vector<std::int32_t>() ==
        Ints{-32768, 32767});
  CHECK(read("<u4", elements<std::uint32_t>({0, 4294967295})).to_vector<std::int64_t>() ==
        Longs{0, 4294967295});
  CHECK(read("<u8", elements<std::uint64_t>({1, INT64_MAX})).to_vector<std::int64_t>() ==
        Longs{1, INT64_MAX});
  // 1.5 = 0x3E00; the smallest subnormal half, 2^-24, with its sign
  CHECK(read("<f2", elements<std::uint16_t>({0x3E00, 0x8001})).to_vector<float>() ==
        std::vector<float>{1.5f, -0x1p-24f});
  const Tensor x = read("<u2", elements<std::uint16_t>({1, 2, 3, 4}), true);
  CHECK(x.to_vector<std::int32_t>() == Ints{1, 3, 2, 4});
  file.put(head("<u8", false, "(1,)") + elements<std::uint64_t>({std::uint64_t{1} << 63}));
  CHECK_THROWS_WITH(load_npy(file.path), Contains("holds 9223372036854775808"));
}

TEST_CASE("a broken or hostile npy file is refused by name and reason") {
  const File file;
  const auto refused = [&](const std::string& bytes, const std::string& reason) {
    file.put(bytes);
    CAPTURE(reason);
    CHECK_THROWS_AS(load_npy(file.path), heed::IoError);
    CHECK_THROWS_WITH(load_npy(file.path), Contains(file.path.string()) && Contains(reason));
  };
  const std::string two = elements({1.f, 2.f});
  const std::string whole = head("<f4", false, "(2,)") + two;
  refused("", "is no npy file");
  refused("PK\3\4" + whole, "is no npy file");
  refused("\x93NUMPY\x04" + whole.substr(7), "version");
  refused(whole.substr(0, 9), "ends within the header");
  refused(whole.substr(0, 40), "ends within the header");
  refused(whole.substr(0, whole.size() - 1), "7 bytes of elements do not make <f4[2]");
  refused(whole + "x", "9 bytes of elements");
  refused(std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF", 12), "too long");
  refused(head("<f4", false, "(9223372036854775807, 9)") + two, "too large");
  refused(head("<f4", false, "(4611686018427387904,)") + two, "8 bytes of elements");
  refused(head("<f4", false, "(99999999999999999999,)") + two, "not as NumPy writes it");
  refused(head("<f4", false, "(-2,)") + two, "not as NumPy writes it");
  refused(head("<f4", false, "(1,1,1,1,1,1,1,1,2)") + two, "more than 8 axes");
  refused(head(">f4", false, "(2,)") + two, "'>f4'");
  refused(head("|O", false, "(1,)") + two, "'|O'");
  refused(head("|b1", false, "(3,)") + std::string("\0\1\2", 3), "is boolean and holds 2");
  for (const char* text : {"", "{", "{'descr'", "{'descr': '<f4'", "{'descr': '<f4', 'descr': '<f4', }", "[]",
                           "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "{'other': (2,)}",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
                           "{'descr': '<f4', 'fortran_order': False}"}) {
    refused(head(text) + two, "not as NumPy writes it");
  }
  fs::remove(file.path);
  CHECK_THROWS_WITH(load_npy(file.path), Contains("No such file"));
  CHECK_THROWS_AS(save_npy(file.path / "x.npy", heed::zeros({1})), heed::IoError);
}

TEST_CASE("a file is mapped byte for byte, an empty one too") {
  const File file;
  file.put("");
  CHECK(heed::io::MemoryMap(file.path).bytes().empty());
  file.put("abc");
  const heed::io::MemoryMap map(file.path);
  const auto copy = map;
  CHECK(std::memcmp(copy.bytes().data(), "abc", 3) == 0);
  CHECK_THROWS_WITH(heed::io::MemoryMap("/tmp"), Contains("not a regular file"));
  CHECK_THROWS_WITH(heed::io::MemoryMap(file.path / "no"), Contains("Not a directory"));
}
