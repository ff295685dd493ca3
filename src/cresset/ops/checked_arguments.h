// What a call of an operator of the dispatcher does before its kernel runs, for who calls another kernel instead.
#pragma once

#include <ATen/core/ivalue.h>

namespace cresset {

class Operator;

/// The operator's check (argument_checks.h), and that numbers for dtypes, layouts and memory formats are some. Throws.
/// `arguments`: those of the schema, of which a copy may take the place of one.
void checkArguments(const Operator& op, c10::IValue* arguments);

}  // namespace cresset
