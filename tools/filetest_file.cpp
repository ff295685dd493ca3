// Reading, blessing and comparing text tests; see filetest_file.h.
#include "filetest_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace cresset::tools {
namespace {

constexpr std::string_view kExpect = "# ---- expect";
constexpr std::string_view kRun = "# run:";
constexpr std::string_view kError = "# error:";

std::string strip(const std::string& text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

}  // namespace

std::vector<std::string> splitLines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TestFile TestFile::read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream buffer;
  buffer << in.rdbuf();
  if (!in) throw std::runtime_error(path.string() + ": can't be read");
  std::string text = buffer.str();

  TestFile test;
  test.path = path;
  size_t line = 1, at = 0;
  bool found = false;
  while (at < text.size() && !found) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string current = text.substr(at, end - at);
    if (current.starts_with(kRun)) {
      test.command = strip(current.substr(kRun.size()));
      found = true;
    } else if (!strip(current).empty() && current[0] != '#') {
      break;
    }
    at = std::min(end + 1, text.size());
    ++line;
  }
  if (!found) throw std::runtime_error(path.string() + ": a test begins with a line '# run: COMMAND'");
  test.first_line = line;

  size_t expect = text.find(std::string("\n") + std::string(kExpect), at > 0 ? at - 1 : 0);
  size_t input_end = text.size();
  if (expect != std::string::npos) {
    input_end = expect + 1;
    size_t section = text.find('\n', input_end);
    test.expected = section == std::string::npos ? "" : text.substr(section + 1);
  }
  test.head = text.substr(0, input_end);
  for (const std::string& l : splitLines(text.substr(at, input_end - at))) {
    size_t comment = l.rfind(kError);
    if (comment == std::string::npos) {
      test.input += l;
    } else {
      test.errors[line] = strip(l.substr(comment + kError.size()));
      size_t end = l.find_last_not_of(" \t", comment == 0 ? std::string::npos : comment - 1);
      if (comment > 0 && end != std::string::npos) test.input += l.substr(0, end + 1);
    }
    test.input += '\n';
    ++line;
  }
  if (test.expected && !test.errors.empty()) {
    throw std::runtime_error(path.string() + ": a test has an expect section or '# error:' comments, not both");
  }
  return test;
}

void TestFile::bless(const std::string& output) const {
  std::ofstream out(path, std::ios::binary);
  out << head;
  if (!head.empty() && head.back() != '\n') out << '\n';
  out << kExpect << '\n' << output;
  if (!output.empty() && output.back() != '\n') out << '\n';
}

std::string difference(const std::string& expected, const std::string& actual) {
  std::vector<std::string> want = splitLines(expected), got = splitLines(actual);
  if (want == got) return "";
  size_t front = 0, back = 0;
  size_t shorter = std::min(want.size(), got.size());
  while (front < shorter && want[front] == got[front]) ++front;
  while (back < shorter - front && want[want.size() - 1 - back] == got[got.size() - 1 - back]) ++back;
  constexpr size_t kContext = 2;
  std::string out;
  for (size_t i = front - std::min(front, kContext); i < front; ++i) out += "    " + want[i] + "\n";
  for (size_t i = front; i < want.size() - back; ++i) out += "  - " + want[i] + "\n";
  for (size_t i = front; i < got.size() - back; ++i) out += "  + " + got[i] + "\n";
  for (size_t i = want.size() - back; i < std::min(want.size(), want.size() - back + kContext); ++i) {
    out += "    " + want[i] + "\n";
  }
  return out;
}

}  // namespace cresset::tools
