// Peephole rules: what the types of values, or a node and the one before it, tell already. A test for None of a value
// that can't be None, whether a tensor is itself, the rank of a tensor whose rank is known, a conversion to the type
// that the value has, dropout outside of training, a number that was a tensor for a moment.
//
// Every rule keeps bits, memory and exceptions. So `x * 1` of a tensor stays: it makes a new one.
//
// A rule returns a value that stands for the node's output. Where the program says more than its types do (a tensor's
// dtype is known only in a plan made for it), the same rules fold the dispatch on dtype and rank that libraries write.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

using c10::TypeKind;

const c10::TensorType* tensorType(const Value* value) {
  return value->type()->castRaw<c10::TensorType>();
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

Value* foldIdentityTest(Node* node, bool negated) {
  if (node->input(0) == node->input(1) && node->input(0)->type()->kind() == TypeKind::TensorType)
    return insertConstantBefore(node, !negated);
  for (const size_t none : {size_t(1), size_t(0)}) {
    if (noneness(node->input(none)) != Noneness::Always) continue;
    const Noneness other = noneness(node->input(1 - none));
    if (other != Noneness::Unknown) return insertConstantBefore(node, (other == Noneness::Always) != negated);
  }
  return nullptr;
}

using Rule = Value* (*)(Node* node);

/// Whether the tensor is strided: it is an argument whose kind is known, which only such tensors have, or operators
/// that go element by element compute it of those.
bool isStrided(const Value* value, int depth = 16) {
  const auto* tensor = tensorType(value);
  if (!tensor || !tensor->scalarType() || !tensor->dim() || depth == 0) return false;
  const Node* node = value->node();
  if (node->isParam()) return node->owningBlock() == node->graph().block();
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  if (!op || !op->isPointwise() || op->isMutable()) return false;
  const auto inputs = node->inputs();
  return std::all_of(inputs.begin(), inputs.end(), [&](const Value* input) {
    const TypeKind kind = input->type()->kind();
    const bool is_scalar = kind == TypeKind::IntType || kind == TypeKind::FloatType || kind == TypeKind::BoolType ||
                           kind == TypeKind::NumberType || kind == TypeKind::NoneType || kind == TypeKind::StringType;
    return is_scalar || isStrided(input, depth - 1);
  });
}

/// `dropout(x, p, training)` returns x itself outside of training, and if p is 0.
Value* dropoutOfNothing(Node* node) {
  const auto probability = toIValue(node->input(1));
  if (!probability || !probability->isDouble()) return nullptr;
  const double p = probability->toDouble();
  const bool is_off = constantAs<bool>(node->input(2)) == false && p > 0 && p <= 1;  // others raise
  return is_off || p == 0 ? node->input(0) : nullptr;
}

/// `x.to(…)` returns x itself if it has the dtype and is on the device; what is None stays.
Value* toSameType(Node* node) {
  const auto* tensor = tensorType(node->input(0));
  if (!tensor) return nullptr;
  const auto& arguments = operatorOf(*node)->schema().arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& name = arguments[i].name();
    if (name == "non_blocking") continue;
    const auto wanted = toIValue(node->input(i));
    if (!wanted) return nullptr;
    if (wanted->isNone() && arguments[i].type()->kind() == TypeKind::OptionalType) continue;
    const bool stays = (name == "dtype" && wanted->isInt() && tensor->scalarType() &&
                        wanted->toInt() == static_cast<int64_t>(*tensor->scalarType())) ||
                       (name == "device" && wanted->isDevice() && tensor->device() == wanted->toDevice()) ||
                       (name == "copy" && wanted->isBool() && !wanted->toBool());
    if (!stays) return nullptr;
  }
  return node->input(0);
}

/// `x.cpu()` returns x itself if it is there.
Value* onCpu(Node* node) {
  const auto* tensor = tensorType(node->input(0));
  return tensor && tensor->device() && tensor->device()->is_cpu() ? node->input(0) : nullptr;
}

