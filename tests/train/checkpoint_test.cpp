#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/io/read_file.h>
#include <heed/nn/clone.h>
#include <heed/nn/linear.h>
#include <heed/optim/weight_average.h>
#include <heed/train/checkpoint.h>

namespace fs = std::filesystem;
using Catch::Contains;
using heed::train::Checkpoint;
using heed::train::CheckpointFolder;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("heed_checkpoint_test_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
};

Checkpoint example(std::int64_t step, std::optional<double> loss = std::nullopt) {
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.random = {18446744073709551615u, 9007199254740993u};  // a double would round both
  checkpoint.validation_loss = loss;
  checkpoint.config = R"({"lr":0.1})";
  checkpoint.put("model", {{"w", heed::tensor({1.5f, -2.f})}, {"b.x", heed::scalar(step)}});
  checkpoint.put("optimizer", {{"w.steps", heed::scalar(step)}});
  return checkpoint;
}

// A layer that remembers the mean of what it has seen.
class Centred final : public heed::nn::Module {
 public:
  explicit Centred(heed::Generator& generator)
      : Module("Centred"),
        layer({2, 2}, generator),
        mean(heed::zeros({2})),
        seen(heed::scalar(std::int64_t{0})) {}

  heed::nn::Linear layer;
  heed::nn::Buffer mean, seen;

 protected:
  HEED_MEMBERS(layer, mean, seen)
};

std::vector<std::string> names(const fs::path& folder) {
  std::vector<std::string> result;
  for (const auto& entry : fs::directory_iterator(folder)) result.push_back(entry.path().filename().string());
  std::sort(result.begin(), result.end());
  return result;
}

void put(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const auto at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

}  // namespace

TEST_CASE("a checkpoint comes back as it was") {
  const Folder folder;
  const CheckpointFolder checkpoints(folder.path / "deep" / "er");
  CHECK_FALSE(checkpoints.latest());
  CHECK_FALSE(checkpoints.best());
  const fs::path path = CheckpointFolder(checkpoints).save(example(7, 0.1));
  CHECK(path.filename() == "step-00000007.json");
  const Checkpoint loaded = heed::train::load_checkpoint(path);
  CHECK(loaded.step == 7);
  CHECK(loaded.random.seed == 18446744073709551615u);
  CHECK(loaded.random.offset == 9007199254740993u);
  CHECK(loaded.validation_loss == 0.1);
  CHECK(loaded.config == R"({"lr":0.1})");
  const auto model = loaded.part("model");
  REQUIRE(model.size() == 2);
  CHECK(model[1].first == "w");
  CHECK(model[1].second.to_vector<float>() == std::vector<float>{1.5f, -2.f});
  CHECK(loaded.part("optimizer")[0].second.item<std::int64_t>() == 7);
  CHECK(loaded.part("ema").empty());
}

TEST_CASE("slashes at the end of a folder's name cost no checkpoint") {
  const Folder folder;
  for (const char* const end : {"/", "//", "/./"}) {
    CheckpointFolder checkpoints(folder.path.string() + end, 2);
    checkpoints.save(example(1));
    const std::string saved = checkpoints.save(example(2, 0.5));
    CHECK(checkpoints.list().size() == 2);
    CHECK(checkpoints.list().back() == saved);
    CHECK(checkpoints.best() == saved);
    CHECK(names(folder.path).size() == 4);
    CHECK(checkpoints.latest()->step == 2);
  }
}

TEST_CASE("the newest and the best are kept, and no litter") {
  const Folder folder;
  CheckpointFolder checkpoints(folder.path, 2);
  for (const auto& [step, loss] :
       std::vector<std::pair<int, double>>{{1, 3}, {2, 1}, {3, 2}, {4, 2}, {5, 1.5}}) {
    checkpoints.save(example(step, loss));
  }
  put(folder.path / ".step-00000006.json.tmp-1-1", "half");
  put(folder.path / "step-00000006.safetensors", "half");
  put(folder.path / "note.txt", "mine");
  checkpoints.save(example(100'000'000));  // nine digits
  CHECK(names(folder.path) == std::vector<std::string>{"note.txt", "step-00000002.json",
                                                       "step-00000002.safetensors", "step-00000005.json",
                                                       "step-00000005.safetensors", "step-100000000.json",
                                                       "step-100000000.safetensors"});
  CHECK(checkpoints.best() == folder.path / "step-00000002.json");
  CHECK(checkpoints.latest()->step == 100'000'000);
  // A run that went on from further back: what was ahead of it is gone.
  checkpoints.save(example(3, 0.5));
  CHECK(checkpoints.list().size() == 2);
  CHECK(checkpoints.latest()->step == 3);
  CHECK(checkpoints.best() == folder.path / "step-00000003.json");
  checkpoints.save(example(3, 0.5));  // over itself
  CHECK(checkpoints.latest()->step == 3);
  CHECK(names(folder.path).size() == 5);
}

