// Splits text into tokens, in one pass and on demand.
//
// Layout follows Python's lexical analysis: indentation is compared by columns, with tabs to multiples of eight, and
// again with tabs as one column, so that text whose blocks depend on the width of a tab is refused; blank lines and
// comments do not count; brackets and a backslash join lines. One token of lookahead is kept, and nothing else, so
// that a text of any length costs what is read of it.
#include "cresset/support/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <unordered_map>

#include "cresset/support/error.h"
#include "cresset/support/string_literal.h"

namespace cresset {
namespace {

struct TokenRow {
  const char* name;
  const char* text;
};
constexpr TokenRow kRows[] = {
#define CRESSET_TOKEN_ROW(kind, name, text) {name, text},
    CRESSET_TOKENS(CRESSET_TOKEN_ROW)
#undef CRESSET_TOKEN_ROW
};
constexpr const char* kNotUtf8 = "the text is not UTF-8 here";

constexpr int kNumRows = static_cast<int>(std::size(kRows));

const std::unordered_map<std::string_view, int>& keywordTable() {
  static const auto* table = [] {
    auto* t = new std::unordered_map<std::string_view, int>();
    for (int i = 0; i < kNumRows; ++i) {
      std::string_view text = kRows[i].text;
      if (!text.empty() && std::isalpha(static_cast<unsigned char>(text[0]))) t->emplace(text, TK_FIRST + 1 + i);
    }
    return t;
  }();
  return *table;
}

/// Operators of several characters by their first character, longest first.
using OperatorTable = std::array<std::vector<std::pair<std::string_view, int>>, 128>;
const OperatorTable& operatorTable() {
  static const auto* table = [] {
    auto* t = new OperatorTable();
    for (int i = 0; i < kNumRows; ++i) {
      std::string_view text = kRows[i].text;
      if (text.size() < 2 || text[0] == '#' || std::isalpha(static_cast<unsigned char>(text[0]))) continue;
      (*t)[static_cast<size_t>(text[0])].emplace_back(text, TK_FIRST + 1 + i);
    }
    for (auto& row : *t) {
      std::stable_sort(row.begin(), row.end(), [](auto& a, auto& b) { return a.first.size() > b.first.size(); });
    }
    return t;
  }();
  return *table;
}

bool isNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TK_EOF:
      return "the end of the text";
    case TK_NEWLINE:
      return "the end of the line";
    case TK_INDENT:
      return "an indented line";
    case TK_DEDENT:
      return "the end of a block";
    case TK_STRINGLITERAL:
      return "a string";
    default:
      return "'" + std::string(token.text()) + "'";
  }
}

}  // namespace

bool isNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::string_view tokenNameView(int kind) {
  static const auto* characters = [] {
    auto* c = new std::array<char, 256>();
    for (size_t i = 0; i < c->size(); ++i) (*c)[i] = static_cast<char>(i);
    return c;
  }();
  if (kind > 0 && kind < 256) return {characters->data() + kind, 1};
  int row = kind - TK_FIRST - 1;
  CRESSET_CHECK(row >= 0 && row < kNumRows, "token kind " + std::to_string(kind));
  return kRows[row].name;
}

std::string tokenName(int kind) {
  return std::string(tokenNameView(kind));
}

struct Lexer::Impl {
  struct Indent {
    size_t column, narrow;  // with tabs to multiples of eight, and with tabs as one column
  };

  std::shared_ptr<const Source> source;
  bool layout;
  bool ends_at_dedent;
  std::string_view text;  // up to the end of the part
  size_t pos = 0;
  bool line_start = true;  // the next token is the first of a logical line
  bool in_line = false;    // tokens of a logical line have been given
  std::vector<Indent> indents;
  std::vector<uint32_t> brackets;  // offsets of the open ones
  size_t pending_dedents = 0;
  Token current;
  Token ahead;
  bool has_ahead = false;

  Impl(const SourceRange& part, bool layout, bool ends_at_dedent)
      : source(part.source),
        layout(layout),
        ends_at_dedent(ends_at_dedent),
        text(source->text().data(), part.end),
        pos(part.begin) {
    if (pos == 0 && text.substr(0, 3) == "\xef\xbb\xbf") pos = 3;  // a byte order mark
    current = lex();
  }

