// What a stranger's file may cost: no more memory than its tensors and 64 times its header, and less
// than a second.

#include <cstdlib>
#include <cstring>
#include <ctime>

#include <catch2/catch.hpp>

#include <heed/core/allocator.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/io/atomic_file.h>
#include <heed/io/npy.h>
#include <heed/io/read_file.h>
#include <heed/io/safetensors.h>
#include <heed/lm/pretrained.h>
#include <heed/train/checkpoint.h>

#include "counting_new.h"
#include "damage.h"
#include "readers.h"
#include "scratch.h"

using namespace heed::test::fuzz;
namespace fs = std::filesystem;

namespace {

// File names, messages, streams' buffers: what does not depend on the file.
constexpr std::int64_t slack = 64 << 10;

struct Cost {
  bool taken = false;
  std::int64_t bytes = 0;
  double seconds = 0;  // of the processor: the machine may be busy
};

// Sanitizers slow the readers down.
double most_seconds() { return counts_allocations() ? 1 : 20; }

// Of reading `bytes`, which take() writes first.
Cost cost_of(const Reader& reader, const std::string& bytes, const fs::path& folder) {
  heed::release_cached();  // a block from the cache would cost nothing
  const std::clock_t begin = std::clock();
  reset_allocation_peak();
  Cost cost;
  cost.taken = take(reader, bytes, folder);
  cost.bytes = allocation_peak().bytes;
  cost.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return cost;
}

std::string repeated(const std::string& piece, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += piece;
  return text;
}

// About a megabyte of JSON each, as unlike what is expected as JSON can be.
std::vector<std::pair<std::string, std::string>> hostile_objects() {
  const std::size_t size =
      counts_allocations() ? (1 << 20) - 100 : 1 << 16;  // settings files may be that large
  std::string keys = "{";
  for (int i = 0; keys.size() < size; ++i) keys += "\"" + std::to_string(i) + "\":0,";
  keys += "\"\":0}";
  std::string objects = "{";
  for (int i = 0; objects.size() < size; ++i) objects += "\"" + std::to_string(i) + "\":{\"dtype\":{}},";
  objects += "\"\":0}";
  return {{"many keys", keys},
          {"many objects", objects},
          {"many empty lists", "{\"a\":[" + repeated("[],", size) + "0]}"},
          {"many empty objects", "{\"a\":[" + repeated("{},", size) + "0]}"},
          {"many numbers", "{\"a\":[" + repeated("0,", size) + "0]}"},
          {"many texts", "{\"a\":[" + repeated("\"\",", size) + "0]}"},
          {"one text", "{\"a\":\"" + repeated("\\u0001", size) + "\"}"},
          {"one key", "{\"" + repeated("a", size) + "\":0}"},
          {"deep lists", "{\"a\":" + repeated("[", size) + "}"},
          {"deep objects", repeated("{\"a\":", size) + "}"},
          {"one number", "{\"a\":" + repeated("1", size) + "}"},
          {"no end", "{\"a\":[" + repeated("0,", size)},
          {"blanks", repeated(" ", size)},
          {"no JSON", repeated("\xff", size)}};
}

std::string with_length(const std::string& header, std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header;
}

}  // namespace

TEST_CASE("a damaged file costs no more than 64 times its size", "[report-37][report-38]") {
  if (!counts_allocations()) return;
  for (const Reader& reader : readers()) {
    CAPTURE(reader.name);
    const Folder folder;
    const std::string seed = reader.seed(folder.path);
    const auto beside = static_cast<std::int64_t>(folder.bytes());
    Damage damage(2);
    for (int i = 0; i < 200; ++i) {
      const std::string bytes = damage(seed);
      const Cost cost = cost_of(reader, bytes, folder.path);
      CAPTURE(i, bytes);
      CHECK(cost.bytes <= 64 * (static_cast<std::int64_t>(bytes.size()) + beside) + slack);
      CHECK(cost.seconds < most_seconds());
    }
  }
}

TEST_CASE("hostile JSON costs no more than 64 times its size, and no second", "[report-37][report-38]") {
  const auto objects = hostile_objects();
  for (const Reader& reader : readers()) {
    if (!reader.json) continue;
    const Folder folder;
    const std::string seed = reader.seed(folder.path);
    const bool wrapped = seed[0] != '{';  // safetensors: the length, then the header
    for (const auto& [kind, json] : objects) {
      CAPTURE(reader.name, kind);
      const Cost cost = cost_of(reader, wrapped ? with_length(json, json.size()) : json, folder.path);
      CHECK_FALSE(cost.taken);
      if (counts_allocations()) CHECK(cost.bytes <= 64 * static_cast<std::int64_t>(json.size()) + slack);
      CHECK(cost.seconds < most_seconds());
    }
  }
}

TEST_CASE("reading whole files costs their tensors once", "[report-37]") {
  if (!counts_allocations()) return;
  const Folder folder;
  const fs::path path = folder.path / "file";
  constexpr std::int64_t row_count = 700;
  constexpr std::int64_t column_count = 1000;
  const heed::Tensor x = heed::ones({row_count, column_count});
  const std::int64_t tensors = 2 * x.numel() * 4 * 9 / 8;  // the allocator's blocks waste up to an eighth
  // What `read` gives stays alive until the peak was seen.
  const auto cost = [](auto&& read) {
    heed::release_cached();
    reset_allocation_peak();
    const auto kept = read();
    return allocation_peak().bytes;
  };

  heed::io::save_safetensors(path, {{"a", x}, {"b", x}}, {});
  CHECK(cost([&] { return heed::io::load_safetensors(path); }) <= tensors + 64 * 200 + slack);

  heed::train::Checkpoint checkpoint{.step = 1};
  checkpoint.put("model", {{"a", x}, {"b", x}});
  const fs::path json = heed::train::CheckpointFolder(folder.path / "run").save(checkpoint);
  CHECK(cost([&] { return heed::train::load_checkpoint(json); }) <= tensors + 64 * 400 + slack);

  for (const bool fortran_order : {false, true}) {
    heed::io::save_npy(path, x);
    std::string bytes = heed::io::read_file(path);
    const std::string word = "'fortran_order': False";
    if (fortran_order) bytes.replace(bytes.find(word), word.size(), "'fortran_order': True ");
    heed::io::write_file(path, bytes);
    CHECK(cost([&] { return heed::io::load_npy(path); }) <= tensors / 2 + 64 * 128 + slack);
  }

  heed::Generator generator(1);
  const heed::nn::CausalLM model(
      {.vocab_size = 300, .context = 64, .num_layers = 2, .num_heads = 4, .embed_dim = 128}, generator);
  // A layer that GPT-2's file has transposed is there twice for a moment.
  const std::int64_t weights = 4 * (model.parameter_count() * 9 / 8 + 128 * 512);
  heed::lm::save_pretrained(folder.path / "theirs", model, {});
  const auto header =
      static_cast<std::int64_t>(heed::io::read_file(folder.path / "theirs" / "config.json").size()) + 4000;
  CHECK(cost([&] { return heed::lm::load_pretrained(folder.path / "theirs"); }) <=
        weights + 64 * header + slack);
}
