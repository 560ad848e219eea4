#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/core/view.h>
#include <heed/io/safetensors.h>

namespace fs = std::filesystem;
using heed::Tensor;
using heed::io::SafetensorsFile;
using heed::io::save_safetensors;

namespace {

// A fresh file name in a fresh folder, removed at the end of the test.
struct Place {
  fs::path folder = fs::temp_directory_path() / ("heed_safetensors_test_" + std::to_string(::getpid()));
  fs::path file = folder / "x.safetensors";
  Place() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~Place() { fs::remove_all(folder); }
};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

template <class T>
std::string little_endian(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data = "") {
  return little_endian<std::uint64_t>(header.size()) + header + data;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
         "}";
}

// The message of the IoError that reading these bytes gives.
std::string refusal(const Place& place, const std::string& bytes) {
  put(place.file, bytes);
  try {
    const SafetensorsFile file(place.file);
  } catch (const heed::IoError& error) {
    return error.what();
  }
  return "accepted";
}

using Catch::Contains;

}  // namespace

TEST_CASE("tensors and metadata come back as they were") {
  const Place place;
  heed::Generator generator(3);
  const Tensor weights = heed::randn({3, 4}, generator);
  const Tensor wide = heed::randn({2}, generator, heed::DType::f64);
  save_safetensors(place.file,
                   {{"flag", heed::tensor({true, false, true})},
                    {"weights", weights},
                    {"wide", wide},
                    {"ids", heed::tensor<std::int64_t>({-1, 2})},
                    {"small ids", heed::tensor<std::int32_t>({7})}},
                   {{"made by", "a test"}, {"caf\u00e9", "\u20ac"}});
  const SafetensorsFile file(place.file);
  CHECK(file.metadata() ==
        std::map<std::string, std::string>{{"made by", "a test"}, {"caf\u00e9", "\u20ac"}});
  REQUIRE(file.entries().size() == 5);
  CHECK(file.load("weights").shape() == heed::Shape{3, 4});
  CHECK(file.load("weights").to_vector<float>() == weights.to_vector<float>());
  CHECK(file.load("wide").to_vector<double>() == wide.to_vector<double>());
  CHECK(file.load("flag").to_vector<bool>() == std::vector<bool>{true, false, true});
  CHECK(file.load("ids").to_vector<std::int64_t>() == std::vector<std::int64_t>{-1, 2});
  CHECK(file.load("small ids").to_vector<std::int32_t>() == std::vector<std::int32_t>{7});
  CHECK(heed::io::load_safetensors(place.file).size() == 5);
  CHECK_THROWS_WITH(file.load("absent"), Contains("x.safetensors") && Contains("no tensor 'absent'"));
}

TEST_CASE("a file has the bytes of the format and depends on its content alone") {
  const Place place;
  save_safetensors(place.file, {{"b", heed::tensor({true})}, {"a", heed::tensor({1.5f, -2.0f})}});
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"BOOL","shape":[1],"data_offsets":[8,9]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  CHECK(contents(place.file) ==
        file_of(padded, little_endian(1.5f) + little_endian(-2.0f) + std::string(1, '\1')));
}

TEST_CASE("the logical content of a strided tensor is saved", "[report-39]") {
  const Place place;
  const Tensor x = heed::tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {3, 2});
  const Tensor transposed = heed::view_of(x, heed::permute_view("test", x.view(), {1, 0}));
  const Tensor sliced = heed::view_of(x, heed::slice_view("test", x.view(), 0, 1, 2, 1));
  save_safetensors(place.file, {{"t", transposed}, {"s", sliced}});
  const SafetensorsFile file(place.file);
  CHECK(file.entries().at("t").shape == heed::Shape{2, 3});
  CHECK(file.load("t").to_vector<float>() == std::vector<float>{1, 3, 5, 2, 4, 6});
  CHECK(file.entries().at("s").bytes.size() == 8);
  CHECK(file.load("s").to_vector<float>() == std::vector<float>{3, 4});
}

TEST_CASE("empty and axis-free tensors come back", "[report-39]") {
  const Place place;
  save_safetensors(place.file, {{"a", heed::zeros({0, 3})},
                                {"b", heed::zeros({2, 0})},
                                {"c", heed::scalar(4.5)},
                                {"d", heed::zeros({0}, heed::DType::i64)}});
  const SafetensorsFile file(place.file);
  CHECK(file.metadata().empty());
  CHECK(file.load("a").shape() == heed::Shape{0, 3});
  CHECK(file.load("b").shape() == heed::Shape{2, 0});
  CHECK(file.load("c").shape() == heed::Shape{});
  CHECK(file.load("c").item<double>() == 4.5);
  CHECK(file.load("d").dtype() == heed::DType::i64);
  save_safetensors(place.file, {});
  CHECK(SafetensorsFile(place.file).entries().empty());
  put(place.file, file_of(R"({"__metadata__":{}})"));
  CHECK(SafetensorsFile(place.file).metadata().empty());
}

