// The part of type parsing that graphs and schemas share.
#pragma once

#include <ATen/core/alias_info.h>

#include <optional>

#include "cresset/ir/parser.h"
#include "cresset/ir/scanner.h"

namespace cresset {

/// A type in the words of a text. Schemas know two: `real` says ScalarType or SymInt where `type` says int.
struct ParsedType {
  TypePtr type;
  TypePtr real;
  std::optional<c10::AliasInfo> alias;
};

class TypeParser {
 public:
  /// `in_schema`: alias annotations are allowed, and real types are told apart.
  TypeParser(IrScanner& scanner, const TypeResolver& types, bool allow_variables, bool in_schema)
      : scanner_(scanner), types_(types), allow_variables_(allow_variables), in_schema_(in_schema) {}

  /// A whole type. In schemas it stops before "[2]", which belongs to an argument.
  ParsedType parse();
  TypePtr parseType() { return parse().type; }
  std::optional<c10::AliasInfo> parseAlias();
  /// Wraps `inner` in a list; the annotation that may follow belongs to the list.
  void wrapInList(ParsedType& inner);
  static void wrapInOptional(ParsedType& inner);

 private:
  ParsedType parseAtom();
  TypePtr parseTuple();
  TypePtr parseNamedTuple();
  TypePtr parseTensor(const IrToken& token);
  TypePtr parseClass(const IrToken& token);
  TypePtr parseBracketed();            // (T) or [T]
  std::vector<TypePtr> parseListed();  // (T, …) or [T, …]
  int64_t parseInt(const char* what);

  IrScanner& scanner_;
  const TypeResolver& types_;
  bool allow_variables_;
  bool in_schema_;
  int depth_ = 0;
};

}  // namespace cresset
