// Schema-matched insertion: chooses an overload for given arguments, converts arguments as TorchScript does, fills in
// defaults, and inserts the node.
//
// Implicit conversions (second round only, after every overload was tried without them): Tensor to int, float,
// complex, bool, Scalar; int to float where a float is wanted by a builtin; a Tensor or number to a one-element list
// where the schema says int[2]; a homogeneous tuple to a list; a trailing run of arguments to a list for varargs
// (`x.view(2, 3)`); a string constant to Device or int (dtype, layout, …); None to Optional; float lists from int lists
// where torch.jit does so.
#pragma once

#include <ATen/core/function_schema.h>

#include <optional>
#include <string>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

class Operator;

/// An argument: a value of the graph, or a constant that is inserted when it is used.
struct NamedValue {
  std::string name;  // keyword; "" for positional
  SourceRange range;
  Value* value = nullptr;  // null: `constant`
  std::shared_ptr<const c10::IValue> constant;

  NamedValue(Value* value, SourceRange range = {}, std::string name = "")
      : name(std::move(name)), range(std::move(range)), value(value) {}
  NamedValue(const c10::IValue& constant, SourceRange range = {}, std::string name = "");
  Value* get(Graph& graph) const;  // inserts the constant if needed
  TypePtr type() const;
};

struct MatchedSchema {
  std::vector<Value*> inputs;         // one per schema argument (varargs: the rest follow)
  std::vector<TypePtr> return_types;  // type variables filled in
  const c10::FunctionSchema* schema = nullptr;
};

/// Matches one schema. `self` is the receiver of a method call on a value (x.add(y)); it takes the argument called
/// "self" or, failing that, the first. On failure returns nullopt, appends the reason to `*why`, and leaves no node.
std::optional<MatchedSchema> tryMatchSchema(
    const c10::FunctionSchema& schema, Graph& graph, const SourceRange& range, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, const std::optional<NamedValue>& self, std::string* why,
    bool allow_conversions);

/// As above, for a function's own schema; throws UserError with the reason.
MatchedSchema matchSchema(
    const c10::FunctionSchema& schema, Graph& graph, const SourceRange& range, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, const std::optional<NamedValue>& self = std::nullopt);

/// "; did you mean 'dim'?" if the schema has an argument whose name is like `name`; or "".
std::string similarArgument(const c10::FunctionSchema& schema, std::string_view name);

/// Whether `name` is a builtin at all, so that a caller may fall back to something else.
bool isBuiltin(Symbol name);
/// Whether some overload of `name` takes a receiver of type `self`, so that `x.name(…)` may be tried.
bool isBuiltinMethod(Symbol name, const TypePtr& self);

/// Matches the overloads of `name` and inserts the node at the graph's insertion point. Returns its output, or a tuple
/// of its outputs (prim::TupleConstruct) if it has several; None for no output. Throws UserError that lists the
/// overloads and why each was refused.
Value* insertOp(
    Graph& graph, Symbol name, const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs = {},
    const SourceRange& range = {}, const std::optional<NamedValue>& self = std::nullopt);

/// The same for one overload, which is called even if the name alone would mean another one.
Value* insertOverload(
    Graph& graph, const Operator& op, const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs = {},
    const SourceRange& range = {});
/// Whether the argument is a bool and any number is wanted. Calls by the name alone make an int of it, as torch.jit's
/// do; those that name the overload (insertOverload) pass it on, as Python does.
bool isBoolForNumber(const c10::Type& given, const c10::Type& wanted);
/// Whether a call by the name alone never means this overload: code has to name the overload, too.
bool isOnlyCalledByOverload(const c10::FunctionSchema& schema);

/// `value` as type `to`, by the implicit conversions if allowed; null if that can't be. Used for arguments, returns
/// and annotated assignments.
Value* tryConvertTo(Graph& graph, const SourceRange& range, Value* value, const TypePtr& to, bool allow_conversions);

}  // namespace cresset
