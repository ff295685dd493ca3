// cresset-fuzz: mutated texts must be accepted or give a UserError, quickly, whatever reads them.
//
//   cresset-fuzz [--mode syntax|ir|type|schema|compile] COUNT SEED FILE…
//
//   syntax   a source is parsed; each error has a place
//   ir       a graph is parsed and verified; then it prints, and what it prints parses back to the same text
//   type     each text is a type, or, for schema, a function schema; what it prints parses back
//   compile  a source is defined, and all its functions are compiled down to instructions; nothing runs
//
// Texts that are nearly right go furthest, so all modes but syntax mostly exchange whole tokens rather than bytes.
// FILEs are text tests (their input and what they expect are texts of their own) or anything else; those texts are
// mutated that are accepted as they are. Build it with
// -DCRESSET_SANITIZE=address,undefined. Prints how many texts were accepted, how many were refused and how long the
// slowest took; exit status 1, and the text on standard error, if one broke a rule. The same seed gives the same texts.
#include <ATen/core/function_schema.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "cresset/frontend/compiler.h"
#include "cresset/frontend/parser.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/verifier.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"

using namespace cresset;

namespace {

// clang-format off
const std::vector<std::string>& sourceWords() {
  static const auto* words = new std::vector<std::string>{
      "(", ")", "[", "]", "{", "}", "\n", "\n  ", "\n\t", "    ", "\\\n", "\"", "'", "\"\"\"", "f\"{", "}\"",
      "f'{x!r:{y}}'", "r'\\'", "b'", ",", ":", ";", ".", "...", "=", "==", ":=", "->", "**", "*", "//", "@", "not ",
      " in ", " is ", " if ", " else ", "elif ", "for ", "while ", "def f(x):", "class C:", "return ", "raise ",
      "lambda ", "with ", " as ", "try:", "match x:", "# type: ", "# type: (int) -> int\n", "1", "0x", "1e", "1_",
      "2j", "None", "True", "x", "self", "\\x4", "\\N{", "\\u12", "\xc3\xa9", "\xff", std::string(1, '\0'), "\r",
      "\r\n", "\f", "{{", "}}", "!", "-", "~", "<>", "import ", "del ", "assert ", "async ", "await ",
  };
  return *words;
}

const std::vector<std::string>& irWords() {
  static const auto* words = new std::vector<std::string>{
      "graph(", "):\n", "block0(", "  return (", " : ", " = ", "%x", "%1", "%0 : int = ", "prim::Constant[value=1]()",
      "prim::If(%c)\n    block0():\n      -> ()\n", "prim::Loop(", "aten::add(", "prim::X_0",
      "with prim::X_0 = graph(", "[value=", "[name=\"f\"]", "](", "-> (", "Tensor",
      "Float(2, *, strides=[4, 1], requires_grad=0, device=cpu)", "Float(", "int[]", "int?", "Dict(str, int)",
      "(int, str)", "Union(int, str)", "Future(int)", "__torch__.C", "NoneType", "# f.py:1:0", "CONSTANTS.c0",
      "9223372036854775808", "-1", "1e999", "nan", "1.5j", "annotate(List[int], [])", "Tensor(a!)",
      "Tensor(a|b -> *)[]", "*, ", "...", "=None", "int[2]", "ns::op.overload(", "[", "]", "(", ")", "<", "?", "\"",
      "\n", "\n  ", "\n    ", "\\x", "\xff", std::string(1, '\0'),
  };
  return *words;
}
// clang-format on

class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, const std::vector<std::string>& words, uint64_t seed)
      : corpus_(std::move(corpus)), words_(words), random_(seed) {}

  std::string nextBytes() {
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

  /// A text of the corpus with some tokens exchanged, doubled or lost; tokens come from this text or another.
  std::string nextTokens() {
    std::vector<std::string> tokens = split(corpus_[below(corpus_.size())]);
    // One change is the rule: what is wrong in many places is refused at the first.
    for (size_t n = below(3) == 0 ? 1 + below(4) : 1; n > 0 && !tokens.empty(); --n) {
      size_t at = below(tokens.size()), other = below(tokens.size());
      switch (below(6)) {
        case 0:
          std::swap(tokens[at], tokens[other]);
          break;
        case 1:
          tokens[at] = tokens[other];
          break;
        case 2:
          tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 3: {
          std::vector<std::string> foreign = split(corpus_[below(corpus_.size())]);
          if (!foreign.empty()) tokens[at] = foreign[below(foreign.size())];
          break;
        }
        case 4: {  // a piece of this text again
          std::vector<std::string> piece(
              tokens.begin() + static_cast<std::ptrdiff_t>(other),
              tokens.begin() + static_cast<std::ptrdiff_t>(std::min(tokens.size(), other + 1 + below(12))));
          tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
          break;
        }
        default:
          tokens[at] = words_[below(words_.size())];
      }
    }
    std::string text;
    for (const std::string& token : tokens) text += token;
    return text;
  }

 private:
  /// Names, numbers, spaces, and single other characters.
  static std::vector<std::string> split(const std::string& text) {
    auto kind = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? 1 : c == ' ' ? 2 : 0;
    };
    std::vector<std::string> tokens;
    for (char c : text) {
      if (!tokens.empty() && kind(c) != 0 && kind(c) == kind(tokens.back().back()))
        tokens.back() += c;
      else
        tokens.emplace_back(1, c);
    }
    return tokens;
  }

  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  void mutate(std::string& text) {
    size_t at = below(text.size() + 1), length = std::min(below(20), text.size() - at);
    switch (below(7)) {
      case 0:
        text.insert(at, words_[below(words_.size())]);
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
        const std::string& word = words_[below(words_.size())];
        std::string many;
        for (size_t n = below(300); n > 0; --n) many += word;
        text.insert(at, many);
        break;
      }
    }
  }

  std::vector<std::string> corpus_;
  const std::vector<std::string>& words_;
  std::mt19937_64 random_;
};

