// Tracing of C++ code: `trace` runs a function on example inputs and makes a program of the operators that it called.
//
//   cresset::CompilationUnit unit = cresset::trace(
//       [](std::vector<cresset::IValue> inputs) -> cresset::IValue {
//         at::Tensor x = inputs[0].toTensor();
//         return at::relu(x).view_symint({cresset::symbolicSize(x, 0), -1});
//       },
//       {torch::rand({2, 3, 4})});
//   unit.run_method("traced", torch::rand({5, 3, 4}));
//
// The program has the function's control flow as it went; calls of cresset's own functions and methods stay calls.
// Thread-safety: several threads may trace at once; each records what it does itself.
#pragma once

#include <c10/core/SymInt.h>

#include <functional>
#include <string>
#include <vector>

#include "cresset/module/module.h"

namespace cresset {

struct TraceOptions {
  /// Of the function that is made.
  std::string name = "traced";
  /// Of its arguments; "argument_1" and so on where there is none.
  std::vector<std::string> argument_names = {};
  /// In-place operators become out-of-place ones.
  bool force_outplace = false;
};

/// Inputs and the result are tensors, or tuples, lists and dicts of tensors. Throws UserError for others, and lets
/// through what `function` throws.
CompilationUnit trace(
    const std::function<IValue(std::vector<IValue>)>& function, std::vector<IValue> inputs,
    const TraceOptions& options = {});

/// The size of a dimension: in code that is being traced a symbolic one, which the program computes anew in each call;
/// elsewhere a plain number.
c10::SymInt symbolicSize(const at::Tensor& tensor, int64_t dim);

}  // namespace cresset
