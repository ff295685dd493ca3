// cresset-fuzz-syntax: mutated programs must parse or give a UserError with a range, quickly.
//
//   cresset-fuzz-syntax COUNT SEED FILE…
//
// Build it with -DCRESSET_SANITIZE=address,undefined. Prints how many texts parsed, how many were refused and how long
// the slowest took; exit status 1, and the text on standard error, if one broke a rule. The same seed gives the same
// texts.
#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "cresset/frontend/parser.h"
#include "cresset/support/error.h"

using namespace cresset;

namespace {

const std::vector<std::string>& vocabulary() {
  static const auto* words = new std::vector<std::string>{
      "(",
      ")",
      "[",
      "]",
      "{",
      "}",
      "\n",
      "\n  ",
      "\n\t",
      "    ",
      "\\\n",
      "\"",
      "'",
      "\"\"\"",
      "f\"{",
      "}\"",
      "f'{x!r:{y}}'",
      "r'\\'",
      "b'",
      ",",
      ":",
      ";",
      ".",
      "...",
      "=",
      "==",
      ":=",
      "->",
      "**",
      "*",
      "//",
      "@",
      "not ",
      " in ",
      " is ",
      " if ",
      " else ",
      "elif ",
      "for ",
      "while ",
      "def f(x):",
      "class C:",
      "return ",
      "raise ",
      "lambda ",
      "with ",
      " as ",
      "try:",
      "match x:",
      "# type: ",
      "# type: (int) -> int\n",
      "1",
      "0x",
      "1e",
      "1_",
      "2j",
      "None",
      "True",
      "x",
      "self",
      "\\x4",
      "\\N{",
      "\\u12",
      "\xc3\xa9",
      "\xff",
      std::string(1, '\0'),
      "\r",
      "\r\n",
      "\f",
      "{{",
      "}}",
      "!",
      "-",
      "~",
      "<>",
      "import ",
      "del ",
      "assert ",
      "async ",
      "await ",
  };
  return *words;
}

class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, uint64_t seed) : corpus_(std::move(corpus)), random_(seed) {}

  std::string next() {
    std::string text = corpus_[below(corpus_.size())];
    // A window keeps the texts short, so that mutations are dense.
    if (text.size() > 2000 && below(4) != 0) {
      size_t begin = below(text.size() - 1000);
      begin = text.find('\n', begin);
      text = begin == std::string::npos ? text : text.substr(begin + 1, 200 + below(1500));
    }
    for (size_t n = 1 + below(6); n > 0; --n) mutate(text);
    return text;
  }

 private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  void mutate(std::string& text) {
    size_t at = below(text.size() + 1), length = std::min(below(20), text.size() - at);
    switch (below(7)) {
      case 0:
        text.insert(at, vocabulary()[below(vocabulary().size())]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 3:
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
      case 4: {
        const std::string& other = corpus_[below(corpus_.size())];
        text.insert(at, other.substr(below(other.size()), below(60)));
        break;
      }
      case 5:
        text.resize(at);
        break;
      case 6: {
        const std::string& word = vocabulary()[below(vocabulary().size())];
        std::string many;
        for (size_t n = below(300); n > 0; --n) many += word;
        text.insert(at, many);
        break;
      }
    }
  }

  std::vector<std::string> corpus_;
  std::mt19937_64 random_;
};

std::string read(const char* file) {
  std::stringstream buffer;
  buffer << std::ifstream(file, std::ios::binary).rdbuf();
  return buffer.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: cresset-fuzz-syntax COUNT SEED FILE…\n";
    return 2;
  }
  size_t count = std::stoull(argv[1]), parsed = 0, refused = 0, bytes = 0;
  std::vector<std::string> corpus;
  for (int i = 3; i < argc; ++i) corpus.push_back(read(argv[i]));
  Mutator mutator(std::move(corpus), std::stoull(argv[2]));
  double slowest = 0;
  for (size_t i = 0; i < count; ++i) {
    std::string text = mutator.next();
    bytes += text.size();
    std::clock_t start = std::clock();  // processor time: a busy machine is no hang
    try {
      auto source = std::make_shared<const Source>(text, "fuzz.py");
      for (const TreeRef& tree : SourceParser(source).parseStatements()) {
        if (tree->range().end > text.size() || tree->toString(true).empty()) throw std::logic_error("a bad tree");
      }
      ++parsed;
    } catch (const UserError& e) {
      ++refused;
      if (!e.range() || e.range().begin > e.range().end || e.range().end > text.size()) {
        std::cerr << "an error without a place: " << e.what() << "\n" << text << "\n";
        return 1;
      }
    } catch (const std::exception& e) {
      std::cerr << "not a UserError: " << e.what() << "\n" << text << "\n";
      return 1;
    }
    double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    slowest = std::max(slowest, seconds);
    if (seconds > 2) {
      std::cerr << "took " << seconds << " s (" << text.size() << " bytes):\n" << text << "\n";
      return 1;
    }
  }
  std::cout << count << " texts, " << bytes << " bytes: " << parsed << " parsed, " << refused << " refused, slowest "
            << slowest * 1e3 << " ms\n";
}