/// The input of a text test and what it expects, each a text; another file is one text.
std::vector<std::string> read(const char* file) {
  std::stringstream buffer;
  buffer << std::ifstream(file, std::ios::binary).rdbuf();
  std::string text = buffer.str();
  while (text.compare(0, 6, "# run:") == 0) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  size_t expect = text.find("# ---- expect");
  if (expect == std::string::npos) return {text};
  std::string expected = text.substr(std::min(text.find('\n', expect), text.size() - 1) + 1);
  text.resize(expect);
  return {text, expected};
}

/// Whether a reader takes the text as it is. What it refuses teaches mutations little.
bool accepts(void (*read)(const std::string&), const std::string& text) {
  try {
    read(text);
    return !text.empty();
  } catch (const std::exception&) {
    return false;
  }
}

[[noreturn]] void fail(const std::string& what) {
  throw std::logic_error(what);
}

// Each throws UserError if it refuses the text, and anything else if a rule is broken.

void readSource(const std::string& text) {
  auto source = std::make_shared<const Source>(text, "fuzz.py");
  try {
    for (const TreeRef& tree : SourceParser(source).parseStatements()) {
      if (tree->range().end > text.size() || tree->toString(true).empty()) fail("a bad tree");
    }
  } catch (const UserError& e) {
    if (!e.range() || e.range().begin > e.range().end || e.range().end > text.size()) fail("an error without a place");
    throw;
  }
}

/// What was accepted once is accepted again.
template <typename Read>
void readAgain(const std::string& printed, const Read& read) {
  std::string again;
  try {
    again = read(printed);
  } catch (const UserError& e) {
    fail("what it prints is refused: " + std::string(e.what()) + "\n" + printed);
  }
  if (again != printed) fail("what it prints reads back as something else:\n" + printed + "\nand then\n" + again);
}

