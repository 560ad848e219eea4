#include <filesystem>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.h"

namespace fs = std::filesystem;
using Catch::Contains;

namespace {

const std::string tiny_options =
    " --layers 1 --heads 2 --embd 8 --context 8 --batch 2 --steps 3 --warmup 1 --threads 1 --eval-every 0";

// Twelve files of some lines, of 14 bytes each, in folders.
void put_documents(const Folder& folder) {
  for (int i = 0; i < 12; ++i) {
    const std::string sub = folder / ("texts/" + std::to_string(i % 3));
    fs::create_directories(sub);
    put(sub + "/" + std::to_string(i) + ".txt",
        sample_text().substr(0, 14 * static_cast<std::size_t>(4 + i)));
  }
}

std::string last_line(const std::string& text) { return text.substr(text.rfind('\n', text.size() - 2) + 1); }

double validation_loss(const Outcome& outcome) {
  CAPTURE(outcome.err);
  REQUIRE(outcome.status == 0);
  return nlohmann::json::parse(last_line(outcome.out)).at("val_loss").get<double>();
}

}  // namespace

TEST_CASE("files and folders are one text, split by its tail or by documents") {
  const Folder folder;
  put_documents(folder);
  const std::string train = "train --json" + tiny_options + " --data '" + (folder / "texts") + "'";
  const Outcome tail = run_heed(folder, train);
  CHECK_THAT(tail.out, Contains("text      texts, ") && Contains("the last tenth is for validation"));
  const Outcome documents = run_heed(folder, train + " --split document");
  CHECK_THAT(documents.out, Contains(" of 12 documents "));
  CHECK(validation_loss(documents) != validation_loss(tail));
  CHECK(last_line(run_heed(folder, train + " --split document").out).find("val_loss") != std::string::npos);
  const std::string parts =
      " --data '" + (folder / "texts/0") + "' --data '" + (folder / "texts/1/1.txt") + "'";
  CHECK_THAT(run_heed(folder, "train" + tiny_options + parts).out, Contains("text      5 files, "));
  const double packed = validation_loss(run_heed(folder, train + " --split document --pack"));
  CHECK(packed != validation_loss(documents));
  put(folder / "run.json",
      R"({"data": [")" + (folder / "texts") + R"("], "split": "document", "pack": true})");
  const std::string config = "train --json" + tiny_options + " --config '" + (folder / "run.json") + "'";
  CHECK(validation_loss(run_heed(folder, config)) == packed);
  put(folder / "texts/bad.txt", "caf\xE9 caf\xE9");
  const Outcome bad = run_heed(folder, train);
  CHECK(bad.status == 2);
  CHECK_THAT(bad.err, Contains("bad.txt") && Contains("not UTF-8"));
  CHECK(run_heed(folder, train + " --tokenizer byte").status == 0);
  for (const char* flag : {"--split half", "--source nothing"}) {
    const Outcome refused = run_heed(folder, train + " " + flag);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, Contains(std::string(flag, 7)));
  }
  put(folder / "wrong.json", R"({"data": "texts"})");
  CHECK_THAT(run_heed(folder, "train --config '" + (folder / "wrong.json") + "'").err,
             Contains("bad value of data"));
}

TEST_CASE("training on a token file is training on its text") {
  const Folder folder;
  put_documents(folder);
  const std::string data = " --data '" + (folder / "texts") + "'";
  const std::string out = folder / "tokens";
  const Outcome made = run_heed(folder, "tokenize --vocab-size 270 --out '" + out + "'" + data);
  CHECK(made.status == 0);
  CHECK_THAT(made.out, Contains("in 12 documents"));
  CHECK_THAT(made.err, Contains("tokenize "));
  const std::string tokenizer =
      " --split document --json --tokenizer '" + out + "/tokenizer.json'" + tiny_options;
  const double loss = validation_loss(run_heed(folder, "train" + data + tokenizer));
  CHECK(validation_loss(run_heed(folder, "train --data '" + out + "/tokens.bin'" + tokenizer)) == loss);

  const std::string from_file = "train --data '" + out + "/tokens.bin'" + tiny_options;
  for (const auto& [name, part] : {std::pair("byte", "another tokenizer"), {"char", "--tokenizer char"}}) {
    const Outcome refused = run_heed(folder, from_file + " --tokenizer " + name);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, Contains(part));
  }
  std::string bytes = contents(out + "/tokens.bin");
  bytes[50] = static_cast<char>(bytes[50] ^ 1);
  put(out + "/tokens.bin", bytes);
  const Outcome damaged = run_heed(folder, "train --data '" + out + "/tokens.bin'" + tokenizer);
  CHECK(damaged.status == 2);
  CHECK_THAT(damaged.err, Contains("tokens.bin") && Contains("checksum"));
  put(folder / "empty", "");
  CHECK(run_heed(folder, "tokenize --out '" + out + "' --data '" + (folder / "empty") + "'").status == 2);
  CHECK(run_heed(folder, "tokenize --vocab-size 9 --out '" + out + "'" + data).status == 2);
  const Outcome nowhere = run_heed(folder, "tokenize --out '" + (folder / "empty/x") + "'" + data);
  CHECK(nowhere.status == 2);
  CHECK_THAT(nowhere.err, Contains("empty/x"));
}

