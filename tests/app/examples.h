#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program.h"

inline const std::string tiny_run =
    " --layers 1 --heads 2 --embd 8 --context 8 --batch 2 --steps 3 --warmup 1 --eval-every 0";

// The names that the program's help lists.
inline std::vector<std::string> command_names(const Folder& folder) {
  std::istringstream help(run_heed(folder, "--help").out);
  std::vector<std::string> names;
  std::string line;
  while (std::getline(help, line) && line != "Commands:") continue;
  while (std::getline(help, line) && line.starts_with("  "))
    names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

// Each command with arguments under which it does all that it can, and, in the folder, what they name.
inline std::map<std::string, std::string> examples(const Folder& folder) {
  const auto quoted = [&](const std::string& name) { return " '" + (folder / name) + "'"; };
  const std::string model = " '" HEED_SOURCE_DIR "/tests/fixtures/gpt2'";
  const std::string data = " --data" + quoted("text.txt");
  put(folder / "text.txt", sample_text());
  put(folder / "plain.txt", "to be, or not to be");
  REQUIRE(run_heed(folder, "train" + data + " --out" + quoted("run") + tiny_run).status == 0);
  return {{"train", data + " --out" + quoted("trained") + tiny_run},
          {"generate", model + " --tokens 3"},
          {"eval", model + quoted("plain.txt") + " --json"},
          {"report", quoted("run")},
          {"attend", quoted("run") + " tea"},
          {"tokenize", data + " --tokenizer byte --out" + quoted("tokens")},
          {"import", model + " --out" + quoted("imported")},
          {"export", model + " --out" + quoted("exported")},
          {"verify", data + " --layers 1 --heads 2 --embd 8 --context 8 --batch 2 --steps 2"}};
}