void readGraph(const std::string& text) {
  auto graph = parseGraph(text);
  verify(*graph);
  ConstantTable constants;
  readAgain(toString(*graph, {.constants = &constants}), [&](const std::string& printed) {
    auto parsed = parseGraph(printed, {.constants = &constants});
    verify(*parsed);
    ConstantTable again;
    return toString(*parsed, {.constants = &again});
  });
}

void readType(const std::string& text) {
  auto print = [](const std::string& t) { return cresset::toString(*parseType(t, {}, true)); };
  readAgain(print(text), print);
}

void readSchema(const std::string& text) {
  auto print = [](const std::string& t) {
    std::ostringstream out;
    out << parseSchema(t);
    return out.str();
  };
  readAgain(print(text), print);
}

void compileSource(const std::string& text) {
  auto program = Program::make();
  defineSource(*program, std::make_shared<const Source>(text, "fuzz.py"), {});
  for (Function* function : program->functions()) {
    verify(*function->graph());
    function->executable();
  }
}

struct Mode {
  const char* name;
  void (*read)(const std::string&);
  bool lines;   // each line of the files is a text
  bool tokens;  // exchanges whole tokens
  const std::vector<std::string>& (*words)();
};
constexpr Mode kModes[] = {
    {"syntax", readSource, false, false, sourceWords},
    {"ir", readGraph, false, true, irWords},
    {"type", readType, true, true, irWords},
    {"schema", readSchema, true, true, irWords},
    {"compile", compileSource, false, true, sourceWords},
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  const Mode* mode = kModes;
  if (args.size() > 2 && args[0] == "--mode") {
    mode = std::find_if(std::begin(kModes), std::end(kModes), [&](const Mode& m) { return m.name == args[1]; });
    args.erase(args.begin(), args.begin() + 2);
  }
  if (args.size() < 3 || mode == std::end(kModes)) {
    std::cerr << "usage: cresset-fuzz [--mode syntax|ir|type|schema|compile] COUNT SEED FILE…\n";
    return 2;
  }
  size_t count = std::stoull(args[0]), accepted = 0, refused = 0, bytes = 0, broken = 0;
  std::vector<std::string> corpus;
  for (size_t i = 2; i < args.size(); ++i) {
    for (const std::string& text : read(args[i].c_str())) {
      if (!mode->lines) {
        if (accepts(mode->read, text)) corpus.push_back(text);
        continue;
      }
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);)
        if (accepts(mode->read, line)) corpus.push_back(line);
    }
  }
  if (corpus.empty()) {
    std::cerr << "no text of these files is accepted as it is\n";
    return 2;
  }
  Mutator mutator(std::move(corpus), mode->words(), std::stoull(args[1]));
  double slowest = 0;
  // Goes on after a broken rule, so that one run shows several.
  for (size_t i = 0; i < count && broken < 20; ++i) {
    std::string text = mode->tokens && i % 4 != 0 ? mutator.nextTokens() : mutator.nextBytes();
    bytes += text.size();
    std::clock_t start = std::clock();  // processor time: a busy machine is no hang
    try {
      mode->read(text);
      ++accepted;
    } catch (const UserError&) {
      ++refused;
    } catch (const std::exception& e) {
      ++broken;
      std::cerr << "---- text " << i << ": " << e.what() << "\n---- of\n" << text << "\n";
    }
    double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    slowest = std::max(slowest, seconds);
    if (seconds > 5) {
      ++broken;
      std::cerr << "---- text " << i << " took " << seconds << " s (" << text.size() << " bytes):\n" << text << "\n";
    }
  }
  std::cout << count << " texts, " << bytes << " bytes: " << accepted << " accepted, " << refused << " refused, "
            << broken << " broke a rule, slowest " << slowest * 1e3 << " ms\n";
  return broken == 0 ? 0 : 1;
}
