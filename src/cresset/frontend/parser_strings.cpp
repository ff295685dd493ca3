// Strings in programs: adjacent literals, f-strings, and strings that are annotations.
//
// An f-string becomes a call of `format`: f"a{x!r:>{n}}" is "a{!r:>{}}".format(x, n), which evaluates the same
// expressions in the same order. Literal braces become arguments too: f"{{{x}}}" is "{}{}{}".format("{", x, "}").
// Doubled braces, Python's way to write them, would be printed doubled by TorchScript's format, which replaces `{}`
// only.
#include "cresset/frontend/parser_impl.h"

namespace cresset {
namespace {

bool isBrace(char c) {
  return c == '{' || c == '}';
}

}  // namespace

/// The format string and the arguments of a call of `format`. Literal text is collected until a field follows, so that
/// the call does not depend on how the text was split over literals.
struct Parser::FormatCall {
  std::string format;
  std::vector<Expr> arguments;
  std::string literal;
  SourceRange literal_range;

  void add(const std::string& text, const SourceRange& range) {
    literal_range = literal.empty() ? range : SourceRange::cover(literal_range, range);
    literal += text;
  }
  void flush() {
    for (size_t i = 0; i < literal.size();) {
      size_t run = i;
      while (run < literal.size() && isBrace(literal[run]) == isBrace(literal[i])) ++run;
      if (isBrace(literal[i])) {
        arguments.push_back(StringLiteral::make(literal_range, literal.substr(i, run - i)));
        format += "{}";
      } else {
        format.append(literal, i, run - i);
      }
      i = run;
    }
    literal.clear();
  }
};

Expr Parser::strings() {
  uint32_t start = begin();
  struct Piece {
    SourceRange range;
    StringPrefix prefix;
    std::vector<FormatPiece> fields;  // of an f-string
  };
  std::vector<Piece> pieces;
  bool has_fields = false;
  while (at(TK_STRINGLITERAL)) {
    Piece piece{here(), {}, {}};
    readStringPrefix(piece.range.text(), 0, piece.prefix);
    if (piece.prefix.format) {
      piece.fields = splitFormatString(piece.range);
      for (const FormatPiece& f : piece.fields) has_fields |= f.field;
    }
    pieces.push_back(std::move(piece));
    advance();
  }
  SourceRange range = since(start);
  if (in_annotation_ && !has_fields && pieces.size() == 1 && !pieces[0].prefix.format) {
    const Piece& p = pieces[0];
    SourceRange inner = p.range;
    inner.begin += static_cast<uint32_t>(p.prefix.length + p.prefix.quotes);
    inner.end -= static_cast<uint32_t>(p.prefix.quotes);
    if (inner.text().find('\\') != std::string_view::npos) {
      fail("an annotation in a string can't hold a backslash", p.range);
    }
    return annotationIn(inner);
  }

  if (!has_fields) {
    std::string value;
    for (const Piece& p : pieces) {
      if (!p.prefix.format) value += parseStringLiteral(p.range);
      for (const FormatPiece& f : p.fields) value += decodeString(f.text, p.prefix.raw);
    }
    return StringLiteral::make(range, std::move(value));
  }
  FormatCall result;
  for (const Piece& p : pieces) {
    if (p.prefix.format) {
      appendFormat(p.fields, p.prefix.raw, false, result);
    } else {
      result.add(parseStringLiteral(p.range), p.range);
    }
  }
  result.flush();
  Expr callee = Select::make(range, StringLiteral::make(range, result.format), Ident::make(range, "format"));
  return Apply::make(range, callee, list(range, result.arguments), ListView<Attr>::make(range, {}));
}

void Parser::appendFormat(const std::vector<FormatPiece>& pieces, bool raw, bool in_spec, FormatCall& out) {
  for (const FormatPiece& piece : pieces) {
    if (!piece.field) {
      std::string text = decodeString(piece.text, raw);
      if (in_spec && text.find_first_of("{}") != std::string::npos) {
        fail("braces in a format spec are not supported", piece.text);
      }
      out.add(text, piece.text);
      continue;
    }
    if (piece.self_documenting) out.add(std::string(piece.label.text()), piece.label);
    out.flush();
    Nesting nesting(*this);
    Parser inner(piece.text, false, depth_);
    Expr value = inner.expressionToEnd();
    checkDepth(value);
    out.arguments.push_back(value);
    out.format += '{';
    if (piece.conversion != 0) {
      out.format += '!';
      out.format += piece.conversion;
    } else if (piece.self_documenting && !piece.has_spec) {
      out.format += "!r";
    }
    if (piece.has_spec) {
      out.format += ':';
      appendFormat(piece.spec, raw, true, out);
      out.flush();
    }
    out.format += '}';
  }
}

Expr Parser::annotationIn(const SourceRange& text) {
  Nesting nesting(*this);
  if (text.text().find_first_not_of(" \t\r\n\f") == std::string_view::npos) fail("this annotation is empty", text);
  return Parser(text, false, depth_).typeToEnd();
}

Expr Parser::annotation() {
  bool outer = in_annotation_;
  in_annotation_ = true;
  Expr e = expression();
  in_annotation_ = outer;
  return e;
}

SourceRange typeCommentBody(const SourceRange& comment) {
  SourceRange body = comment;
  body.begin += static_cast<uint32_t>(comment.text().find(':') + 1);
  return body;
}

Expr Parser::commentType(const SourceRange& comment) {
  return annotationIn(typeCommentBody(comment));
}

}  // namespace cresset