TEST_CASE("the induction source has a floor, in windows that begin with a document") {
  const Folder folder;
  const Outcome outcome = run_heed(folder, "train --source induction" + tiny_options);
  CHECK(outcome.status == 0);
  // Four digits of a first round, ln 8 each, and four letters that are no surprise.
  CHECK_THAT(outcome.out, Contains("induction source") && Contains("floor     1.040 nats"));
  CHECK_THAT(run_heed(folder, "train --source induction --pack" + tiny_options).out, !Contains("floor"));
}

TEST_CASE("training on token shards is training on their tokens", "[fault-34]") {
  const Folder folder;
  const std::string text = sample_text();
  put(folder / "text.txt", text);
  const auto put_shard = [&](const std::string& name, const std::string& bytes, std::size_t width) {
    std::string shard;
    for (const char c : bytes) shard += c + std::string(width - 1, '\0');
    put(folder / name, shard);
    return " --data '" + (folder / name) + "'";
  };
  const std::string train = "train --json --tokenizer byte" + tiny_options;
  const double loss = validation_loss(run_heed(folder, train + " --data '" + (folder / "text.txt") + "'"));
  CHECK(validation_loss(run_heed(folder, train + put_shard("narrow.bin", text, 2))) == loss);
  const std::string wide = put_shard("wide.bin", text, 4);
  CHECK(validation_loss(run_heed(folder, train + wide + " --token-bytes 4")) == loss);
  const std::string two =
      put_shard("1.bin", text.substr(0, 300), 2) + put_shard("2.bin", text.substr(300), 2);
  const Outcome several = run_heed(folder, train + two);
  CHECK(validation_loss(several) == loss);
  CHECK_THAT(several.out, Contains("text      2 files, 840 bytes"));

  const auto refused = [&](const std::string& arguments, const std::string& part) {
    CAPTURE(arguments);
    const Outcome outcome = run_heed(folder, arguments);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, Contains(part));
  };
  refused(train + wide, "wide.bin' has 0 in every second place, as tokens of 4 bytes would");
  put(folder / "odd.bin", text + "x");
  refused(train + " --data '" + (folder / "odd.bin") + "'", "has 841 bytes, which are no whole tokens of 2");
  put(folder / "text.bin", text);  // 'c' and 'a' are 0x6163
  refused(train + " --data '" + (folder / "text.bin") + "'",
          "has token 24931 at position 0, read as numbers of 2 bytes; expected ids 0 to 255");
  refused(train + wide + " --data '" + (folder / "text.txt") + "'", "holds tokens and cannot be joined");
  refused(train + " --data '" + (folder / "text.txt") + "' --token-bytes 2",
          "--token-bytes without files of tokens");
  refused(train + wide + " --token-bytes 3", "--token-bytes is 3; expected 2, 4, or 0");
  refused("train" + tiny_options + wide, "a token file is not text");
}

TEST_CASE("a byte-order mark is no token, and one line says so", "[fault-49]") {
  const Folder folder;
  put(folder / "plain.txt", sample_text());
  put(folder / "marked.txt", "\xEF\xBB\xBF" + sample_text());
  const auto with = [&](const std::string& command, const std::string& name) {
    return run_heed(folder, command + " --data '" + (folder / name) + "'");
  };
  const std::string said =
      "'" + (folder / "marked.txt") + "' begins with a byte-order mark, which is left out\n";
  for (const char* tokenizer : {"char", "byte"}) {
    const std::string train = std::string("train --json --tokenizer ") + tokenizer + tiny_options;
    const Outcome plain = with(train, "plain.txt");
    const Outcome marked = with(train, "marked.txt");
    CHECK(validation_loss(marked) == validation_loss(plain));
    CHECK_THAT(marked.err, Catch::StartsWith("heed: " + said));
    CHECK_THAT(plain.err, !Contains("mark"));
  }
  const std::string tokens = folder / "tokens";
  const Outcome made = with("tokenize --tokenizer byte --out '" + tokens + "'", "marked.txt");
  CHECK_THAT(made.err, Contains(said));
  CHECK_THAT(made.out, Contains("tokens    840 bytes"));
  const std::string model = "eval '" HEED_SOURCE_DIR "/tests/fixtures/gpt2' '";
  put(folder / "plain.txt", "to be, or not");
  put(folder / "marked.txt", "\xEF\xBB\xBFto be, or not");
  const Outcome marked = run_heed(folder, model + (folder / "marked.txt") + "'");
  CHECK(marked.out == run_heed(folder, model + (folder / "plain.txt") + "'").out);
  CHECK_THAT(marked.err, Contains(said));
}

TEST_CASE("a misspelt kind of tokenizer is told the kinds there are", "[fault-49][fault-38]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string rest = " --data '" + (folder / "text.txt") + "' --tokenizer ";
  const std::string kinds = "; expected char, byte, bpe, or the path of a tokenizer.json\n";
  for (const std::string command : {"train", "verify", "tokenize --out x"}) {
    CHECK(run_heed(folder, command + rest + "word").err ==
          "heed: --tokenizer: 'word' is no kind of tokenizer, and there is no such file" + kinds);
    const Outcome near = run_heed(folder, command + rest + "bytes");
    CHECK(near.status == 2);
    CHECK(near.err ==
          "heed: --tokenizer: 'bytes' is no kind of tokenizer, and there is no such file, did you mean "
          "byte?" +
              kinds);
  }
}
