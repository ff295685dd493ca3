// String literals: where they end, what they mean, how to write them.
//
// The end of an f-string depends on the replacement fields in it, which may hold strings of their own, so scanning
// for the end and splitting into pieces share `skipField`. All scans are linear; nesting is limited, because each
// level of it is a call.
#include "cresset/support/string_literal.h"

#include <cctype>

#include "cresset/support/error.h"

namespace cresset {
namespace {

constexpr size_t npos = std::string_view::npos;
constexpr const char* kUnmatchedBrace = "an f-string's '{' has no matching '}'";

constexpr const char* kWrongConversion = "an f-string's conversion must be !r, !s or !a";

constexpr int kMaxFormatNesting = 20;

size_t skipBody(std::string_view text, size_t at, const StringPrefix& prefix, int depth);

bool closesAt(std::string_view text, size_t at, const StringPrefix& prefix) {
  if (at + prefix.quotes > text.size()) return false;
  for (size_t i = 0; i < prefix.quotes; ++i) {
    if (text[at + i] != prefix.quote) return false;
  }
  return true;
}

bool isNameByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
}

/// `at` stands on the first character of an expression in a replacement field. Returns the offset of what ends it: `}`,
/// `:`, a `!` that begins a conversion, or npos.
size_t skipExpression(std::string_view text, size_t at, int depth) {
  size_t brackets = 0;
  bool after_name = false;  // a prefix letter that continues a name is no prefix
  for (size_t i = at; i < text.size();) {
    char c = text[i];
    StringPrefix nested;
    if (!after_name && readStringPrefix(text, i, nested)) {
      i = skipBody(text, i + nested.length + nested.quotes, nested, depth + 1);
      if (i == npos) return npos;
      continue;
    }
    after_name = isNameByte(c);
    if (c == '(' || c == '[' || c == '{') {
      ++brackets;
    } else if (brackets > 0) {
      if (c == ')' || c == ']' || c == '}') --brackets;
    } else if (c == '}' || c == ':') {
      return i;
    } else if (c == '!') {
      if (i + 1 >= text.size() || text[i + 1] != '=') return i;
      ++i;
    }
    ++i;
  }
  return npos;
}

/// `at` stands after the `{` of a replacement field. Returns the offset after its `}`, or npos.
size_t skipField(std::string_view text, size_t at, const StringPrefix& prefix, int depth) {
  if (depth > kMaxFormatNesting) return npos;
  size_t i = skipExpression(text, at, depth);
  if (i == npos) return npos;
  if (text[i] == '!') {
    while (i < text.size() && text[i] != ':' && text[i] != '}') {
      if (closesAt(text, i, prefix)) return npos;
      ++i;
    }
    if (i >= text.size()) return npos;
  }
  if (text[i] == '}') return i + 1;
  for (++i; i < text.size();) {
    if (closesAt(text, i, prefix)) return npos;
    if (text[i] == '}') return i + 1;
    if (text[i] == '{') {
      i = skipField(text, i + 1, prefix, depth + 1);
      if (i == npos) return npos;
    } else {
      ++i;
    }
  }
  return npos;
}

/// `at` stands after the opening quotes. Returns the offset after the closing ones, or npos.
size_t skipBody(std::string_view text, size_t at, const StringPrefix& prefix, int depth) {
  if (depth > kMaxFormatNesting) return npos;
  for (size_t i = at; i < text.size();) {
    char c = text[i];
    if (c == '\\') {
      // Raw strings keep the backslash, but a quote after it does not end them either.
      i += i + 2 < text.size() && text[i + 1] == '\r' && text[i + 2] == '\n' ? 3 : 2;
    } else if (c == prefix.quote && closesAt(text, i, prefix)) {
      return i + prefix.quotes;
    } else if ((c == '\n' || c == '\r') && prefix.quotes == 1) {
      return npos;
    } else if (c == '{' && prefix.format) {
      if (i + 1 < text.size() && text[i + 1] == '{') {
        i += 2;
      } else {
        i = skipField(text, i + 1, prefix, depth);
        if (i == npos) return npos;
      }
    } else {
      ++i;
    }
  }
  return npos;
}

SourceRange part(const SourceRange& whole, size_t begin, size_t end) {
  return {whole.source, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

/// The pieces of source text [begin, end): the body of an f-string, or (`in_spec`) a format spec.
std::vector<FormatPiece> splitPieces(
    const SourceRange& literal, const StringPrefix& prefix, size_t begin, size_t end, bool in_spec, int depth) {
  std::string_view text(literal.source->text().data(), end);
  if (depth > kMaxFormatNesting) throw UserError("f-string fields are nested too deeply", literal);
  std::vector<FormatPiece> pieces;
  size_t literal_begin = begin;
  auto flush = [&](size_t to) {
    if (to > literal_begin) pieces.push_back({.field = false, .text = part(literal, literal_begin, to)});
  };
  for (size_t i = begin; i < end;) {
    char c = text[i];
    if (c == '\\') {
      i += 2;
      continue;
    }
    if (!in_spec && (c == '{' || c == '}') && i + 1 < end && text[i + 1] == c) {
      flush(i + 1);  // one brace of the two
      literal_begin = i += 2;
      continue;
    }
    if (c == '}') throw UserError("a single '}' in an f-string must be written '}}'", part(literal, i, i + 1));
    if (c != '{') {
      ++i;
      continue;
    }
    flush(i);
    FormatPiece piece{.field = true};
    size_t open = i, stop = skipExpression(text, i + 1, depth);
    if (stop == npos) throw UserError(kUnmatchedBrace, part(literal, open, open + 1));
    size_t expression_end = stop;
    // `{x=}`: an `=` last in the expression, spaces aside, which is not the end of an operator.
    size_t last = expression_end;
    while (last > open + 1 && std::isspace(static_cast<unsigned char>(text[last - 1]))) --last;
    if (last > open + 2 && text[last - 1] == '=' && std::string_view("=!<>").find(text[last - 2]) == npos) {
      piece.self_documenting = true;
      piece.label = part(literal, open + 1, expression_end);
      expression_end = last - 1;
    }
    piece.text = part(literal, open + 1, expression_end);
    if (piece.text.text().find_first_not_of(" \t\r\n\f") == npos) {
      throw UserError(
          "an f-string's braces hold no expression; write '{{}}' for braces", part(literal, open, stop + 1));
    }
    i = stop;
    if (text[i] == '!') {
      if (i + 1 >= end || std::string_view("rsa").find(text[i + 1]) == npos) {
        throw UserError(kWrongConversion, part(literal, i, std::min(i + 2, end)));
      }
      piece.conversion = text[i + 1];
      i += 2;
      while (i < end && std::isspace(static_cast<unsigned char>(text[i]))) ++i;
      if (i >= end || (text[i] != ':' && text[i] != '}')) {
        throw UserError(kWrongConversion, part(literal, stop, std::min(i + 1, end)));
      }
    }
    if (text[i] == ':') {
      size_t spec_begin = ++i;
      while (i < end && text[i] != '}') i = text[i] == '{' ? skipField(text, i + 1, prefix, depth + 1) : i + 1;
      if (i >= end) throw UserError(kUnmatchedBrace, part(literal, open, open + 1));
      piece.has_spec = true;
      piece.spec = splitPieces(literal, prefix, spec_begin, i, true, depth + 1);
    }
    pieces.push_back(std::move(piece));
    literal_begin = ++i;
  }
  flush(end);
  return pieces;
}

}  // namespace

bool readStringPrefix(std::string_view text, size_t at, StringPrefix& prefix) {
  StringPrefix p;
  size_t i = at;
  bool unicode = false;
  for (; i < text.size() && i < at + 3; ++i) {
    char c = static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
    if (c == 'r' && !p.raw && !unicode) {
      p.raw = true;
    } else if (c == 'f' && !p.format && !p.bytes && !unicode) {
      p.format = true;
    } else if (c == 'b' && !p.format && !p.bytes && !unicode) {
      p.bytes = true;
    } else if (c == 'u' && i == at) {
      unicode = true;
    } else {
      break;
    }
  }
  if (i >= text.size() || (text[i] != '"' && text[i] != '\'')) return false;
  p.length = i - at;
  p.quote = text[i];
  p.quotes = 3;
  if (!closesAt(text, i, p)) p.quotes = 1;
  prefix = p;
  return true;
}

size_t endOfString(std::string_view text, size_t at, const StringPrefix& prefix) {
  return skipBody(text, at + prefix.length + prefix.quotes, prefix, 0);
}

std::string decodeString(const SourceRange& range, bool raw) {
  std::string_view s = range.text();
  std::string out;
  out.reserve(s.size());
  auto bad = [&](size_t begin, size_t end, const std::string& why) {
    throw UserError(why, part(range, range.begin + begin, range.begin + std::min(end, s.size())));
  };
  for (size_t i = 0; i < s.size();) {
    char c = s[i];
    if (c == '\r') {  // Python reads every kind of line break as one newline
      i += i + 1 < s.size() && s[i + 1] == '\n' ? 2 : 1;
      out += '\n';
      continue;
    }
    if (c != '\\' || raw) {
      out += c;
      ++i;
      continue;
    }
    size_t begin = i++;
    if (i >= s.size()) bad(begin, i, "a string ends in a backslash");
    c = s[i++];
    switch (c) {
      case '\n':
        break;
      case '\r':
        if (i < s.size() && s[i] == '\n') ++i;
        break;
      case '\\':
      case '\'':
      case '"':
        out += c;
        break;
      case 'a':
        out += '\a';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'v':
        out += '\v';
        break;
      case '0':
      case '1':
      case '2':
      case '3':
      case '4':
      case '5':
      case '6':
      case '7': {
        int value = c - '0';
        for (int digits = 1; digits < 3 && i < s.size() && s[i] >= '0' && s[i] <= '7'; ++digits) {
          value = value * 8 + (s[i++] - '0');
        }
        if (value > 0377) bad(begin, i, "an octal escape must be at most \\377");
        out += static_cast<char>(value);
        break;
      }
      case 'x':
      case 'u':
      case 'U': {
        size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        uint32_t value = 0;
        for (size_t d = 0; d < digits; ++d, ++i) {
          if (i >= s.size() || !std::isxdigit(static_cast<unsigned char>(s[i]))) {
            bad(begin, i + 1,
                std::string("\\") + c + " must be followed by " + std::to_string(digits) + " hexadecimal digits");
          }
          char h = static_cast<char>(std::tolower(static_cast<unsigned char>(s[i])));
          value = value * 16 + static_cast<uint32_t>(h <= '9' ? h - '0' : h - 'a' + 10);
        }
        if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) bad(begin, i, "this escape names no character");
        appendUtf8(out, value);
        break;
      }
      case 'N':
        bad(begin, i, "\\N{…} escapes are not supported; write the character itself, or \\u and its number");
        break;
      default:  // as in Python, an unknown escape stands for itself
        out += '\\';
        out += c;
    }
  }
  return out;
}

std::string parseStringLiteral(const SourceRange& literal) {
  StringPrefix prefix;
  std::string_view text = literal.text();
  if (!readStringPrefix(text, 0, prefix) || text.size() < prefix.length + 2 * prefix.quotes) {
    throw UserError("expected a string literal", literal);
  }
  if (prefix.bytes) {
    throw UserError(kBytesLiteral, literal);
  }
  return decodeString(
      part(literal, literal.begin + prefix.length + prefix.quotes, literal.end - prefix.quotes), prefix.raw);
}

std::vector<FormatPiece> splitFormatString(const SourceRange& literal) {
  StringPrefix prefix;
  CRESSET_CHECK(readStringPrefix(literal.text(), 0, prefix) && prefix.format, "an f-string token");
  size_t begin = literal.begin + prefix.length + prefix.quotes;
  return splitPieces(literal, prefix, begin, literal.end - prefix.quotes, false, 0);
}

void appendUtf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

size_t decodeUtf8(std::string_view s, uint32_t& code_point) {
  if (s.empty()) return 0;
  auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) {
    code_point = first;
    return 1;
  }
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || s.size() < length) return 0;
  uint32_t value = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  // Overlong forms, surrogates and numbers past the last character are no UTF-8.
  if ((length == 3 && value < 0x800) || (length == 4 && value < 0x10000)) return 0;
  if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
  code_point = value;
  return length;
}

std::string quoteString(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    uint32_t code_point = 0;
    size_t length = decodeUtf8(text.substr(i), code_point);
    if (length > 1 && code_point >= 0xa0) {
      out += text.substr(i, length);
      i += length;
      continue;
    }
    ++i;
    switch (c) {
      case '\\':
        out += "\\\\";
        break;
      case '\'':
        out += "\\'";
        break;
      case '"':
        out += "\\\"";
        break;
      case '\a':
        out += "\\a";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\v':
        out += "\\v";
        break;
      default:
        if (c >= 0x20 && c < 0x7f) {
          out += c;
        } else {
          // Three digits always, so that a digit after the escape is not taken for a part of it.
          unsigned char u = static_cast<unsigned char>(c);
          out += '\\';
          out += static_cast<char>('0' + (u >> 6));
          out += static_cast<char>('0' + ((u >> 3) & 7));
          out += static_cast<char>('0' + (u & 7));
        }
    }
  }
  return out + '"';
}

}  // namespace cresset
