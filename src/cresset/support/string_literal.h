// String literals: where they end, what they mean, how to write them.
//
// The lexer needs the first, the parser the second (f-strings have structure of their own), printers the third.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cresset/support/source.h"

namespace cresset {

/// The letters before a literal's quotes and the quotes themselves.
struct StringPrefix {
  size_t length = 0;  // of the letters
  size_t quotes = 1;  // 1 or 3
  char quote = '"';
  bool raw = false, format = false, bytes = false;
};

/// Reads prefix and opening quotes at `at`; false if no string literal starts there.
bool readStringPrefix(std::string_view text, size_t at, StringPrefix& prefix);

/// The offset after the string literal that starts at `at`, or npos if it does not end. A quote inside a replacement
/// field of an f-string does not end the f-string.
size_t endOfString(std::string_view text, size_t at, const StringPrefix& prefix);

/// Of literals b"…", which neither the lexer nor parseStringLiteral takes.
inline constexpr const char* kBytesLiteral =
    "bytes literals are not supported; TorchScript has only str: leave out the prefix b";

/// The value of a string literal token (quotes, prefix and escapes removed). Throws UserError at a bad escape.
///
/// Escapes are Python's, and an unknown one stands for itself, but an octal escape is one byte, as in TorchScript, so
/// that every string can be written; `\x`, `\u` and `\U` name code points and become UTF-8.
std::string parseStringLiteral(const SourceRange& literal);

/// The value of the characters of `part`, which lies inside a literal: escapes (unless `raw`) and line breaks.
std::string decodeString(const SourceRange& part, bool raw);

/// A piece of an f-string: literal text, or a replacement field `{expression=!conversion:spec}`.
struct FormatPiece {
  bool field = false;
  SourceRange text;               // of the literal text or the expression
  bool self_documenting = false;  // {x=}
  SourceRange label;              // then: `x=` with the spaces around it
  char conversion = 0;
  std::vector<FormatPiece> spec;  // empty if there is none
  bool has_spec = false;
};
/// Splits an f-string token. Throws UserError where it is malformed.
std::vector<FormatPiece> splitFormatString(const SourceRange& literal);

/// `text` as a TorchScript string literal in double quotes that the lexer reads back to the same bytes.
std::string quoteString(std::string_view text);

/// Adds the UTF-8 of a code point.
void appendUtf8(std::string& out, uint32_t c);

/// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none; sets the code point.
size_t decodeUtf8(std::string_view text, uint32_t& code_point);

}  // namespace cresset
