// Calls of functions and methods of a Program, and what has to be known of a class before code can use it. Internal to
// frontend/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// The type as messages show it. Class names come without the address of their program; an unannotated parameter says
/// that its type Tensor was inferred.
std::string typeName(const c10::Type& type);

/// The schema of `function`, which is compiled now if its result is not annotated. An error in its body gets `range` on
/// its compilation stack.
const c10::FunctionSchema& schemaForCall(torch::jit::Function& function, const SourceRange& range);

/// prim::CallFunction. `function` is one of a Program, or a static method of a C++ class.
Value* insertFunctionCall(
    const SourceRange& range, EmitContext& cx, torch::jit::Function& function, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs);
/// prim::CallMethod of a class's or interface's method. Throws UserError if there is none of that name.
Value* insertMethodCall(
    const SourceRange& range, EmitContext& cx, Value* self, const std::string& name,
    const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs);

/// aten::wait, which is no operator of the table since it suspends the frame that runs it.
Value* insertWait(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, const std::optional<NamedValue>& self);

/// prim::awaitable_wait, whose row takes anything, since it may do anything: the result has the type that the Await
/// says.
Value* insertAwaitableWait(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, const std::optional<NamedValue>& self);

/// The submodule of a ModuleList or ModuleDict that a value names, as the module interface `type`.
Value* insertModuleItem(const SourceRange& range, EmitContext& cx, Value* container, Value* index, const TypePtr& type);

/// Makes sure that the attributes which `__init__` assigns are declared (compiles it, unless it is being compiled now).
void defineInit(const c10::ClassType& type, const SourceRange& range);

/// The constant of a class that keeps the class attribute `name` where the objects have an attribute of that name: code
/// that reads it through the class means it. A ClassType has one thing of a name.
inline std::string hiddenConstant(const std::string& name) {
  return "__cresset_class_attribute__" + name;
}

/// Nodes for tuples; `index` is in range.
Value* insertTupleIndex(const SourceRange& range, EmitContext& cx, Value* tuple, size_t index);
Value* insertTuple(
    const SourceRange& range, EmitContext& cx, const std::vector<Value*>& elements, TypePtr type = TypePtr());

/// Throws UserError with the argument count if `args` and `kwargs` are not exactly `count` positional arguments.
void requireArgs(const SourceRange& range, const std::string& function, size_t count, size_t args, size_t kwargs);

}  // namespace cresset
