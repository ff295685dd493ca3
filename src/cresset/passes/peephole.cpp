// What the types of values, constants, or a node and the one before it tell already: the rules of rewrite_rules.def,
// and those of structural nodes. A test for None of a value that can't be None, the rank of a tensor whose rank is
// known, a conversion to the type that the value has, dropout outside of training, `n + 0`, `n == n`.
//
// Every rule keeps bits, memory and exceptions. Where the program says more than its types do (a tensor's dtype is
// known only in a plan made for it), the same rules fold the dispatch on dtype and rank that libraries write.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/rewrite_rules.h"

namespace cresset {
namespace {

using c10::TypeKind;

/// `isinstance(x, T)` of a tensor, number or text: the type that the program says is the one that the value has.
Value* knownInstance(Node* node) {
  const c10::TypePtr& type = node->input(0)->type();
  switch (type->kind()) {
    case TypeKind::TensorType:
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::ComplexType:
    case TypeKind::BoolType:
    case TypeKind::StringType:
    case TypeKind::NoneType:
      break;
    default:
      return nullptr;
  }
  const auto& types = node->tys(attr::types);
  return insertConstantBefore(node, std::any_of(types.begin(), types.end(), [&](const c10::TypePtr& wanted) {
                                return type->isSubtypeOf(*wanted);
                              }));
}

/// Whether a value of the type equals itself, and to ask that calls and raises nothing. nan differs from itself.
bool equalsItself(const c10::Type& type, int depth = 8) {
  switch (type.kind()) {
    case TypeKind::IntType:
    case TypeKind::BoolType:
    case TypeKind::StringType:
    case TypeKind::NoneType:
    case TypeKind::DeviceObjType:
      return true;
    case TypeKind::ListType:
    case TypeKind::DictType:
    case TypeKind::TupleType:
    case TypeKind::OptionalType: {
      const auto parts = type.containedTypes();
      return depth > 0 && std::all_of(parts.begin(), parts.end(), [&](const c10::TypePtr& part) {
               return equalsItself(*part, depth - 1);
             });
    }
    default:
      return false;
  }
}

Value* compareWithItself(Node* node) {
  const bool is_equal = isBasic(node, Basic::Equal);
  if (!is_equal && !isBasic(node, Basic::Unequal)) return nullptr;
  if (node->input(0) != node->input(1) || !equalsItself(*node->input(0)->type())) return nullptr;
  return insertConstantBefore(node, is_equal);
}

class Simplifier {
 public:
  explicit Simplifier(Graph& graph) : graph_(graph) {}

  bool run(Block* block) {
    bool changed = false;
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) changed |= run(inner);
      if (node->kind() == prim::ListUnpack) {
        changed |= takeElements(node);
        continue;
      }
      if (node->kind() == prim::If) {
        changed |= narrowOutputs(node);
        continue;
      }
      Value* known = simplify(node);
      if (!known) continue;
      node->output()->replaceAllUsesWith(known);
      node->destroy();
      changed = true;
    }
    return changed;
  }

 private:
  Value* simplify(Node* node) {
    if (node->outputs().size() != 1 || !node->blocks().empty()) return nullptr;
    if (node->kind() == prim::unchecked_cast) return isNeededCast(node) ? nullptr : node->input(0);
    if (node->kind() == prim::isinstance) return knownInstance(node);
    if (node->kind() == prim::GetAttr && node->output()->type()->kind() == TypeKind::NoneType &&
        node->output()->hasUses())
      return insertConstantBefore(node, c10::IValue());
    if (Value* known = compareWithItself(node)) return known;
    return RewriteRules::get().apply(node, is_written_);
  }

  /// A constant tensor says more than the type that a trace saw it with.
  static bool isNeededCast(const Node* node) {
    const auto &type = node->input(0)->type(), &other = node->output()->type();
    const bool is_constant_tensor = isConstant(node->input(0)) && type->kind() == TypeKind::TensorType;
    return *type != *other && !(is_constant_tensor && other->kind() == TypeKind::TensorType);
  }

  /// What both branches return as an int is no `Optional[int]`.
  static bool narrowOutputs(Node* node) {
    bool changed = false;
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      const auto* optional = node->output(i)->type()->castRaw<c10::OptionalType>();
      const auto &type = node->blocks()[0]->outputs()[i]->type(), &other = node->blocks()[1]->outputs()[i]->type();
      if (!optional || *type != *optional->getElementType() || *other != *type) continue;
      node->output(i)->setType(type);
      changed = true;
    }
    return changed;
  }

  /// The elements of a list that was just made are what it was made of.
  bool takeElements(Node* unpack) {
    const Value* list = unpack->input(0);
    const auto elements = list->node()->inputs();
    if (list->node()->kind() != prim::ListConstruct || elements.size() != unpack->outputs().size() || is_written_(list))
      return false;
    for (size_t i = 0; i < elements.size(); ++i) unpack->output(i)->replaceAllUsesWith(elements[i]);
    unpack->destroy();
    return true;
  }

  Graph& graph_;
  std::shared_ptr<AliasDb>
      memory_;  // of the graph before the first change: the rules take no writer away, and add none
  const AskIfWritten is_written_ = [this](const Value* value) {
    if (!memory_) memory_ = aliasesOf(graph_, AliasDb::When::WhenNeeded);
    return memory_->hasWriters(value);
  };
};

}  // namespace

static bool simplifyByTypes(Graph& graph) {
  return Simplifier(graph).run(graph.block());
}

CRESSET_PASS(simplifyByTypes, "peephole", All, "Replace what types, constants and the node before tell already")

}  // namespace cresset
