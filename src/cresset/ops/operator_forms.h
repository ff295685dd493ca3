// Other forms of an operator: the same under the name that the table prefers, and, of one that writes, the operator
// that returns as new values what it writes. Found by names and schemas, which the columns SAME_AS and UPDATES correct.
//
// Thread-safety: all of this may be called from any thread.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/ops/operator.h"

namespace cresset {

/// The operator that takes and returns the same, under the name that the column SAME_AS gives; null if there is none.
const Operator* sameOperator(const Operator& op);
/// The names that have one: "aten::absolute".
std::vector<std::string_view> otherNames();

/// Of an in-place reuse the operator that computes the same into new memory; of others the operator itself.
const Operator& withoutReuse(const Operator& op);

/// What calls of an operator write, and the operator that returns the same as new values.
struct FunctionalForm {
  /// Takes the arguments `taken`. Returns what the other returns beside its written arguments, then their new values.
  const Operator* op = nullptr;  // null if there is none
  std::vector<size_t> written;   // arguments of the operator that writes, in the order of its schema
  std::vector<size_t> taken;
  bool is_out = false;  // what is written is not read
};

/// The arguments that are tensors or lists of tensors to which calls may write, by the schema and the column UPDATES.
std::vector<size_t> tensorWritesOf(const c10::FunctionSchema& schema);
/// Which argument a result is, be it written or viewed; none if it is made by the call.
std::optional<size_t> argumentOf(const c10::FunctionSchema& schema, size_t result);
bool hasOutArgument(const c10::FunctionSchema& schema);
bool isListOfTensors(const c10::Argument& argument);

/// "cresset::functional_aten_add" of "aten::add" (Operator::isFunctionalCall).
std::string functionalCallName(std::string_view operator_name);
bool isFunctionalCallName(std::string_view name);

/// What the schema says of writes; without the operator.
FunctionalForm writesOf(const c10::FunctionSchema& schema);
/// Whether `other` is the functional form of `schema`, which writes as `writes` says.
bool isFunctionalForm(
    const c10::FunctionSchema& other, const FunctionalForm& writes, const c10::FunctionSchema& schema);
/// Of an operator that writes, by its schema.
FunctionalForm functionalForm(const c10::FunctionSchema& schema);
/// The view that an operator such as `aten::transpose_` makes of its argument; null if it is no such operator, or has
/// no such view.
const Operator* viewForm(const c10::FunctionSchema& schema);

/// The operator that returns in new memory what a view returns, with the same arguments: `aten::select_copy.int` of
/// `aten::select.int`; null if there is none.
const Operator* copyForm(const c10::FunctionSchema& schema);

/// Writes of which the schema says nothing: the column UPDATES.
struct HiddenWrites {
  std::vector<size_t> arguments;    // written, if they are given
  std::optional<size_t> condition;  // a bool: only if it is true
};
/// Null if the schema tells all. Lives as long as the process.
const HiddenWrites* hiddenWritesOf(const Operator& op);

/// What a call with these arguments writes, be it that the schema denies it; null if nothing. Lives as long as the
/// process.
const FunctionalForm* writesOfCall(const c10::OperatorHandle& op, std::span<const c10::IValue> arguments);

/// The arguments whose elements its composite kernel reads past the operators, unless they require gradients (the
/// column READS_MEMORY); null if it has none.
const std::vector<size_t>* readsMemory(const c10::OperatorHandle& op);

/// What the operator's overload with `out` does otherwise (the column NO_OUT); null if it does the same.
const char* refusalOfOutOverload(const Operator& op);

/// What is wrong with the columns SAME_AS, UPDATES and READS_MEMORY.
std::vector<std::string> formErrors();

}  // namespace cresset
