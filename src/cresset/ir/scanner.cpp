#include "cresset/ir/scanner.h"

#include "cresset/support/error.h"

namespace cresset {

namespace {

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

std::string describeKind(int kind) {
  switch (kind) {
    case IrToken::End:
      return "the end of the text";
    case IrToken::Name:
      return "a name";
    case IrToken::Value:
      return "a value (%name)";
    case IrToken::Number:
      return "a number";
    case IrToken::String:
      return "a string";
    case IrToken::Arrow:
      return "'->'";
    case IrToken::Dots:
      return "'...'";
    case IrToken::Scope:
      return "'::'";
    default:
      return std::string("'") + static_cast<char>(kind) + "'";
  }
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

}  // namespace

IrScanner::IrScanner(std::shared_ptr<const Source> source, uint32_t begin)
    : source_(std::move(source)), text_(source_->text()) {
  if (text_.size() >= UINT32_MAX) throw UserError("The text is longer than 4 GiB.");
  current_ = scan(begin, &comment_);
}

IrToken IrScanner::scan(uint32_t from, std::string_view* comment) const {
  if (comment) *comment = {};
  const size_t size = text_.size();
  size_t i = from;
  auto peek = [&](size_t k) { return k < size ? text_[k] : '\0'; };
  bool same_line = true;
  for (; i < size; ++i) {
    char c = text_[i];
    if (c == '\n') {
      same_line = false;
    } else if (c == '#') {
      size_t line_end = std::min(text_.find('\n', i), size);
      if (comment && same_line) *comment = trim(text_.substr(i + 1, line_end - i - 1));
      i = line_end - 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      break;
    }
  }
  IrToken token;
  token.begin = static_cast<uint32_t>(i);
  auto finish = [&](int kind, size_t end) {
    token.kind = kind;
    token.end = static_cast<uint32_t>(end);
    return token;
  };
  auto nameEnd = [&](size_t k) {
    while (k < size && (isLetter(text_[k]) || isDigit(text_[k]) ||
                        (text_[k] == '.' && (isLetter(peek(k + 1)) || isDigit(peek(k + 1)))))) {
      ++k;
    }
    return k;
  };
  if (i >= size) return finish(IrToken::End, i);
  char c = text_[i];
  if (isLetter(c)) return finish(IrToken::Name, nameEnd(i));
  if (c == '%' && (isLetter(peek(i + 1)) || isDigit(peek(i + 1)))) {
    size_t end = nameEnd(i + 1);
    while (peek(end) == '.') ++end;  // a name may end in dots; nothing else that follows a value begins with one
    return finish(IrToken::Value, end);
  }
  if (isDigit(c) || (c == '.' && isDigit(peek(i + 1)))) {
    size_t end = i;
    while (isDigit(peek(end))) ++end;
    if (peek(end) == '.') {
      ++end;
      while (isDigit(peek(end))) ++end;
    }
    if (peek(end) == 'e' || peek(end) == 'E') {
      size_t digits = end + 1 + (peek(end + 1) == '+' || peek(end + 1) == '-');
      if (isDigit(peek(digits))) {
        end = digits;
        while (isDigit(peek(end))) ++end;
      }
    }
    if (peek(end) == 'j') ++end;
    return finish(IrToken::Number, end);
  }
  if (c == '"' || c == '\'') {
    for (size_t k = i + 1; k < size && text_[k] != '\n'; ++k) {
      if (text_[k] == '\\') {
        ++k;
      } else if (text_[k] == c) {
        return finish(IrToken::String, k + 1);
      }
    }
    finish(IrToken::String, i + 1);
    fail("The string has no end on its line", token);
  }
  if (c == '-' && peek(i + 1) == '>') return finish(IrToken::Arrow, i + 2);
  if (c == ':' && peek(i + 1) == ':') return finish(IrToken::Scope, i + 2);
  if (text_.substr(i, 3) == "...") return finish(IrToken::Dots, i + 3);
  if (std::string_view("()[]{},:=.*?!|<>-+;").find(c) == std::string_view::npos) {
    finish(0, i + 1);
    fail("Unexpected character", token);
  }
  return finish(c, i + 1);
}

int IrScanner::lookahead() const {
  return scan(current_.end, nullptr).kind;
}

IrToken IrScanner::next() {
  IrToken token = current_;
  if (token.kind != IrToken::End) current_ = scan(token.end, &comment_);
  return token;
}

bool IrScanner::nextIf(int kind) {
  if (current_.kind != kind) return false;
  next();
  return true;
}

bool IrScanner::nextIfName(std::string_view name) {
  if (!atName(name)) return false;
  next();
  return true;
}

IrToken IrScanner::expect(int kind) {
  if (current_.kind != kind) reportExpected(describeKind(kind));
  return next();
}

IrToken IrScanner::expectName(std::string_view name) {
  if (!atName(name)) reportExpected("'" + std::string(name) + "'");
  return next();
}

void IrScanner::reportExpected(const std::string& what) const {
  std::string found =
      current_.kind == IrToken::End ? describeKind(IrToken::End) : "'" + std::string(range(current_).text()) + "'";
  fail("expected " + what + " but found " + found + " here:", current_);
}

void IrScanner::fail(const std::string& message, const IrToken& token) const {
  throw UserError(message, range(token));
}

std::string_view IrScanner::text(const IrToken& token) const {
  size_t skip = token.kind == IrToken::Value ? 1 : 0;
  return text_.substr(token.begin + skip, token.end - token.begin - skip);
}

}  // namespace cresset