TEST_CASE("narrow types are widened") {
  const Place place;
  const std::string header =
      "{" + entry("h", "F16", "[6]", "[0,12]") + "," + entry("b", "BF16", "[2]", "[12,16]") + "," +
      entry("i8", "I8", "[2]", "[16,18]") + "," + entry("u8", "U8", "[2]", "[18,20]") + "," +
      entry("i16", "I16", "[1]", "[20,22]") + "," + entry("u16", "U16", "[1]", "[22,24]") + "," +
      entry("u32", "U32", "[1]", "[24,28]") + "," + entry("u64", "U64", "[1]", "[28,36]") + "}";
  std::string data;
  // one, smallest subnormal, largest, −inf, NaN, −0
  for (const int bits : {0x3C00, 0x0001, 0x7BFF, 0xFC00, 0x7E00, 0x8000}) {
    data += little_endian(static_cast<std::uint16_t>(bits));
  }
  for (const int bits : {0x3FC0, 0xC000}) data += little_endian(static_cast<std::uint16_t>(bits));
  data += "\x80\x7F\x80\x7F";
  data += little_endian<std::int16_t>(-300) + little_endian<std::uint16_t>(65000);
  data += little_endian<std::uint32_t>(4000000000u) + little_endian<std::uint64_t>(1ull << 62);
  put(place.file, file_of(header, data));
  const SafetensorsFile file(place.file);
  const auto half = file.load("h").to_vector<float>();
  CHECK(half[0] == 1.0f);
  CHECK(half[1] == 0x1.0p-24f);
  CHECK(half[2] == 65504.0f);
  CHECK(half[3] == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(half[4]));
  CHECK(std::signbit(half[5]));
  CHECK(file.load("b").to_vector<float>() == std::vector<float>{1.5f, -2.0f});
  CHECK(file.load("i8").to_vector<std::int32_t>() == std::vector<std::int32_t>{-128, 127});
  CHECK(file.load("u8").to_vector<std::int32_t>() == std::vector<std::int32_t>{128, 127});
  CHECK(file.load("i16").to_vector<std::int32_t>() == std::vector<std::int32_t>{-300});
  CHECK(file.load("u16").to_vector<std::int32_t>() == std::vector<std::int32_t>{65000});
  CHECK(file.load("u32").to_vector<std::int64_t>() == std::vector<std::int64_t>{4000000000});
  CHECK(file.load("u64").to_vector<std::int64_t>() == std::vector<std::int64_t>{1ll << 62});
  CHECK(file.entries().at("u16").dtype == "U16");
}

TEST_CASE("elements outside their type's range are refused on load") {
  const Place place;
  put(place.file,
      file_of("{" + entry("u", "U64", "[1]", "[0,8]") + "," + entry("b", "BOOL", "[1]", "[8,9]") + "}",
              little_endian<std::uint64_t>(1ull << 63) + "\x02"));
  const SafetensorsFile file(place.file);
  CHECK_THROWS_WITH(file.load("u"), Contains("'u' holds 9223372036854775808"));
  CHECK_THROWS_WITH(file.load("b"), Contains("'b' is boolean and holds 2"));
}

TEST_CASE("a bad length prefix or header is refused", "[report-37]") {
  const Place place;
  const std::string name = "x.safetensors";
  for (std::size_t size = 0; size < 8; ++size) {
    CHECK_THAT(refusal(place, std::string(size, '\0')), Contains(name) && Contains("too short"));
  }
  for (const std::uint64_t length : {std::uint64_t{11}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    CHECK_THAT(refusal(place, little_endian(length) + "{}"), Contains(name) && Contains("claims a header"));
  }
  CHECK_THAT(refusal(place, file_of("")), Contains(name) && Contains("not JSON"));
  CHECK_THAT(refusal(place, file_of("{")), Contains("not JSON"));
  CHECK_THAT(refusal(place, file_of("{\"a\":{\"dtype\":\"F3")), Contains("not JSON"));
  CHECK_THAT(refusal(place, file_of("{\"\xFF\":1}")), Contains("not JSON in UTF-8"));
  CHECK_THAT(refusal(place, file_of("[]")), Contains("no JSON object"));
  CHECK_THAT(refusal(place, file_of(std::string(100000, '['))), Contains("no JSON object"));
  CHECK_THAT(refusal(place, file_of("{\"a\":" + std::string(100000, '['))), Contains("nested deeper than 3"));
  CHECK_THAT(refusal(place, file_of(R"({"__metadata__":{"a":1}})")), Contains("'a' is no text"));
  CHECK_THAT(refusal(place, file_of(R"({"__metadata__":[]})")), Contains("__metadata__ is no JSON object"));
  CHECK_THAT(refusal(place, file_of(R"({"a":1e999})")), Contains("number out of range"));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::string noise;
    for (std::uint64_t i = 0; i < 128; ++i) noise += little_endian(heed::random_bits({seed, 0}, i));
    CHECK_THAT(refusal(place, noise), Contains(name));
    CHECK_THAT(refusal(place, file_of(noise)), Contains(name));
  }
  CHECK_THROWS_WITH(SafetensorsFile(place.folder), Contains("not a regular file"));
  CHECK_THROWS_WITH(SafetensorsFile(place.folder / "absent"), Contains("absent") && Contains("No such file"));
}

