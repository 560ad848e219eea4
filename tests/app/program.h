#pragma once

#include <cstdlib>
#include <string>

#include <sys/wait.h>

#include "folder.h"

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

// Runs heed in a shell; the outputs go through files of `folder`.
inline Outcome run_heed(const Folder& folder, const std::string& arguments, const std::string& prefix = {}) {
  const std::string program = std::string(HEED_BIN_DIR) + "/heed";
  const std::string out = folder / "stdout";
  const std::string err = folder / "stderr";
  const std::string command = prefix + "'" + program + "' " + arguments + " >'" + out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
}
