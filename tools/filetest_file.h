// A text test: a file with a command, an input and what must come out of it.
//
//   # run: parse-ir
//   graph(%x : int):
//     return (%x)
//   # ---- expect
//   graph(%x : int):
//     return (%x)
//
// Instead of an expect section, the line of the input that causes an error may say so: `…  # error: part of the
// message`.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cresset::tools {

struct TestFile {
  std::filesystem::path path;
  std::string command;    // what follows "# run:"
  std::string input;      // without the `# error:` comments
  size_t first_line = 1;  // of the input in the file
  std::optional<std::string> expected;
  std::map<size_t, std::string> errors;  // by line in the file
  std::string head;                      // all of the file before the expect section

  /// Throws std::runtime_error if the file is no test.
  static TestFile read(const std::filesystem::path& path);
  /// Writes the file with another expect section.
  void bless(const std::string& output) const;
};

/// The lines that differ, with two lines around them; "" if there are none.
std::string difference(const std::string& expected, const std::string& actual);
std::vector<std::string> splitLines(const std::string& text);

}  // namespace cresset::tools
