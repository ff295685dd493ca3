// text-mutations: mutated texts must be accepted or raise a UserError, quickly, whatever reads them.
//
//   text-mutations [--mode syntax|ir|type|schema|compile|run-ir|run] COUNT SEED FILE…
//   text-mutations --growth
//
//   syntax   a source is parsed; each error has a place
//   ir       a graph is parsed and verified; then it prints, and what it prints parses back to the same text
//   type     each line is a type, or, for schema, a function schema; what it prints parses back
//   compile  a source is defined, and all its functions are compiled down to instructions; nothing runs
//   run-ir, run   as ir and compile; what is accepted is called, within bounds of time and memory
//   --growth reads texts that repeat or nest one construct more and more often: cost must stay in proportion
//
// Texts that are nearly right go furthest, so all modes but syntax mostly exchange whole tokens rather than bytes.
// FILEs are text tests (their input and what they expect are texts of their own) or anything else; those texts are
// mutated that are accepted as they are. Prints how many texts were accepted, how many were refused and how long the
// slowest took; exit status 1, and the text on standard error, if one broke a rule. The same seed makes the same texts.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cresset/support/error.h"
#include "text_mutator.h"
#include "text_readers.h"

using namespace text_readers;
using cresset::UserError;

namespace {

constexpr double kMostSeconds = 5;  // for one text

struct Mode {
  const char* name;
  void (*read)(const std::string&);
  bool lines;   // each line of the files is a text
  bool tokens;  // exchanges whole tokens
  const std::vector<std::string>& (*words)();
};
constexpr Mode kModes[] = {
    {"syntax", readSource, false, false, text_mutator::sourceWords},
    {"ir", readGraph, false, true, text_mutator::irWords},
    {"type", readType, true, true, text_mutator::irWords},
    {"schema", readSchema, true, true, text_mutator::irWords},
    {"compile", compileSource, false, true, text_mutator::sourceWords},
    {"run-ir", runGraph, false, true, text_mutator::irWords},
    {"run", runSource, false, true, text_mutator::sourceWords},
};

/// The input of a text test and what it expects, each a text; another file is one text.
std::vector<std::string> textsOf(const std::string& file) {
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
bool accepts(const Mode& mode, const std::string& text) {
  try {
    mode.read(text);
    return !text.empty();
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<std::string> readCorpus(const Mode& mode, const std::vector<std::string>& files) {
  std::vector<std::string> corpus;
  for (const std::string& file : files) {
    for (const std::string& text : textsOf(file)) {
      if (!mode.lines) {
        if (accepts(mode, text)) corpus.push_back(text);
        continue;
      }
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);)
        if (accepts(mode, line)) corpus.push_back(line);
    }
  }
  return corpus;
}

/// Reads texts, counts what came of each, and shows those that break a rule.
class Reader {
 public:
  /// The processor time that it took: a busy machine is no hang.
  double read(const Mode& mode, const std::string& text, const std::string& name) {
    bytes_ += text.size();
    ++count_;
    const std::clock_t start = std::clock();
    try {
      mode.read(text);
      ++accepted_;
    } catch (const UserError&) {
      ++refused_;
    } catch (const std::exception& e) {
      fail(name, e.what(), text);
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    slowest_ = std::max(slowest_, seconds);
    if (seconds > kMostSeconds) fail(name, "took " + std::to_string(seconds) + " s", text);
    return seconds;
  }
  void fail(const std::string& name, const std::string& what, const std::string& text) {
    ++broken_;
    std::cerr << "---- " << name << ": " << what << "\n---- of " << text.size() << " bytes\n"
              << text.substr(0, 4000) << "\n";
  }
  size_t broken() const { return broken_; }
  void print() const {
    std::cout << count_ << " texts, " << bytes_ << " bytes: " << accepted_ << " accepted, " << refused_ << " refused, "
              << broken_ << " broke a rule, slowest " << slowest_ * 1e3 << " ms\n";
  }

 private:
  size_t count_ = 0, bytes_ = 0, accepted_ = 0, refused_ = 0, broken_ = 0;
  double slowest_ = 0;
};

// ---- growth ----

/// before + repeated × n + middle + closing × n + after.
struct Repetition {
  const char* mode;
  const char *before, *repeated, *middle, *closing, *after;
};
// clang-format off
constexpr Repetition kRepetitions[] = {
    // one after the other
    {"compile", "def f(x: int):\n", "  x = x + 1\n", "", "", "  return x\n"},
    {"compile", "def f(x: int):\n  return x", " + x", "", "", "\n"},
    {"compile", "def f(x: int):\n  return x", " + 1 if x > 1 else x", "", "", "\n"},
    {"compile", "def f(x: int):\n  return x > 0", " and x > 1", "", "", "\n"},
    {"compile", "def f(x: int):\n  return 0", " < x", "", "", "\n"},
    {"compile", "def f(x: int):\n  return [x", ", x", "", "", "]\n"},
    {"compile", "def f(x: int):\n  return (x", ", x", "", "", ")\n"},
    {"compile", "def f(x: int):\n  return {0: x", ", 1: x", "", "", "}\n"},
    {"compile", "def f(x: int):\n  if x > 0:\n    x = 1\n", "  elif x > 1:\n    x = 2\n", "", "", "  return x\n"},
    {"compile", "def f(x: int):\n", "  if x > 1:\n    x = 2\n", "", "", "  return x\n"},
    {"compile", "def f(x: int):\n", "  if x > 1:\n    return 2\n", "", "", "  return x\n"},
    {"compile", "def f(x: int):\n", "  while x > 1:\n    x -= 2\n", "", "", "  return x\n"},
    {"compile", "def f(x: int):\n  while x > 1:\n", "    if x > 5:\n      break\n    x -= 1\n", "", "", "  return x\n"},
    {"compile", "def f(x: int):\n", "  a = b = c = x\n", "", "", "  return x\n"},
    {"compile", "def f(x: int):\n  return x", " # comment", "", "", "\n"},
    {"compile", "def f():\n  return ", "\"a\" ", "", "", "\n"},
    {"compile", "def f():\n  return \"", "\\n{}", "", "", "\"\n"},
    {"compile", "def f(x: int):\n  return f\"", "{x}", "", "", "\"\n"},
    {"compile", "", "def f(x):\n  return x\n", "", "", ""},
    {"compile", "def f(x):\n  return x", ".t()", "", "", "\n"},
    {"compile", "def f(x):\n  return x", "[0]", "", "", "\n"},
    {"compile", "def f(", "x, ", "", "", "y):\n  return y\n"},
    {"compile", "class C:\n", "  x : int\n", "", "", ""},
    {"syntax", "", "\n", "", "", ""},
    {"syntax", "", "x;", "", "", ""},
    {"syntax", "x", "\\\n", "", "", ""},
    {"syntax", "", "\t\n  \n", "", "", "x"},
    {"syntax", "", "\"\"\"", "", "", ""},
    {"syntax", "", "f'{", "", "", ""},
    {"syntax", "1", "_1", "", "", ""},
    {"syntax", "1", "0", "", "", "e999999999"},
    {"syntax", "0x", "f", "", "", ""},
    {"ir", "graph(%x : int):\n", "  = prim::Print(%x)\n", "", "", "  return (%x)\n"},
    {"ir", "graph(%x : int", ", %x : int", "", "", "):\n  return (%x)\n"},
    {"ir", "graph():\n  %l : str = prim::Constant[value=\"", "\\n", "", "", "\"]()\n  return (%l)\n"},
    {"ir", "graph(%x : int):\n  return (%x", ", %x", "", "", ")\n"},
    {"type", "(int", ", int", "", "", ")"},
    {"type", "Union(int", ", int", "", "", ")"},
    {"type", "Float(1", ", 1", "", "", ")"},
    {"schema", "f(int a", ", *, int a", "", "", ") -> ()"},
    {"schema", "f(", "int a=1, ", "", "", "int b=1) -> ()"},
    {"schema", "f(Tensor(a", "|a", "", "", ") x) -> ()"},
    // one in the other
    {"compile", "def f(x: int):\n  return ", "(", "x", ")", "\n"},
    {"compile", "def f(x: int):\n  return ", "[", "x", "]", "\n"},
    {"compile", "def f(x: int):\n  return ", "(x, ", "x", ")", "\n"},
    {"compile", "def f(x: int):\n  return ", "-", "x", "", "\n"},
    {"compile", "def f(x: int):\n  return ", "not ", "x", "", "\n"},
    {"compile", "def f(x: int):\n  return ", "x if x > 0 else ", "x", "", "\n"},
    {"compile", "def f(x: int):\n  return ", "x ** ", "x", "", "\n"},
    {"compile", "def f(x: int):\n  return ", "max(x, ", "x", ")", "\n"},
    {"compile", "def f(x: int):\n  return ", "[x for x in ", "[x]", "]", "\n"},
    {"compile", "def f(x: int):\n  return ", "{0: ", "x", "}", "\n"},
    {"compile", "def f(x: int):\n  return ", "f\"{", "x", "}\"", "\n"},
    {"compile", "def f(x: int):\n  return ", "lambda x: ", "x", "", "\n"},
    {"compile", "def f(x: ", "List[", "int", "]", "):\n  return x\n"},
    {"compile", "def f(x: ", "Optional[", "int", "]", "):\n  return x\n"},
    {"compile", "def f(x: ", "Tuple[int, ", "int", "]", "):\n  return x\n"},
    {"compile", "def f(x: ", "Union[str, ", "int", "]", "):\n  return x\n"},
    {"ir", "graph(%x : ", "Dict(int, ", "int", ")", "):\n  return (%x)\n"},
    {"type", "", "(", "int", ")", ""},
    {"type", "", "List[", "int", "]", ""},
    {"type", "int", "[]", "", "", ""},
    {"type", "int", "?", "", "", ""},
    {"type", "", "Future(", "int", ")", ""},
    {"type", "", "Union(str, ", "int", ")", ""},
    {"schema", "f(int", "[]", "", "", " a) -> ()"},
    {"schema", "f(int[] a=", "[", "", "]", ") -> ()"},
};
// clang-format on

const Mode* findMode(const std::string& name) {
  const Mode* mode = std::find_if(std::begin(kModes), std::end(kModes), [&](const Mode& m) { return m.name == name; });
  return mode == std::end(kModes) ? nullptr : mode;
}

/// Blocks can't be written as one repeated piece: each stands deeper than the one around it.
std::string nestedBlocks(const char* head, size_t depth) {
  std::string text = "def f(x: int):\n", indent = "  ";
  for (size_t i = 0; i < depth; ++i, indent += " ") text += indent + head + "\n";
  return text + indent + "x = 1\n  return x\n";
}

void checkGrowth(Reader& reader) {
  auto check = [&](const Mode& mode, const std::string& name, size_t small, const auto& make) {
    const std::string few = make(small), many = make(4 * small);
    // The least of a few: the first pays for what is built once.
    double before = 1e9, after = 1e9;
    for (int i = 0; i < 3; ++i) {
      before = std::min(before, reader.read(mode, few, name));
      after = std::min(after, reader.read(mode, many, name));
    }
    // Four times the text; a quadratic cost would be sixteen times, and small ones are noise.
    if (after > 8 * before && after > 0.05)
      reader.fail(
          name,
          "takes " + std::to_string(before * 1e3) + " ms, four times the text " + std::to_string(after * 1e3) + " ms",
          few.substr(0, 200));
  };
  for (const Repetition& r : kRepetitions) {
    check(*findMode(r.mode), std::string(r.mode) + " of repeated '" + r.repeated + "'", 4000, [&](size_t n) {
      std::string text = r.before;
      for (size_t i = 0; i < n; ++i) text += r.repeated;
      text += r.middle;
      for (size_t i = 0; i < n; ++i) text += r.closing;
      return text + r.after;
    });
  }
  for (const char* head : {"if x > 0:", "while x > 0:", "for x in range(3):", "with x:", "def g(x):"}) {
    for (size_t depth : {25, 100, 1000})
      check(*findMode("compile"), std::string("nested '") + head + "'", depth, [&](size_t n) {
        return nestedBlocks(head, n);
      });
  }
}

int usage() {
  std::cerr << "usage: text-mutations [--mode syntax|ir|type|schema|compile|run-ir|run] COUNT SEED FILE…\n"
               "       text-mutations --growth\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  Reader reader;
  if (args.size() == 1 && args[0] == "--growth") {
    checkGrowth(reader);
    reader.print();
    return reader.broken() == 0 ? 0 : 1;
  }
  const Mode* mode = kModes;
  if (args.size() > 2 && args[0] == "--mode") {
    mode = findMode(args[1]);
    args.erase(args.begin(), args.begin() + 2);
  }
  if (args.size() < 3 || !mode) return usage();
  const size_t count = std::stoull(args[0]);
  std::vector<std::string> corpus = readCorpus(*mode, {args.begin() + 2, args.end()});
  if (corpus.empty()) {
    std::cerr << "no text of these files is accepted as it is\n";
    return 2;
  }
  text_mutator::Mutator mutator(std::move(corpus), mode->words(), std::stoull(args[1]));
  // Goes on after a broken rule, so that one run shows several.
  for (size_t i = 0; i < count && reader.broken() < 20; ++i)
    reader.read(
        *mode, mode->tokens && i % 4 != 0 ? mutator.nextTokens() : mutator.nextBytes(), "text " + std::to_string(i));
  reader.print();
  return reader.broken() == 0 ? 0 : 1;
}
