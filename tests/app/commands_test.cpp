#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <heed/version.h>

#include "program.h"

namespace fs = std::filesystem;
using Catch::Contains;

namespace {

const std::string tiny_options = " --layers 1 --heads 2 --embd 8 --context 8 --batch 2 --steps 3 --warmup 1";

// One line on standard error, status 2, and nothing left behind.
void check_refused(const Folder& folder, const std::string& arguments, const std::string& part) {
  CAPTURE(arguments);
  const Outcome outcome = run_heed(folder, arguments + " --out '" + (folder / "run") + "'");
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Contains(part));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK_FALSE(fs::exists(folder / "run"));
}

// What the page of a run shows.
nlohmann::json page_data(const std::string& run) {
  const std::string page = contents(fs::path(run) / "report.html");
  const std::string start = "id=\"data\">";
  const auto begin = page.find(start) + start.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

// The page of a run of tiny_options holds what was measured, and can be made anew.
void check_page(const Folder& folder, const std::string& run) {
  const std::string page = contents(fs::path(run) / "report.html");
  const auto data = page_data(run);
  CHECK(data["attention"]["maps"].size() == 2);
  CHECK(data["settings"]["steps"] == 3);
  CHECK_FALSE(data["settings"].contains("momentum"));  // adamw has none
  CHECK(data["run"]["curves"]["lr"].size() == 3);
  REQUIRE(data["run"]["measured"].size() == 3);
  for (const char* key : {"entropy", "saturation", "undivided_entropy", "undivided_saturation"}) {
    CHECK(data["run"]["measured"][2][key].size() == 2);
  }
  CHECK(data["run"]["measured"][0]["part_norms"].size() == data["run"]["parts"].size());
  CHECK(data["run"]["evaluations"][0]["sample"].get<std::string>().size() > 20);
  bool linear = false;
  for (const auto& row : data["run"]["profile"]) {
    linear = linear || (row["op"] == "linear" && row["forward_ms"] > 0 && row["backward_ms"] > 0 &&
                        row["saved_bytes"] > 0);
  }
  CHECK(linear);
  CHECK(run_heed(folder, "report '" + run + "'").status == 0);
  CHECK(contents(fs::path(run) / "report.html") == page);
  CHECK(run_heed(folder, "report '" + run + "' --text caf\u00e9").status == 0);
  CHECK_THAT(contents(fs::path(run) / "report.html"), Contains(R"("tokens":["c","a","f","\u00e9"])"));
  fs::remove(fs::path(run) / "report.html");
  const Outcome missing = run_heed(folder, "report '" + (folder / "no run") + "'");
  CHECK(missing.status == 2);
  CHECK_THAT(missing.err, Contains("log.jsonl"));

  const Outcome pictures = run_heed(folder, "attend '" + run + "' 'and tea'");
  CHECK(pictures.status == 0);
  CHECK_THAT(pictures.out, Contains("layer 0, head 1\na \u2588\n") && Contains("attention.html"));
  CHECK(fs::exists(fs::path(run) / "attention.html"));
  const Outcome one =
      run_heed(folder, "attend '" + run + "' tea --layer 0 --head 1 --page '" + (folder / "p.html") + "'");
  CHECK_THAT(one.out, Contains("head 1") && !Contains("head 0"));
  CHECK(fs::exists(folder / "p.html"));
  for (const auto& [arguments, part] :
       std::vector<std::pair<std::string, std::string>>{{"''", "length of the text"},
                                                        {"X", "'X'"},
                                                        {"tea --head 2", "--head"},
                                                        {"tea --layer 1", "--layer"},
                                                        {"'and tea and'", "context"}}) {
    const Outcome refused = run_heed(folder, "attend '" + run + "' " + arguments);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, Contains(part));
  }
}

}  // namespace