  Token token(int kind, size_t begin, size_t end) const { return {kind, range(begin, end)}; }
  SourceRange range(size_t begin, size_t end) const {
    return {source, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  [[noreturn]] void fail(std::string message, size_t begin, size_t end) const {
    throw UserError(std::move(message), range(begin, std::min(end, text.size())));
  }
  char at(size_t i) const { return i < text.size() ? text[i] : '\0'; }
  /// The number of bytes of the line break at `i`, 0 if there is none.
  size_t lineBreak(size_t i) const {
    if (at(i) == '\n') return 1;
    if (at(i) == '\r') return at(i + 1) == '\n' ? 2 : 1;
    return 0;
  }

  /// Skips a comment; a type comment becomes a token.
  bool comment(Token& out) {
    size_t begin = pos;
    while (pos < text.size() && !lineBreak(pos)) ++pos;
    std::string_view body = text.substr(begin + 1, pos - begin - 1);
    size_t i = std::min(body.find_first_not_of(" \t"), body.size());
    if (body.substr(i, 4) != "type") return false;
    const size_t word_end = i + 4;
    i = std::min(body.find_first_not_of(" \t", word_end), body.size());
    // In the text of a Python function, a space before the colon is a mistake, which the parser names.
    if (i == body.size() || body[i] != ':' || (!ends_at_dedent && i != word_end)) return false;
    i = std::min(body.find_first_not_of(" \t", i + 1), body.size());
    size_t end = begin + 1 + body.find_last_not_of(" \t\f") + 1;
    std::string_view type = body.substr(i);
    if (type.empty()) return false;
    if (type.substr(0, 6) == "ignore" && (type.size() == 6 || !isNameCharacter(type[6]))) return false;
    out = token(TK_TYPE_COMMENT, begin, end);
    return true;
  }

  /// Skips to the first token of a logical line and compares its indentation. True if `out` is set to a layout token or
  /// a type comment.
  bool startLine(Token& out) {
    size_t begin = pos;
    Indent indent{0, 0};
    for (;; ++pos) {
      char c = at(pos);
      if (pos >= text.size()) break;
      if (c == ' ') {
        ++indent.column, ++indent.narrow;
      } else if (c == '\t') {
        indent.column = (indent.column / 8 + 1) * 8;
        ++indent.narrow;
      } else if (c == '\f') {
        indent = {0, 0};
      } else if (size_t n = lineBreak(pos)) {
        pos += n - 1;
        begin = pos + 1;
        indent = {0, 0};
      } else if (c == '#') {
        if (comment(out)) return true;
        --pos;  // the loop continues at the line break
      } else if (c == '\\' && lineBreak(pos + 1)) {
        pos += lineBreak(pos + 1);
      } else {
        break;
      }
    }
    if (pos >= text.size()) return false;  // the end closes all blocks
    line_start = false;
    if (indents.empty()) {
      indents.push_back(indent);
      return false;
    }
    const Indent& top = indents.back();
    if ((indent.column > top.column) != (indent.narrow > top.narrow) ||
        (indent.column == top.column) != (indent.narrow == top.narrow)) {
      fail("inconsistent use of tabs and spaces in indentation", begin, pos);
    }
    if (indent.column > top.column) {
      indents.push_back(indent);
      out = token(TK_INDENT, begin, pos);
      return true;
    }
    while (indents.size() > 1 && indents.back().column > indent.column) {
      indents.pop_back();
      ++pending_dedents;
    }
    if (ends_at_dedent && indents.back().column > indent.column) {
      text = text.substr(0, begin);
      pos = begin;
      return false;
    }
    if (indents.back().column != indent.column || indents.back().narrow != indent.narrow) {
      fail("this line's indentation matches no enclosing block", begin, pos);
    }
    return false;
  }

  Token lex() {
    for (;;) {
      if (pending_dedents > 0) {
        --pending_dedents;
        return token(TK_DEDENT, pos, pos);
      }
      if (layout && line_start && brackets.empty()) {
        Token out;
        if (startLine(out)) return out;
        if (pending_dedents > 0) continue;
      }
      skipSpace();
      if (pos >= text.size()) return atEnd();
      if (at(pos) == '#') {
        Token out;
        if (comment(out)) return out;
        continue;
      }
      if (size_t n = lineBreak(pos)) {
        size_t begin = pos;
        pos += n;
        line_start = true;
        in_line = false;
        return token(TK_NEWLINE, begin, pos);
      }
      in_line = true;
      return lexToken();
    }
  }

  void skipSpace() {
    bool joined = !layout || !brackets.empty();
    for (; pos < text.size(); ++pos) {
      char c = text[pos];
      if (c == ' ' || c == '\t' || c == '\f') continue;
      if (joined && lineBreak(pos)) continue;
      if (c == '\\') {
        size_t n = lineBreak(pos + 1);
        if (n == 0) fail("unexpected character after a line continuation", pos, pos + 2);
        if (pos + 1 + n >= text.size()) fail("the text ends in a line continuation", pos, pos + 1);
        pos += n;
        continue;
      }
      break;
    }
  }

  Token atEnd() {
    if (!brackets.empty()) {
      fail(std::string("'") + text[brackets.back()] + "' was never closed", brackets.back(), brackets.back() + 1);
    }
    if (layout && in_line) {
      in_line = false;
      line_start = true;
      return token(TK_NEWLINE, pos, pos);
    }
    if (layout && indents.size() > 1) {
      indents.pop_back();
      return token(TK_DEDENT, pos, pos);
    }
    return token(TK_EOF, pos, pos);
  }

  Token lexToken() {
    char c = text[pos];
    if (isNameStart(c) || c == '"' || c == '\'') {
      StringPrefix prefix;
      if (readStringPrefix(text, pos, prefix)) return lexString(prefix);
      return lexName();
    }
    if (isDigit(c) || (c == '.' && isDigit(at(pos + 1)))) return lexNumber();
    return lexOperator();
  }

  Token lexName() {
    size_t begin = pos;
    while (pos < text.size() && isNameCharacter(text[pos])) ++pos;
    if (pos < text.size() && (text[pos] & 0x80)) badCharacter();
    auto it = keywordTable().find(text.substr(begin, pos - begin));
    if (it != keywordTable().end()) return token(it->second, begin, pos);
    return token(TK_IDENT, begin, pos);
  }

  Token lexString(const StringPrefix& prefix) {
    size_t begin = pos, end = endOfString(text, pos, prefix);
    if (end == std::string_view::npos || end > text.size()) {
      size_t stop = text.find_first_of("\r\n", begin);
      if (stop == std::string_view::npos) stop = text.size();
      if (prefix.format) fail("this f-string, or a field in it, is not closed", begin, stop);
      fail(
          prefix.quotes == 3 ? "expected a valid token, but this triple-quoted string is not closed"
                             : "expected a valid token, but this string is not closed",
          begin, stop);
    }
    if (prefix.bytes) {
      fail(kBytesLiteral, begin, end);
    }
    for (size_t i = begin; i < end;) {
      if (!(text[i] & 0x80)) {
        ++i;
        continue;
      }
      uint32_t code_point = 0;
      size_t n = decodeUtf8(text.substr(i, end - i), code_point);
      if (n == 0) fail(kNotUtf8, i, i + 1);
      i += n;
    }
    pos = end;
    return token(TK_STRINGLITERAL, begin, end);
  }

  /// Digits of `base` from `pos`, with single underscores between them. False if there is none.
  bool digits(int base) {
    auto isDigitOfBase = [&](char c) {
      if (base == 16) return std::isxdigit(static_cast<unsigned char>(c)) != 0;
      return c >= '0' && c < '0' + base;
    };
    if (!isDigitOfBase(at(pos))) return false;
    for (;;) {
      while (isDigitOfBase(at(pos))) ++pos;
      if (at(pos) != '_' || !isDigitOfBase(at(pos + 1))) return true;
      ++pos;
    }
  }

  Token lexNumber() {
    size_t begin = pos;
    char second = static_cast<char>(std::tolower(static_cast<unsigned char>(at(pos + 1))));
    int base = at(pos) != '0' ? 10 : second == 'x' ? 16 : second == 'o' ? 8 : second == 'b' ? 2 : 10;
    if (base != 10) {
      pos += 2;
      if (at(pos) == '_') ++pos;
      if (!digits(base) || isDigit(at(pos))) {
        fail(
            std::string("invalid ") +
                (base == 16  ? "hexadecimal"
                 : base == 8 ? "octal"
                             : "binary") +
                " number",
            begin, pos + 1);
      }
    } else {
      bool is_float = false;
      if (at(pos) != '.') digits(10);
      size_t int_end = pos;
      if (at(pos) == '.') {
        is_float = true;
        ++pos;
        digits(10);
      }
      if (at(pos) == 'e' || at(pos) == 'E') {
        size_t sign = at(pos + 1) == '+' || at(pos + 1) == '-' ? 1 : 0;
        if (isDigit(at(pos + 1 + sign))) {
          is_float = true;
          pos += 1 + sign;
          digits(10);
        }
      }
      if (at(pos) == 'j' || at(pos) == 'J') {
        is_float = true;
        ++pos;
      }
      if (!is_float && text[begin] == '0' &&
          text.substr(begin, int_end - begin).find_first_not_of("0_") != std::string_view::npos) {
        fail("a decimal integer may not start with 0; an octal number is written 0o…", begin, int_end);
      }
    }
    if (isNameCharacter(at(pos)) || (at(pos) & 0x80)) {
      // Python reads `1if x else y`, `0or x`: a keyword may follow at once.
      size_t end = pos;
      while (isNameCharacter(at(end))) ++end;
      std::string_view word = text.substr(pos, end - pos);
      static constexpr std::string_view kAllowed[] = {"and", "else", "for", "if", "in", "is", "not", "or"};
      if (std::find(std::begin(kAllowed), std::end(kAllowed), word) == std::end(kAllowed)) {
        fail("invalid number", begin, std::max(end, pos + 1));
      }
    }
    return token(TK_NUMBER, begin, pos);
  }

  Token lexOperator() {
    char c = text[pos];
    size_t begin = pos;
    if ((c & 0x80) || c < 0x20 || c == 0x7f) badCharacter();
    for (const auto& [op, kind] : operatorTable()[static_cast<size_t>(c)]) {
      if (text.substr(pos, op.size()) == op) {
        pos += op.size();
        return token(kind, begin, pos);
      }
    }
    if (c == '<' && at(pos + 1) == '>') fail("'<>' is not an operator; write '!='", pos, pos + 2);
    static constexpr std::string_view kSingles = "+-*/%@&|^~<>=()[]{},:;.";
    if (kSingles.find(c) == std::string_view::npos) badCharacter();
    ++pos;
    if (layout) {
      if (c == '(' || c == '[' || c == '{') brackets.push_back(static_cast<uint32_t>(begin));
      if (c == ')' || c == ']' || c == '}') closeBracket(c, begin);
    }
    return token(c, begin, pos);
  }

  void closeBracket(char c, size_t begin) {
    if (brackets.empty()) fail(std::string("unmatched '") + c + "'", begin, begin + 1);
    char open = text[brackets.back()];
    if (open != (c == ')' ? '(' : c == ']' ? '[' : '{')) {
      fail(std::string("'") + c + "' does not match the opening '" + open + "'", begin, begin + 1);
    }
    brackets.pop_back();
  }

  [[noreturn]] void badCharacter() const {
    uint32_t code_point = 0;
    size_t n = decodeUtf8(text.substr(pos), code_point);
    if (n == 0) fail(kNotUtf8, pos, pos + 1);
    char number[16];
    std::snprintf(number, sizeof number, "U+%04X", code_point);
    if (n == 1 && code_point >= 0x20 && code_point != 0x7f) {
      fail("invalid character '" + std::string(text.substr(pos, n)) + "'", pos, pos + n);
    }
    std::string what = n > 1 ? "'" + std::string(text.substr(pos, n)) + "' (" + number + ")" : std::string(number);
    fail("invalid character " + what + (n > 1 ? "; names and operators are written in ASCII" : ""), pos, pos + n);
  }
};

Lexer::Lexer(const std::shared_ptr<const Source>& source, bool layout)
    : Lexer(SourceRange{source, 0, static_cast<uint32_t>(source->text().size())}, layout) {}
Lexer::Lexer(const SourceRange& part, bool layout, bool ends_at_dedent)
    : impl_(std::make_unique<Impl>(part, layout, ends_at_dedent)) {}
Lexer::~Lexer() = default;

const Token& Lexer::cur() const {
  return impl_->current;
}

const Token& Lexer::lookahead() {
  if (!impl_->has_ahead) {
    impl_->ahead = impl_->lex();
    impl_->has_ahead = true;
  }
  return impl_->ahead;
}

void Lexer::skip() {
  if (impl_->has_ahead) {
    impl_->current = std::move(impl_->ahead);
    impl_->has_ahead = false;
  } else {
    impl_->current = impl_->lex();
  }
}

Token Lexer::next() {
  // Copied, not moved: if the next token is malformed, this one stays current.
  Token result = impl_->current;
  skip();
  return result;
}

bool Lexer::nextIf(int kind) {
  if (impl_->current.kind != kind) return false;
  skip();
  return true;
}

Token Lexer::expect(int kind) {
  if (impl_->current.kind != kind) reportExpected(std::string(tokenNameView(kind)));
  return next();
}

void Lexer::reportExpected(const std::string& what) {
  std::string message = "expected " + what + " but found " + describe(impl_->current) + " here";
  if (!impl_->brackets.empty()) {
    // A bracket that was forgotten is noticed only lines later.
    uint32_t open = impl_->brackets.back();
    size_t line = impl_->source->lineNumber(open);
    if (line != impl_->source->lineNumber(impl_->current.range.begin)) {
      message += std::string("; the '") + impl_->text[open] + "' of line " + std::to_string(line) + " is not closed";
    }
  }
  throw UserError(std::move(message), impl_->current.range);
}

}  // namespace cresset
