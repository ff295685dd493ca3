// Tokens of IR text, types and schemas.
//
// Not the lexer of TorchScript source: names of values and operators hold dots and digits that Python would read as
// attribute accesses and numbers (`%layers.0.weight`, `aten::add.Tensor`), comments are data (`# model.py:7:4` is where
// the node before came from), and there is no layout. String literals are the same in both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cresset/support/source.h"

namespace cresset {

struct IrToken {
  enum Kind : int {
    // Below: single characters.
    End = 256,
    Name,    // letters, digits, '_', and '.' before one of them: add.Tensor, __torch__.M
    Value,   // %x.1; text() is without '%'
    Number,  // 1, 2.5e-07, 3.j; without sign
    String,  // with its quotes
    Arrow,   // ->
    Dots,    // ...
    Scope,   // ::
  };
  int kind = End;
  uint32_t begin = 0;
  uint32_t end = 0;
};

class IrScanner {
 public:
  /// Throws UserError if the text is longer than ranges can express (4 GiB).
  explicit IrScanner(std::shared_ptr<const Source> source, uint32_t begin = 0);

  const IrToken& cur() const { return current_; }
  /// The kind of the token after cur().
  int lookahead() const;
  bool at(int kind) const { return current_.kind == kind; }
  bool atName(std::string_view name) const { return at(IrToken::Name) && text(current_) == name; }
  IrToken next();
  bool nextIf(int kind);
  bool nextIfName(std::string_view name);
  /// Throws "expected X but found Y here".
  IrToken expect(int kind);
  IrToken expectName(std::string_view name);
  [[noreturn]] void reportExpected(const std::string& what) const;
  [[noreturn]] void fail(const std::string& message, const IrToken& token) const;
  [[noreturn]] void fail(const std::string& message) const { fail(message, current_); }

  std::string_view text(const IrToken& token) const;
  SourceRange range(const IrToken& token) const { return {source_, token.begin, token.end}; }
  /// The comment (without '#' and outer spaces) that stands between the previous token and cur(), if it begins on the
  /// previous token's line.
  std::string_view comment() const { return comment_; }
  const std::shared_ptr<const Source>& source() const { return source_; }

 private:
  IrToken scan(uint32_t from, std::string_view* comment) const;

  std::shared_ptr<const Source> source_;
  std::string_view text_;
  IrToken current_;
  std::string_view comment_;
};

}  // namespace cresset
