#include <ATen/core/alias_info.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "cresset/ir/schema_text.h"
#include "cresset/support/string_literal.h"

namespace cresset {

namespace {

/// Annotations follow the type that they describe, before its `?`.
void printType(
    std::ostream& out, const c10::Type& type, const c10::AliasInfo* alias, std::optional<int32_t> size = {}) {
  if (const auto* optional = type.castRaw<c10::OptionalType>()) {
    printType(out, *optional->getElementType(), alias, size);
    out << '?';
    return;
  }
  if (const auto* list = type.castRaw<c10::ListType>()) {
    const bool has_inner = alias && !alias->containedTypes().empty();
    printType(out, *list->getElementType(), has_inner ? alias->containedTypes().data() : nullptr);
    out << '[';
    if (size) out << *size;
    out << ']';
  } else {
    out << type.str();
  }
  if (alias && !alias->beforeSets().empty()) out << *alias;
}

/// `size`: of a list of ints whose default may be written as one number, which stands for all of them.
void printDefault(std::ostream& out, const c10::IValue& value, std::optional<int32_t> size) {
  if (value.isString()) {
    out << quoteString(value.toStringRef());
  } else if (value.isList()) {
    const auto elements = value.toListRef();
    const auto isFirst = [&](const c10::IValue& element) { return element.toInt() == elements[0].toInt(); };
    if (size && value.isIntList() && elements.size() > 1 && elements.size() == static_cast<size_t>(*size) &&
        std::all_of(elements.begin(), elements.end(), isFirst)) {
      out << elements[0].toInt();
      return;
    }
    out << '[';
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) out << ", ";
      printDefault(out, elements[i], std::nullopt);
    }
    out << ']';
  } else {
    out << value;
  }
}

void printArgument(std::ostream& out, const c10::Argument& argument) {
  printType(out, *argument.real_type(), argument.alias_info(), argument.N());
  if (!argument.name().empty()) out << ' ' << argument.name();
  if (!argument.default_value()) return;
  out << '=';
  const auto* list = argument.real_type()->castRaw<c10::ListType>();
  const bool is_sized = argument.N() && list && list->getElementType()->kind() == c10::TypeKind::IntType;
  printDefault(out, *argument.default_value(), is_sized ? argument.N() : std::nullopt);
}

void printReturns(std::ostream& out, const c10::FunctionSchema& schema) {
  std::ostringstream returns;
  for (const c10::Argument& result : schema.returns()) {
    if (&result != schema.returns().data()) returns << ", ";
    printArgument(returns, result);
  }
  if (schema.is_varret()) returns << (schema.returns().empty() ? "..." : ", ...");
  const std::string text = returns.str();
  const bool is_one = schema.returns().size() + (schema.is_varret() ? 1 : 0) == 1 && text.front() != '(';
  out << (is_one ? text : '(' + text + ')');
}

}  // namespace

std::string argumentText(const c10::Argument& argument) {
  std::ostringstream out;
  printArgument(out, argument);
  return out.str();
}

std::string schemaText(const c10::FunctionSchema& schema) {
  std::ostringstream out;
  out << schema.operator_name() << '(';
  bool is_first = true, keyword_only = false;
  const auto separate = [&] {
    if (!is_first) out << ", ";
    is_first = false;
  };
  for (const c10::Argument& argument : schema.arguments()) {
    separate();
    if (argument.kwarg_only() && !keyword_only) out << "*, ";
    keyword_only |= argument.kwarg_only();
    printArgument(out, argument);
  }
  if (schema.is_vararg()) separate(), out << "...";
  out << ") -> ";
  printReturns(out, schema);
  return out.str();
}

}  // namespace cresset
