// What the commands of text tests do.
#pragma once

#include <string>

#include "filetest_file.h"

namespace cresset::tools {

/// The commands and what they do, for --help.
std::string describeCommands();

struct Outcome {
  bool passed = false;
  std::string output;     // what the expect section would have to say
  std::string complaint;  // why it failed
};

/// Runs a test.
Outcome runTest(const TestFile& test);

}  // namespace cresset::tools