TEST_CASE("a run leaves a model, a log and a report, and ends with a line of JSON") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string run = folder / "run";
  const Outcome outcome = run_heed(folder, "train --data '" + (folder / "text.txt") + "' --out '" + run +
                                               "' --json --eval-every 0 --threads 1" + tiny_options);
  CAPTURE(outcome.err);
  REQUIRE(outcome.status == 0);
  const auto before_last = outcome.out.rfind('\n', outcome.out.size() - 2);
  const auto json = nlohmann::json::parse(outcome.out.substr(before_last + 1));
  for (const char* key :
       {"val_loss", "train_loss", "ms_per_step", "tokens_per_s", "params", "threads", "peak_rss_mib"}) {
    CAPTURE(key);
    CHECK(json.at(key).get<double>() > 0);
  }
  CHECK(json.size() == 7);
  CHECK(json["threads"] == 1);
  for (const char* name : {"model.safetensors", "config.json", "log.jsonl", "report.html"}) {
    CAPTURE(name);
    CHECK(fs::file_size(fs::path(run) / name) > 0);
  }
  const std::string log = contents(fs::path(run) / "log.jsonl");
  CHECK(std::count(log.begin(), log.end(), '\n') == 5);  // the header, three steps, the evaluation at the end
  const auto header = nlohmann::json::parse(log.substr(0, log.find('\n')));
  CHECK(header["version"] == std::string(heed::version()));
  CHECK(header["tokens_per_step"] == 2 * 8);
  CHECK(header["tokens"] == 60 * 13);
  CHECK(header["parameters"] == json["params"]);
  const std::string date = header["date"];
  CHECK(date.size() == std::string("2025-01-31 09:30 UTC").size());
  CHECK(date.substr(0, 2) == "20");
  check_page(folder, run);

  const std::string generate = "generate '" + run + "' --prompt 'caf\u00e9' --tokens 20 --seed 3";
  const Outcome text = run_heed(folder, generate);
  CHECK(text.status == 0);
  CHECK_THAT(text.out, Catch::StartsWith("caf\u00e9"));
  CHECK(run_heed(folder, generate).out == text.out);
  CHECK(run_heed(folder, generate + " --temperature 0").status == 0);
  const Outcome several =
      run_heed(folder, generate + " --samples 3 --top-p 0.9 --min-p 0.05 --repetition-penalty 1.2 --top-k 5");
  CHECK(several.status == 0);
  CHECK(several.out.find("---\ncaf\u00e9") == 0);
  const Outcome stopped = run_heed(folder, generate +
                                               " --stop a --stop ' ' --stop t --stop e --stop n --stop d "
                                               "--stop c --stop f --stop \u00e9 --stop '\n'");
  CHECK(stopped.out == "caf\u00e9\n");
  for (const char* flag : {"--top-p 2", "--min-p -1", "--repetition-penalty 0", "--samples 0", "--stop ''"}) {
    const Outcome refused = run_heed(folder, generate + " " + flag);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, Contains(std::string(flag, std::string(flag).find(' '))));
  }
  const Outcome unknown = run_heed(folder, "generate '" + run + "' --prompt X");
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, Contains("'X'"));
}

TEST_CASE("a run writes over no other's model, and goes on from nothing but checkpoints", "[fault-49]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string run = folder / "run";
  const std::string train = "train --data '" + (folder / "text.txt") + "' --out '" + run + "'" + tiny_options;
  REQUIRE(run_heed(folder, train).status == 0);
  const auto files = [&] {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::directory_iterator(run))
      found[entry.path().filename().string()] = contents(entry.path());
    return found;
  };
  const auto before = files();
  for (const std::string& again : {train + " --seed 2", "train --resume --out '" + run + "' --steps 5"}) {
    CAPTURE(again);
    const Outcome outcome = run_heed(folder, again);
    CHECK(outcome.status == 2);
    CHECK(outcome.err == "heed: train: '" + run +
                             "' holds a model, model.safetensors, and no checkpoints from which to go on; "
                             "expected another --out, or an empty folder\n");
    CHECK(files() == before);
  }
  fs::remove(run + "/model.safetensors");  // such as that of another program, in several files
  CHECK_THAT(run_heed(folder, train).err, Contains("holds a model, config.json"));
}

TEST_CASE("the same seed gives the same losses, whatever the threads") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const auto losses = [&](const std::string& more) {
    const std::string run = folder / "run";
    fs::remove_all(run);
    REQUIRE(run_heed(folder,
                     "train --data '" + (folder / "text.txt") + "' --out '" + run + "'" + tiny_options + more)
                .status == 0);
    std::vector<double> values;
    std::ifstream log(run + "/log.jsonl");
    for (std::string line; std::getline(log, line);) {
      const auto entry = nlohmann::json::parse(line);
      if (entry["step"] == 0) continue;  // the header
      values.push_back(entry.contains("loss") ? entry["loss"] : entry["val_loss"]);
    }
    return values;
  };
  const auto first = losses(" --dropout 0.1 --threads 1");
  CHECK(losses(" --dropout 0.1 --threads 2") == first);
  CHECK(losses(" --dropout 0.1 --threads 1 --seed 2") != first);
}