/// `x.type_as(y)` and `x.to(y)` return x itself if both have one dtype and device.
Value* asSameType(Node* node) {
  const auto *tensor = tensorType(node->input(0)), *other = tensorType(node->input(1));
  if (!tensor || !other || !tensor->scalarType() || !tensor->device()) return nullptr;
  const bool same = tensor->scalarType() == other->scalarType() && tensor->device() == other->device();
  return same && isStrided(node->input(0)) && isStrided(node->input(1)) ? node->input(0) : nullptr;
}

/// `x.to(y)`.
Value* toSameTypeAsOther(Node* node) {
  const bool copies = constantAs<bool>(node->input(3)) != false || !isNoneConstant(node->input(4));
  return copies ? nullptr : asSameType(node);
}

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

/// A gradient that nothing was broadcast for.
Value* sumToNoSize(Node* node) {
  return noneness(node->input(1)) == Noneness::Always ? node->input(0) : nullptr;
}

Value* sameValue(Node* node) {
  return node->input(0);
}

/// `x in [1, 2, 3]` of constants.
Value* isElement(Node* node) {
  const Node* list = node->input(0)->node();
  const auto wanted = toIValue(node->input(1));
  const auto isComparable = [](const std::optional<c10::IValue>& value) {
    return value && (value->isString() || value->isInt());
  };
  if (list->kind() != prim::ListConstruct || node->input(0)->uses().size() != 1 || !isComparable(wanted))
    return nullptr;
  bool found = false;
  for (const Value* element : list->inputs()) {
    const auto known = toIValue(element);
    if (!isComparable(known)) return nullptr;
    found |= known->isString() == wanted->isString() && *known == *wanted;
  }
  return insertConstantBefore(node, found);
}

template <typename F>
Value* ofTensor(Node* node, F answer) {
  const auto* tensor = tensorType(node->input(0));
  if (!tensor) return nullptr;
  const auto known = answer(*tensor);
  return known ? insertConstantBefore(node, *known) : nullptr;
}

