// Peephole rules: what the types of values tell already. A test for None of a value that can't be None, the rank of a
// tensor whose rank is known, a conversion to the type that the value has.
//
// A rule gives a value that stands for the node's output. Where the program says more than its types do (a tensor's
// dtype is known only in a plan made for it), the same rules fold the dispatch on dtype and rank that libraries write.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>

#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

using c10::TypeKind;

const c10::TensorType* tensorType(const Value* value) {
  return value->type()->castRaw<c10::TensorType>();
}

Value* insertKnown(Node* node, const c10::IValue& value) {
  Graph& graph = node->graph();
  const InsertPointGuard guard(graph, node);
  Value* constant = graph.insertConstant(value);
  constant->node()->copyLocation(node);
  return constant;
}

enum class Noneness { Never, Always, Unknown };

Noneness noneness(const Value* value) {
  if (isNoneConstant(value)) return Noneness::Always;
  switch (value->type()->kind()) {
    case TypeKind::NoneType:
      return Noneness::Always;
    case TypeKind::OptionalType:
    case TypeKind::UnionType:
    case TypeKind::AnyType:
    case TypeKind::VarType:
      return Noneness::Unknown;
    default:
      return value->node()->kind() == prim::Uninitialized ? Noneness::Unknown : Noneness::Never;
  }
}

Value* foldNoneTest(Node* node, bool negated) {
  for (const size_t none : {size_t(1), size_t(0)}) {
    if (noneness(node->input(none)) != Noneness::Always) continue;
    const Noneness other = noneness(node->input(1 - none));
    if (other != Noneness::Unknown) return insertKnown(node, (other == Noneness::Always) != negated);
  }
  return nullptr;
}

using Rule = Value* (*)(Node* node);

Value* sameValue(Node* node) {
  return node->input(0);
}

template <typename F>
Value* ofTensor(Node* node, F answer) {
  const auto* tensor = tensorType(node->input(0));
  if (!tensor) return nullptr;
  const auto known = answer(*tensor);
  return known ? insertKnown(node, *known) : nullptr;
}

const std::unordered_map<std::string_view, Rule>& rules() {
  static const auto* table = new std::unordered_map<std::string_view, Rule>{
      {"aten::__is__", [](Node* node) { return foldNoneTest(node, false); }},
      {"aten::__isnot__", [](Node* node) { return foldNoneTest(node, true); }},
      {"aten::_unwrap_optional",
       [](Node* node) -> Value* { return noneness(node->input(0)) == Noneness::Never ? node->input(0) : nullptr; }},
      {"prim::unchecked_unwrap_optional",
       [](Node* node) -> Value* { return noneness(node->input(0)) == Noneness::Never ? node->input(0) : nullptr; }},
      {"aten::Size", sameValue},
      {"aten::__not__",
       [](Node* node) -> Value* {
         Node* inner = node->input(0)->node();
         return inner->kind() == aten::__not__ && inner->input(0)->type()->kind() == TypeKind::BoolType
                    ? inner->input(0)
                    : nullptr;
       }},
      {"aten::dim",
       [](Node* node) {
         return ofTensor(node, [](const c10::TensorType& t) -> std::optional<int64_t> {
           if (!t.dim()) return std::nullopt;
           return static_cast<int64_t>(*t.dim());
         });
       }},
      {"aten::len.t",
       [](Node* node) -> Value* {
         const Node* list = node->input(0)->node();  // `len(x.shape)`
         if (list->kind() != aten::size || list->inputs().size() != 1) return nullptr;
         const auto* tensor = tensorType(list->input(0));
         if (!tensor || !tensor->dim()) return nullptr;
         const auto uses = node->input(0)->uses();
         // A list that somebody changes has another length.
         for (const Use& use : uses) {
           const Operator* op = isStructural(use.user->kind()) ? nullptr : operatorOf(*use.user);
           if (!op || op->isMutable() || op->hasSideEffects()) return nullptr;
         }
         return insertKnown(node, static_cast<int64_t>(*tensor->dim()));
       }},
      {"prim::dtype",
       [](Node* node) {
         return ofTensor(node, [](const c10::TensorType& t) -> std::optional<int64_t> {
           if (!t.scalarType()) return std::nullopt;
           return static_cast<int64_t>(*t.scalarType());
         });
       }},
      {"prim::device", [](Node* node) { return ofTensor(node, [](const c10::TensorType& t) { return t.device(); }); }},
      {"aten::is_floating_point",
       [](Node* node) {
         return ofTensor(node, [](const c10::TensorType& t) -> std::optional<bool> {
           if (!t.scalarType()) return std::nullopt;
           return at::isFloatingType(*t.scalarType());
         });
       }},
      {"aten::is_complex",
       [](Node* node) {
         return ofTensor(node, [](const c10::TensorType& t) -> std::optional<bool> {
           if (!t.scalarType()) return std::nullopt;
           return at::isComplexType(*t.scalarType());
         });
       }},
      {"prim::is_cuda",
       [](Node* node) {
         return ofTensor(node, [](const c10::TensorType& t) -> std::optional<bool> {
           if (!t.device()) return std::nullopt;
           return t.device()->is_cuda();
         });
       }},
      {"prim::is_cpu",
       [](Node* node) {
         return ofTensor(node, [](const c10::TensorType& t) -> std::optional<bool> {
           if (!t.device()) return std::nullopt;
           return t.device()->is_cpu();
         });
       }},
  };
  return *table;
}

Value* simplify(Node* node) {
  if (node->outputs().size() != 1 || !node->blocks().empty()) return nullptr;
  if (node->kind() == prim::unchecked_cast)
    return *node->input(0)->type() == *node->output()->type() ? node->input(0) : nullptr;
  if (isStructural(node->kind())) return nullptr;
  const Operator* op = operatorOf(*node);
  if (!op) return nullptr;
  const auto rule = rules().find(op->fullName());
  return rule == rules().end() ? nullptr : rule->second(node);
}

bool simplifyTypesIn(Block* block) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= simplifyTypesIn(inner);
    Value* known = simplify(node);
    if (!known) continue;
    node->output()->replaceAllUsesWith(known);
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

bool simplifyByTypes(Graph& graph) {
  return simplifyTypesIn(graph.block());
}

}  // namespace cresset