TEST_CASE("offsets that disagree with shapes or the file are refused", "[report-38]") {
  const Place place;
  const auto one = [&](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return refusal(place, file_of("{" + entry("w", dtype, shape, offsets) + "}", "1234"));
  };
  CHECK(one("F32", "[1]", "[0,4]") == "accepted");
  CHECK_THAT(one("F32", "[1000,1000]", "[0,4]"), Contains("'w'") && Contains("4000000 bytes"));
  CHECK_THAT(one("F32", "[1]", "[4,0]"), Contains("'w' ends before it begins"));
  CHECK_THAT(one("F32", "[1]", "[-4,0]"), Contains("'w'") && Contains("no natural number"));
  CHECK_THAT(one("F32", "[1]", "[4,8]"), Contains("'w'") && Contains("hole"));
  CHECK_THAT(one("F32", "[2]", "[0,8]"), Contains("'w' ends at data byte 8 of 4"));
  CHECK_THAT(one("F32", "[1]", "[0]"), Contains("'w' has not two data_offsets"));
  CHECK_THAT(one("F32", "[1]", "[0,4.0]"), Contains("no natural number"));
  CHECK_THAT(one("U8", "[3]", "[0,3]"), Contains("end at data byte 3 of 4"));
  CHECK_THAT(one("F32", "[4294967296,4294967296]", "[0,4]"), Contains("'w' has a shape that overflows"));
  CHECK_THAT(one("F32", "[18446744073709551615]", "[0,4]"), Contains("beyond 2^63 - 1"));
  CHECK_THAT(one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), Contains("more than 8 axes"));
  CHECK_THAT(one("F31", "[1]", "[0,4]"), Contains("unknown dtype \"F31\""));
  CHECK_THAT(one("F32", "1", "[0,4]"), Contains("no list"));
  const auto two = [&](const std::string& a, const std::string& b, const std::string& offsets) {
    return refusal(place,
                   file_of("{" + entry(a, "U8", "[4]", "[0,4]") + "," + entry(b, "U8", "[4]", offsets) + "}",
                           "12345678"));
  };
  CHECK(two("a", "b", "[4,8]") == "accepted");
  CHECK_THAT(two("a", "b", "[3,7]"), Contains("'b'") && Contains("inside the tensor before it"));
  CHECK_THAT(two("a", "b", "[0,4]"), Contains("inside the tensor before it"));
  CHECK_THAT(two("a", "a", "[4,8]"), Contains("the name 'a' twice"));
  CHECK_THAT(refusal(place, file_of(R"({"w":{"dtype":"F32","shape":[0]}})")), Contains("has not exactly"));
}

TEST_CASE("what cannot be written is refused and leaves the old file") {
  const Place place;
  save_safetensors(place.file, {{"a", heed::scalar(1.f)}});
  const std::string before = contents(place.file);
  const Tensor x = heed::scalar(2.f);
  CHECK_THROWS_AS(save_safetensors(place.file, {{"a", x}, {"a", x}}), heed::ValueError);
  CHECK_THROWS_AS(save_safetensors(place.file, {{"__metadata__", x}}), heed::ValueError);
  CHECK_THROWS_AS(save_safetensors(place.file, {{"\xFF", x}}), heed::ValueError);
  CHECK_THROWS_AS(save_safetensors(place.file, {{"a", Tensor()}}), heed::ValueError);
  CHECK_THROWS_AS(save_safetensors(place.folder / "no" / "x", {{"a", x}}), heed::IoError);
  CHECK(contents(place.file) == before);
}
