// Mutating texts. See text_mutator.h.
#include "text_mutator.h"

#include <algorithm>
#include <cctype>

namespace text_mutator {

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

namespace {

/// Names, numbers, spaces, and single other characters.
std::vector<std::string> split(const std::string& text) {
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

}  // namespace

std::string Mutator::nextBytes() {
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

std::string Mutator::nextTokens() {
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

void Mutator::mutate(std::string& text) {
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

}  // namespace text_mutator