TEST_CASE("with a broken checkpoint the one before is used", "[report-42]") {
  const Folder folder;
  CheckpointFolder checkpoints(folder.path, 3);
  checkpoints.save(example(1));
  const fs::path json = checkpoints.save(example(2));
  const fs::path tensors = folder.path / "step-00000002.safetensors";
  const auto check_broken = [&](const fs::path& file, const std::string& bytes) {
    const std::string before = heed::io::read_file(file);
    put(file, bytes);
    std::vector<std::string> problems;
    const auto latest = checkpoints.latest([&](const std::string& problem) { problems.push_back(problem); });
    REQUIRE(latest);
    CHECK(latest->step == 1);
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0], Contains("step-00000002"));
    put(file, before);
  };
  for (const fs::path& file : {json, tensors}) {
    const std::string good = heed::io::read_file(file);
    // Blanks between the parts of the JSON may change: its content is what counts.
    const auto same = [&](const std::string& bytes) {
      return file == json && nlohmann::json::parse(bytes, nullptr, false) == nlohmann::json::parse(good);
    };
    for (std::size_t i = 0; i < good.size(); i += 3) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ 4);
      for (const std::string& bytes : {changed, good.substr(0, i)}) {
        if (!same(bytes)) check_broken(file, bytes);
      }
    }
    check_broken(file, good + "x");
    fs::remove(file);
    put(file, "");
    check_broken(file, "");
    put(file, good);
  }
  fs::remove(tensors);
  CHECK(checkpoints.latest()->step == 1);
  put(folder.path / "step-00000001.json", "{}");
  CHECK_THROWS_WITH(checkpoints.latest(), Contains("no whole checkpoint") && Contains("step-00000002"));
}

TEST_CASE("a checkpoint that does not say what it must is refused", "[report-42]") {
  const Folder folder;
  CheckpointFolder checkpoints(folder.path);
  const fs::path json = checkpoints.save(example(2));
  const std::string good = heed::io::read_file(json);
  const auto forged = [&](const std::string& part, const std::string& by) {
    auto record = nlohmann::json::parse(replaced(good, part, by));
    record.erase("checksum");
    record["checksum"] = heed::io::text_checksum(record.dump());
    put(json, record.dump());
  };
  forged("\"step\": 2", "\"step\": \"2\"");
  CHECK_THROWS_WITH(heed::train::load_checkpoint(json), Contains("missing or of the wrong kind"));
  forged("\"step\": 2", "\"step\": 2.5");
  CHECK_THROWS_WITH(heed::train::load_checkpoint(json), Contains("missing or of the wrong kind"));
  forged("\"step\": 2", "\"step\": 18446744073709551615");
  CHECK_THROWS_WITH(heed::train::load_checkpoint(json), Contains("its step is 18446744073709551615"));
  forged("\"step-00000002.safetensors\"", "\"../step-00000002.safetensors\"");
  CHECK_THROWS_WITH(heed::train::load_checkpoint(json), Contains("another folder"));
  forged("\"seed\"", "\"need\"");
  CHECK_THROWS_WITH(heed::train::load_checkpoint(json), Contains("missing"));
  forged("heed-checkpoint/2", "heed-checkpoint/9");
  CHECK_THROWS_WITH(heed::train::load_checkpoint(json), Contains("not of the format"));
}

TEST_CASE("what cannot be saved leaves what was there", "[report-42]") {
  const Folder folder;
  CheckpointFolder checkpoints(folder.path);
  checkpoints.save(example(1));
  Checkpoint bad = example(2);
  bad.config = "[]";
  CHECK_THROWS_AS(checkpoints.save(bad), heed::ValueError);
  bad = example(2);
  bad.put("model", {{"w", heed::scalar(1.0)}});
  CHECK_THROWS_AS(checkpoints.save(bad), heed::ValueError);
  CHECK(checkpoints.latest()->step == 1);
  CHECK(names(folder.path).size() == 2);
  put(folder.path / "file", "x");
  CHECK_THROWS_WITH(CheckpointFolder(folder.path / "file" / "run").save(example(1)), Contains("cannot make"));
  CHECK_THROWS_AS(CheckpointFolder(folder.path, 0), heed::ValueError);
}

TEST_CASE("a checkpoint that a full disk cuts short takes no room from the next", "[fault-35]") {
  const Folder folder;
  CheckpointFolder checkpoints(folder.path);
  checkpoints.save(example(1));
  Checkpoint large = example(2);  // its JSON file is larger than its tensors
  large.config = "{\"note\": \"" + std::string(1 << 16, 'x') + "\"}";
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full = {1 << 14, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  CHECK_THROWS_WITH(checkpoints.save(large), Contains("step-00000002.json") && Contains("File too large"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(names(folder.path) == std::vector<std::string>{"step-00000001.json", "step-00000001.safetensors"});
  checkpoints.save(large);
  CHECK(checkpoints.latest()->step == 2);
}

TEST_CASE("buffers come back from a checkpoint and a clone, and no average takes them") {
  heed::Generator generator(1);
  Centred module(generator);
  module.mean.copy_(heed::tensor({1.5f, -2.5f}));
  module.seen.fill_(7);
  const heed::optim::WeightAverage average(module.named_parameters(), 0.5);
  CHECK(average.state_dict().size() == 2);

  const Folder folder;
  CheckpointFolder checkpoints(folder.path);
  Checkpoint saved{.step = 3};
  saved.put("model", module.state_dict());
  checkpoints.save(saved);
  const auto loaded = checkpoints.latest();
  REQUIRE(loaded);
  Centred other(generator);
  other.load_state_dict(loaded->part("model"));
  CHECK(other.mean.to_vector<float>() == std::vector<float>{1.5f, -2.5f});
  CHECK(other.seen.item<std::int64_t>() == 7);
  const Centred cloned = clone(other);
  other.mean.fill_(0);
  CHECK(cloned.mean.to_vector<float>() == std::vector<float>{1.5f, -2.5f});
  CHECK(cloned.seen.item<std::int64_t>() == 7);
  CHECK(cloned.layer.weight.to_vector<float>() == module.layer.weight.to_vector<float>());
}
