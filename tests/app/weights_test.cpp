// heed import, export and eval.

#include <cmath>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.h"

namespace fs = std::filesystem;
using Catch::Contains;

namespace {

const std::string fixtures = std::string(HEED_SOURCE_DIR) + "/tests/fixtures/";

std::string quoted(const std::string& path) { return " '" + path + "'"; }

void check_refused(const Folder& folder, const std::string& arguments, const std::string& part) {
  CAPTURE(arguments);
  const Outcome outcome = run_heed(folder, arguments);
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Contains(part));
}

}  // namespace

TEST_CASE("a model of another program comes in, writes, and goes out as it came") {
  const Folder folder;
  for (const std::string name : {"gpt2", "llama"}) {
    const Outcome in =
        run_heed(folder, "import" + quoted(fixtures + name) + " --out" + quoted(folder / (name + " in")));
    CHECK(in.status == 0);
    CHECK_THAT(in.out,
               Contains("imported") && Contains("96 tokens, context 64") &&
                   Contains(name == "gpt2" ? "gelu_tanh, learned positions" : "rms norm, silu, RoPE"));
    // A folder of the other program does as well.
    const std::string flags = " --prompt 'Ohm' --tokens 70 --temperature 0";
    const Outcome own = run_heed(folder, "generate" + quoted(folder / (name + " in")) + flags);
    CHECK(own.status == 0);
    CHECK(own.out.size() == 3 + 70 + 1);
    CHECK(run_heed(folder, "generate" + quoted(fixtures + name) + flags).out == own.out);
    const Outcome out = run_heed(folder, "export" + quoted(folder / (name + " in")) + " --format " + name +
                                             " --out" + quoted(folder / (name + " out")));
    CHECK(out.status == 0);
    CHECK(run_heed(folder, "generate" + quoted(folder / (name + " out")) + flags).out == own.out);
  }
}

TEST_CASE("what cannot be taken over or written leaves nothing behind", "[report-41]") {
  const Folder folder;
  fs::copy(fixtures + "llama", folder / "llama");
  fs::remove(folder / "llama/model-00002-of-00002.safetensors");
  const std::string out = " --out" + quoted(folder / "out");
  check_refused(folder, "import" + quoted(folder / "llama") + out, "model-00002-of-00002.safetensors");
  check_refused(folder, "import" + quoted(folder / "nowhere") + out, "nowhere");
  fs::create_directories(folder / "empty");
  check_refused(folder, "import" + quoted(folder / "empty") + out, "config.json");
  check_refused(folder, "export" + quoted(fixtures + "llama") + out, "norm is rms, GPT-2 has layer");
  check_refused(folder, "export" + quoted(fixtures + "gpt2") + out + " --format pickle", "--format");
  check_refused(folder, "export" + quoted(fixtures + "gpt2") + out + " --shard-mib -1", "--shard-mib is -1");
  CHECK_FALSE(fs::exists(folder / "out"));
  check_refused(folder, "import" + quoted(fixtures + "gpt2") + " --out" + quoted(folder / "llama"),
                "has a config.json already");
}

TEST_CASE("a folder without weights that heed reads says how to get them", "[fault-38]") {
  const Folder folder;
  const std::string model = folder / "model";
  fs::copy(fixtures + "gpt2", model);
  fs::rename(model + "/model.safetensors", model + "/pytorch_model.bin");
  const std::string help =
      "' has pytorch_model.bin and no model.safetensors; heed reads no pickle; expected "
      "safetensors; in Python, AutoModelForCausalLM.from_pretrained('";
  for (const std::string& command :
       {"generate" + quoted(model), "eval" + quoted(model) + quoted(model + "/config.json"),
        "import" + quoted(model) + " --out" + quoted(folder / "out")}) {
    check_refused(folder, command, "heed: load weights: '" + model + help + model);
  }
  fs::remove(model + "/pytorch_model.bin");
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935\nsize 1355256\n";
  for (const char* name : {"model.safetensors", "tokenizer.json", "config.json"}) {
    put(fs::path(model) / name, pointer);
    check_refused(folder, "generate" + quoted(model),
                  "heed: read: '" + model + "/" + name + "' is a pointer of Git LFS, not the file itself");
  }
}

TEST_CASE("eval says loss, perplexity and bits per byte, and how they were counted") {
  const Folder folder;
  put(folder / "a.txt", std::string(100, 'a'));
  put(folder / "b.txt", "to be, or not to be");
  const std::string model = "eval" + quoted(fixtures + "gpt2");
  const std::string both = model + quoted(folder / "a.txt") + quoted(folder / "b.txt");
  const auto line = [&](const std::string& arguments) {
    const Outcome outcome = run_heed(folder, arguments + " --json");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.out, Contains("counted   every token but a text's first once"));
    const auto json =
        nlohmann::json::parse(outcome.out.substr(outcome.out.rfind('\n', outcome.out.size() - 2)));
    CHECK(json["perplexity"].get<double>() == Approx(std::exp(json["nats_per_token"].get<double>())));
    return json;
  };
  const auto a = line(model + quoted(folder / "a.txt"));
  const auto b = line(model + quoted(folder / "b.txt"));
  const auto all = line(both);
  CHECK(a["tokens"] == 99);
  CHECK(all["tokens"] == 99 + 18);
  CHECK(all["bytes"] == 99 + 18);
  const double sum = a["nats_per_token"].get<double>() * 99 + b["nats_per_token"].get<double>() * 18;
  CHECK(all["nats_per_token"].get<double>() * 117 == Approx(sum));
  CHECK(all["bits_per_byte"].get<double>() == Approx(sum / std::log(2.0) / 117));
  CHECK(line(both + " --stride 1")["tokens"] == 117);
  put(folder / "short.txt", "a");
  check_refused(folder, model + quoted(folder / "short.txt"), "short.txt");
  check_refused(folder, model + quoted(folder / "none.txt"), "none.txt");
  put(folder / "odd.txt", "caf\u00e9");
  check_refused(folder, model + quoted(folder / "odd.txt"), "odd.txt");
  check_refused(folder, both + " --stride 65", "stride is 65");
}
