// Implicit conversions as plans: whether a value of one type may stand where another is wanted, and by which nodes.
//
// Planning looks at types only and inserts nothing, so that trying an overload that does not fit costs no nodes.
#pragma once

#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

struct Conversion {
  enum class Kind {
    None,          // the value itself
    Call,          // `op` of the value: aten::IntImplicit, aten::Float, aten::device, …
    Repeat,        // a list of `count` times the value
    TupleToList,   // the tuple's elements as a list of `element`
    TupleToTuple,  // `parts` applied to each element
    NewList,       // an empty list of `element` in place of an untyped literal `[]`
  };
  Kind kind = Kind::None;
  Symbol op = prim::Constant;
  size_t count = 0;
  TypePtr element;
  std::vector<Conversion> parts;
  TypePtr type;  // of the result; null: the value's own
};

/// How a value of type `from` becomes one of type `to`. The result's type need not be a subtype of `to`: where no
/// conversion applies the value is left as it is and the caller's check of types fails. `literal` says that the value
/// is a list literal without elements and without an annotated type.
Conversion planConversion(const TypePtr& from, const TypePtr& to, bool literal, bool allow_conversions);

/// Inserts the nodes of a plan.
Value* applyConversion(Graph& graph, const SourceRange& range, Value* value, const Conversion& conversion);

/// Whether `value` is `[]` before anything gave it a type.
bool isEmptyListLiteral(const Value* value);

/// Whether every value of type `type` is, or may be turned into, a list of type `list`.
bool isConvertibleToList(const c10::Type& type, const c10::Type& list);

/// T of Optional[T]; other types as they are.
TypePtr withoutOptional(const TypePtr& type);

/// Inserts a node at the insertion point and returns its output, which gets type `type`.
Value* insertTyped(Graph& graph, const SourceRange& range, Symbol kind, std::span<Value* const> inputs, TypePtr type);

}  // namespace cresset
