// Messages of errors that operators and calls have at several places, each written once. What one place says alone
// stands there.
#pragma once

#include <ATen/core/function_schema.h>

#include <string>

#include "cresset/ir/schema_text.h"
#include "cresset/ops/schema_matching.h"

namespace cresset::messages {

// Of calls, by the schema of what is called. As torch.jit has them.
inline std::string tooManyArguments(const c10::FunctionSchema& schema, size_t most, size_t given) {
  return schema.name() + "() expected at most " + std::to_string(most) + " argument(s) but received " +
         std::to_string(given) + " argument(s). Declaration: " + schemaText(schema);
}
inline std::string tooManyPositional(const c10::FunctionSchema& schema, size_t most, size_t given) {
  return schema.name() + "() takes " + std::to_string(most) + " positional argument(s) but " + std::to_string(given) +
         " was/were given.  Declaration: " + schemaText(schema);
}
inline std::string missingArgument(const c10::FunctionSchema& schema, const std::string& name) {
  return schema.name() + "() is missing value for argument '" + name + "'. Declaration: " + schemaText(schema);
}
inline std::string argumentTwice(const c10::FunctionSchema& schema, const std::string& name) {
  return "Argument '" + name + "' specified both as positional and keyword argument. Schema: " + schemaText(schema);
}
inline std::string unknownArgument(const c10::FunctionSchema& schema, const std::string& name) {
  return "Unknown keyword argument '" + name + "' for operator '" + schema.name() + "'" +
         similarArgument(schema, name) + ". Schema: " + schemaText(schema);
}
inline std::string noOperator(const std::string& name) {
  return "There is no operator " + name;
}

// Of operators.
inline std::string noComplexNumbers() {
  return "TypeError: complex numbers are not supported here";
}
inline std::string divisionByZero() {
  return "ZeroDivisionError: integer division or modulo by zero";
}
inline std::string intOverflow() {
  return "value cannot be converted to type int without overflow";
}

}  // namespace cresset::messages
