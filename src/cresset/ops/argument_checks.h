// Checks of the arguments of operators whose kernels believe them: a wrong shape or index would read or write memory
// that is not the program's.
//
// A check is a column of an operator. It runs before each call of the operator, from wherever the call comes: untrusted
// programs need it, and for others an error is better than what would happen without it. It refuses only what eager
// refuses too, or can't answer.
#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>

namespace cresset {

/// `arguments` are those of the schema, in its order and of its types. Throws c10::Error. May put a copy in the place
/// of an index tensor that autograd keeps and later believes, so that nothing can write to what is kept.
using ArgumentCheck = void (*)(c10::IValue* arguments);

/// By full name ("aten::native_batch_norm", "aten::lstm.input"); null for most.
ArgumentCheck argumentCheckOf(std::string_view full_name);

}  // namespace cresset