const std::unordered_map<std::string_view, Rule>& rules() {
  static const auto* table = new std::unordered_map<std::string_view, Rule>{
      {"aten::__is__", [](Node* node) { return foldIdentityTest(node, false); }},
      {"aten::__isnot__", [](Node* node) { return foldIdentityTest(node, true); }},
      {"aten::_unwrap_optional",
       [](Node* node) -> Value* { return noneness(node->input(0)) == Noneness::Never ? node->input(0) : nullptr; }},
      {"prim::unchecked_unwrap_optional",
       [](Node* node) -> Value* { return noneness(node->input(0)) == Noneness::Never ? node->input(0) : nullptr; }},
      {"aten::Size", sameValue},
      {"aten::_grad_sum_to_size", sumToNoSize},
      {"aten::dropout", dropoutOfNothing},
      {"aten::feature_dropout", dropoutOfNothing},
      {"aten::alpha_dropout", dropoutOfNothing},
      {"aten::cpu", onCpu},
      {"aten::to.device", toSameType},
      {"aten::to.dtype", toSameType},
      {"aten::to.dtype_layout", toSameType},
      {"aten::to.other", toSameTypeAsOther},
      {"aten::to.prim_Device", toSameType},
      {"aten::to.prim_dtype", toSameType},
      {"aten::type_as", asSameType},
      {"aten::__not__",
       [](Node* node) -> Value* {
         Node* inner = node->input(0)->node();
         return isBasic(inner, Basic::Not) && inner->input(0)->type()->kind() == TypeKind::BoolType ? inner->input(0)
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
         if (!isBasic(list, Basic::Sizes)) return nullptr;
         const auto* tensor = tensorType(list->input(0));
         if (!tensor || !tensor->dim()) return nullptr;
         const auto uses = node->input(0)->uses();
         // A list that is changed has another length.
         for (const Use& use : uses) {
           const Operator* op = isStructural(use.user->kind()) ? nullptr : operatorOf(*use.user);
           if (!op || op->isMutable() || op->hasSideEffects()) return nullptr;
         }
         return insertConstantBefore(node, static_cast<int64_t>(*tensor->dim()));
       }},
      {"prim::dtype",
       [](Node* node) {
         return ofTensor(node, [](const c10::TensorType& t) -> std::optional<int64_t> {
           if (!t.scalarType()) return std::nullopt;
           return static_cast<int64_t>(*t.scalarType());
         });
       }},
      {"prim::layout",
       [](Node* node) -> Value* {
         return isStrided(node->input(0)) ? insertConstantBefore(node, static_cast<int64_t>(at::kStrided)) : nullptr;
       }},
      {"aten::__contains__.str_list", isElement},
      {"aten::__contains__.int_list", isElement},
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
    if (node->kind() == prim::unchecked_cast)
      return *node->input(0)->type() == *node->output()->type() ? node->input(0) : nullptr;
    if (node->kind() == prim::isinstance) return knownInstance(node);
    if (node->kind() == prim::GetAttr && node->output()->type()->kind() == TypeKind::NoneType &&
        node->output()->hasUses())
      return insertConstantBefore(node, c10::IValue());
    if (isStructural(node->kind())) return nullptr;
    const Operator* op = operatorOf(*node);
    if (!op) return nullptr;
    if (isNumberOfTensor(op->fullName())) return numberOfTensor(node);
    if (op->fullName() == "aten::__getitem__.t") return sizeOfDimension(node);
    if (op->fullName() == "aten::size.int") return knownSize(node);
    const auto rule = rules().find(op->fullName());
    return rule == rules().end() ? nullptr : rule->second(node);
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
    if (list->node()->kind() != prim::ListConstruct || elements.size() != unpack->outputs().size() || isWritten(list))
      return false;
    for (size_t i = 0; i < elements.size(); ++i) unpack->output(i)->replaceAllUsesWith(elements[i]);
    unpack->destroy();
    return true;
  }

  static bool isNumberOfTensor(std::string_view name) {
    return name == "aten::Int.Tensor" || name == "aten::IntImplicit" || name == "aten::Float.Tensor" ||
           name == "aten::FloatImplicit";
  }

  /// Traces make a tensor of each size, and a number of the tensor again.
  Value* numberOfTensor(Node* node) {
    Node* made = node->input(0)->node();
    if (!isBasic(made, Basic::ToTensor) || isWritten(made->output())) return nullptr;
    const TypeKind number = made->input(0)->type()->kind(), wanted = node->output()->type()->kind();
    const bool is_number = number == TypeKind::IntType || number == TypeKind::FloatType;
    return is_number && number == wanted ? made->input(0) : nullptr;
  }

  /// The size of a dimension that the tensor's type has as a number.
  Value* knownSize(Node* node) {
    const auto* tensor = tensorType(node->input(0));
    const auto index = constantAs<int64_t>(node->input(1));
    if (!tensor || !tensor->dim() || !index || isWritten(node->input(0))) return nullptr;
    const auto rank = static_cast<int64_t>(*tensor->dim());
    if (*index >= rank || *index < -rank) return nullptr;
    const auto size = tensor->sizes()[static_cast<size_t>(*index < 0 ? *index + rank : *index)];
    return size ? insertConstantBefore(node, *size) : nullptr;
  }

  /// `x.shape[1]` needs no list of all sizes.
  Value* sizeOfDimension(Node* node) {
    Node* sizes = node->input(0)->node();
    if (!isBasic(sizes, Basic::Sizes)) return nullptr;
    const auto* tensor = tensorType(sizes->input(0));
    const auto index = constantAs<int64_t>(node->input(1));
    if (!tensor || !tensor->dim() || !index) return nullptr;
    const auto rank = static_cast<int64_t>(*tensor->dim());
    if (*index >= rank || *index < -rank || isWritten(sizes->output()) || isWritten(sizes->input(0))) return nullptr;
    const InsertPointGuard guard(graph_, node);
    return insertBasic(graph_, Basic::Size, {sizes->input(0), node->input(1)})->copyLocation(node)->output();
  }

  bool isWritten(const Value* value) {
    if (!memory_) memory_ = aliasesOf(graph_);
    return memory_->hasWriters(value);
  }

  Graph& graph_;
  std::shared_ptr<AliasDb> memory_;  // of the graph before the first change: the rules take no writer away
};

}  // namespace

static bool simplifyByTypes(Graph& graph) {
  return Simplifier(graph).run(graph.block());
}

CRESSET_PASS(simplifyByTypes, "peephole", All, "Replace what the types of values tell already")

}  // namespace cresset
