// Strings in programs: adjacent literals, f-strings, and strings that are annotations.
//
// An f-string becomes a call of `format`: f"a{x!r:>{n}}" is "a{!r:>{}}".format(x, n), which evaluates the same
// expressions in the same order. Literal braces stay doubled there, as str.format wants them.
#include "cresset/frontend/parser_impl.h"

namespace cresset {
namespace {

void appendLiteral(std::string& format, const std::string& text) {
  for (char c : text) {
    format += c;
    if (c == '{' || c == '}') format += c;
  }
}

} // namespace

Expr Parser::strings() {
  uint32_t start = begin();
  struct Piece {
    SourceRange range;
    StringPrefix prefix;
    std::vector<FormatPiece> fields; // of an f-string
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
    inner.begin += p.prefix.length + p.prefix.quotes;
    inner.end -= p.prefix.quotes;
    if (inner.text().find('\\') != std::string_view::npos) {
      fail("an annotation in a string can't hold a backslash", p.range);
    }
    return annotationIn(inner);
  }

  std::string format;
  std::vector<Expr> arguments;
  for (const Piece& p : pieces) {
    if (p.prefix.format && has_fields) {
      appendFormat(p.fields, p.prefix.raw, false, format, arguments);
    } else if (p.prefix.format) {
      for (const FormatPiece& f : p.fields) format += decodeString(f.text, p.prefix.raw);
    } else if (has_fields) {
      appendLiteral(format, parseStringLiteral(p.range));
    } else {
      format += parseStringLiteral(p.range);
    }
  }
  Expr literal = StringLiteral::make(range, std::move(format));
  if (!has_fields) return literal;
  Expr callee = Select::make(range, literal, Ident::make(range, "format"));
  return Apply::make(range, callee, list(range, arguments), ListView<Attr>::make(range, {}));
}

void Parser::appendFormat(
    const std::vector<FormatPiece>& pieces, bool raw, bool in_spec, std::string& format, std::vector<Expr>& arguments) {
  for (const FormatPiece& piece : pieces) {
    if (!piece.field) {
      std::string text = decodeString(piece.text, raw);
      if (in_spec && text.find_first_of("{}") != std::string::npos) {
        fail("braces in a format spec are not supported", piece.text);
      }
      appendLiteral(format, text);
      continue;
    }
    if (piece.self_documenting) appendLiteral(format, std::string(piece.label.text()));
    Nesting nesting(*this);
    Parser inner(piece.text, false, depth_);
    Expr value = inner.expressionToEnd();
    checkDepth(value);
    arguments.push_back(value);
    format += '{';
    if (piece.conversion != 0) {
      format += '!';
      format += piece.conversion;
    } else if (piece.self_documenting && !piece.has_spec) {
      format += "!r";
    }
    if (piece.has_spec) {
      format += ':';
      appendFormat(piece.spec, raw, true, format, arguments);
    }
    format += '}';
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

} // namespace cresset
