#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <heed/io/safetensors.h>

#include "compare.h"

namespace heed::conformance {

/// One operation of a case. An empty name stands for an optional operand or
/// result that is left out.
struct Node {
  std::string op;
  std::string domain;
  std::int64_t opset = 0;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  nlohmann::json attributes;
};

/// One file: operands, operations and the values they must give.
struct Case {
  std::string name;
  std::string suite;
  std::vector<Node> nodes;  // in order of execution; one unless the case is a graph
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> cotangents;
  std::vector<std::string> gradients;
  bool second = false;
  bool random = false;
  Bound bound;
  io::SafetensorsFile file;
};

/// Throws IoError naming the file where it is no case.
Case load_case(const std::filesystem::path& path);

}  // namespace heed::conformance
