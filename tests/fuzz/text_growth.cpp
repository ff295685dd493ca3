// text-growth: reads texts that repeat or nest one construct more and more often; the cost must stay in proportion.
// Mutated texts are libFuzzer's (fuzz_texts.cpp).
//
//   syntax   a source is parsed
//   ir       a graph is parsed and verified; then it prints, and what it prints parses back to the same text
//   type, schema   what it prints parses back
//   compile  a source is defined, and all its functions are compiled down to instructions; nothing runs
//
// Prints how many texts were accepted, how many were refused and how long the slowest took; exit status 1, and the text
// on standard error, if one broke a rule.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <iostream>

#include "cresset/support/error.h"
#include "text_readers.h"

using namespace text_readers;
using cresset::UserError;

namespace {

constexpr double kMostSeconds = 5;  // for one text

struct Mode {
  const char* name;
  void (*read)(const std::string&);
};
constexpr Mode kModes[] = {
    {"syntax", readSource}, {"ir", readGraph}, {"type", readType}, {"schema", readSchema}, {"compile", compileSource},
};

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

const Mode& findMode(const std::string& name) {
  return *std::find_if(std::begin(kModes), std::end(kModes), [&](const Mode& m) { return m.name == name; });
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
    check(findMode(r.mode), std::string(r.mode) + " of repeated '" + r.repeated + "'", 4000, [&](size_t n) {
      std::string text = r.before;
      for (size_t i = 0; i < n; ++i) text += r.repeated;
      text += r.middle;
      for (size_t i = 0; i < n; ++i) text += r.closing;
      return text + r.after;
    });
  }
  for (const char* head : {"if x > 0:", "while x > 0:", "for x in range(3):", "with x:", "def g(x):"}) {
    for (size_t depth : {25, 100, 1000})
      check(findMode("compile"), std::string("nested '") + head + "'", depth, [&](size_t n) {
        return nestedBlocks(head, n);
      });
  }
}

}  // namespace

int main() {
  Reader reader;
  checkGrowth(reader);
  reader.print();
  return reader.broken() == 0 ? 0 : 1;
}