TEST_CASE("tokens may be bytes, learned pieces, or what a tokenizer.json says") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "caf\u00e9 and tea " + std::to_string(i * i) + "\n";
  put(folder / "text.txt", text);
  const std::string train =
      "train --data '" + (folder / "text.txt") + "'" + tiny_options + " --out '" + (folder / "run") + "'";
  nlohmann::json config;
  const auto writes = [&](const std::string& unit) {
    const Outcome outcome =
        run_heed(folder, "generate '" + (folder / "run") + "' --prompt '\u00e9X' --tokens 9");
    config = nlohmann::json::parse(contents(folder / "run/config.json"));
    fs::remove_all(folder / "run");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.out, Catch::StartsWith("\u00e9X"));
    return unit;
  };
  const Outcome bytes = run_heed(folder, train + " --tokenizer byte");
  CHECK_THAT(bytes.out, Contains("bytes, 256 different ones") && Contains("nats per " + writes("byte")));
  const Outcome pieces = run_heed(folder, train + " --tokenizer bpe --vocab-size 280");
  CHECK_THAT(pieces.out, Contains("tokens, 280 different ones") && Contains("nats per " + writes("token")));
  put(folder / "tokenizer.json", config["tokenizer"].dump());
  const Outcome again = run_heed(folder, train + " --tokenizer '" + (folder / "tokenizer.json") + "'");
  CHECK_THAT(again.out, Contains("tokens, 280 different ones"));
  CHECK(run_heed(folder, train + " --tokenizer bpe --vocab-size 255").status == 2);
  const Outcome absent = run_heed(folder, train + " --tokenizer '" + (folder / "no.json") + "'");
  CHECK(absent.status == 2);
  CHECK_THAT(absent.err, Contains("no.json"));
}

TEST_CASE("the built-in tales have a floor") {
  const Folder folder;
  const Outcome outcome = run_heed(folder, "train --check" + tiny_options);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, Contains("built-in tales") && Contains("floor") && Contains("directions agree") &&
                              Contains(" = floor "));
}

TEST_CASE("the page of an induction run shows a document of its source and judges the heads by it") {
  const Folder folder;
  const std::string run = folder / "run";
  const std::string sizes =
      " --layers 1 --heads 2 --embd 8 --context 32 --batch 2 --steps 3 --warmup 1 --out '";
  REQUIRE(run_heed(folder, "train --source induction" + sizes + run + "'").status == 0);
  const auto data = page_data(run);
  std::string text;
  for (const auto& token : data["attention"]["tokens"]) text += token.get<std::string>();
  REQUIRE(text.size() == 32);
  for (std::size_t i = 0; i < text.size(); i += 2)
    CHECK((std::isalpha(text[i]) != 0 && std::isdigit(text[i + 1]) != 0));
  CHECK(data["marks"].empty());  // three steps teach nothing
  CHECK(run_heed(folder, "report '" + run + "' --text a1").status == 0);
  CHECK(page_data(run)["attention"]["tokens"].size() == 2);
}

TEST_CASE("a text that cannot be used is refused") {
  const Folder folder;
  check_refused(folder, "train --data '" + (folder / "absent.txt") + "'" + tiny_options, "absent.txt");
  check_refused(folder, "train --data /dev/null" + tiny_options, "not a regular file");
  put(folder / "empty.txt", "");
  check_refused(folder, "train --data '" + (folder / "empty.txt") + "'" + tiny_options, "is empty");
  put(folder / "short.txt", std::string(80, 'a'));
  check_refused(folder, "train --data '" + (folder / "short.txt") + "'" + tiny_options, "have 80 characters");
  put(folder / "just.txt", std::string(81, 'a'));  // nine characters in the last tenth: a window and one more
  CHECK(run_heed(folder, "train --data '" + (folder / "just.txt") + "'" + tiny_options).status == 0);
  put(folder / "latin1.txt", std::string(200, 'a') + "\xE9" + std::string(200, 'a'));
  check_refused(folder, "train --data '" + (folder / "latin1.txt") + "'" + tiny_options, "200");
}

TEST_CASE("bad flags are refused by name") {
  const Folder folder;
  for (const char* flag : {"--layers 0",       "--heads -1",         "--embd 7",
                           "--context 0",      "--batch 0",          "--steps 0",
                           "--lr 0",           "--lr nan",           "--min-lr 1",
                           "--warmup -1",      "--weight-decay -1",  "--clip -1",
                           "--dropout 1",      "--threads -1",       "--eval-every -1",
                           "--preset huge",    "--steps many",       "--seed -1",
                           "--accumulate 0",   "--keep 0",           "--optimizer adamv",
                           "--schedule cosin", "--beta1 1",          "--ema 1",
                           "--patience -1",    "--spike-factor 0.5", "--checkpoint-every -1",
                           "--decay -1"}) {
    const std::string text = flag;
    check_refused(folder, "train --heads 2 " + text, text.substr(0, text.find(' ')));
  }
}

TEST_CASE("a folder that cannot be written is refused") {
  const Folder folder;
  put(folder / "file", "x");
  const Outcome outcome = run_heed(folder, "train --out '" + (folder / "file/run") + "'" + tiny_options);
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Contains("file/run"));
  CHECK(contents(folder / "file") == "x");
  const Outcome missing = run_heed(folder, "generate '" + (folder / "nothing") + "'");
  CHECK(missing.status == 2);
  CHECK_THAT(missing.err, Contains("there is no folder '" + (folder / "nothing") + "'"));
}
