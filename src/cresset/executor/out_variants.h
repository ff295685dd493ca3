// Which operators can compute their results into tensors that are there.
//
// Of an operator of the dispatcher, that is its overload with `out`, if it has a kernel for the CPU of its own: those
// that PyTorch generates compute a new tensor and copy it. The column OUT of the operator table names functions for
// others, or that are called without boxing; libraries register theirs (registerOutVariant).
#pragma once

#include <ATen/core/function_schema.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cresset/interpreter/out_variant.h"
#include "cresset/ops/operator.h"

namespace cresset {

/// Computes the results of one call into its outputs.
using OutFunction = std::function<void(const OutArguments&)>;
/// The function for an overload of the operator; empty for those that have none.
using OutFunctionOf = std::function<OutFunction(const c10::FunctionSchema&)>;

/// Lets plans that are made from now on call the operator `name` ("mylib::op", all overloads, or "mylib::op.Tensor") by
/// what `function_of` returns. The one that was registered last counts. The operator may come later, with its library;
/// reports of static modules name those that have not. Each result must be a new tensor: share no memory with an
/// argument, and its function must give it its sizes (a call that has not throws UserError). Arguments are dense
/// tensors of the CPU; calls with others go to the operator itself. So do first calls of operators whose dtypes no rule
/// knows, one for each kind of arguments: they tell the results' dtypes.
void registerOutVariant(const std::string& name, OutFunctionOf function_of);
/// Names that were registered and that no operator has: of libraries that are not loaded, or misspelt.
std::vector<std::string> unboundOutVariants();

/// What computes the node's results into given tensors; null if nothing does. The node calls an operator, and the types
/// of values are known. `is_inner_view`: a result that is a view may be one by sizes and strides (column STRIDED).
std::shared_ptr<const OutVariant> outVariantOf(const Node& node, bool is_inner_view);
/// The overload with `out` that has a kernel of its own; null if there is none.
const Operator* outOverloadOf(const Operator& op);

/// The dtype of a dense tensor of the CPU that out variants can compute; nothing if it is not known.
std::optional<at::ScalarType> dtypeOfOutput(const Value& value);

#define CRESSET_CONCATENATE_(a, b) a##b
#define CRESSET_CONCATENATE(a, b) CRESSET_CONCATENATE_(a, b)
/// CRESSET_REGISTER_OUT_VARIANT("mylib::scale", [](const c10::FunctionSchema& schema) -> cresset::OutFunction { … })
#define CRESSET_REGISTER_OUT_VARIANT(name, ...)                                               \
  [[maybe_unused]] static const bool CRESSET_CONCATENATE(cresset_out_variant_, __COUNTER__) = \
      (::cresset::registerOutVariant(name, __VA_ARGS__), true)

}  // namespace cresset
