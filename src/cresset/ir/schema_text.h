// Schemas of operators as text.
#pragma once

#include <ATen/core/function_schema.h>

#include <string>

namespace cresset {

/// As libtorch writes it, where libtorch's text means the same again; also where it does not: strings with bytes that
/// are not ASCII, and alias annotations inside of lists of lists and of Optionals. parseSchema reads it.
std::string schemaText(const c10::FunctionSchema& schema);
std::string argumentText(const c10::Argument& argument);

}  // namespace cresset
