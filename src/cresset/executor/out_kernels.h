// The column OUT of the operator table: functions that compute an operator's result into a tensor that is there.
#pragma once

#include "cresset/interpreter/out_variant.h"

namespace cresset {

class Operator;

/// False, and nothing has happened, if it is not for these arguments. They are dense tensors of the CPU.
using OutKernel = bool (*)(const OutArguments&);

/// Null if the operator's row has none.
OutKernel outKernelOf(const Operator& op);
/// Whether it sees to it that operators which it calls are called below autograd; others are called so.
bool guardsItself(OutKernel kernel);

}  // namespace cresset
