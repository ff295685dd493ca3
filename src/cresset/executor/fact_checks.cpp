#include "cresset/executor/fact_checks.h"

#include <ATen/core/jit_type.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/printer.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

Symbol checkKind() {
  static const Symbol kind = Symbol::fromQualString("cresset::check_facts");
  return kind;
}

class CheckInserter {
 public:
  CheckInserter(Graph& graph, bool with_requires_grad) : graph_(graph), with_requires_grad_(with_requires_grad) {}

  void visit(Block* block) {
    for (Value* input : block->inputs()) {
      if (Node* check = checkOf(input, "an input of its block")) block->prependNode(check), addConstants(check);
    }
    for (Node* node : block->nodesSafely()) {
      if (isConstantNode(*node) || node->kind() == checkKind()) continue;
      const std::string name = node->kind().toQualString();
      for (Value* input : node->inputs()) {
        if (isConstantNode(*input->node())) continue;
        if (Node* check = checkOf(input, "before " + name)) check->insertBefore(node), addConstants(check);
      }
      for (Block* inner : node->blocks()) visit(inner);
      Node* last = node;
      for (Value* output : node->outputs()) {
        Node* check = checkOf(output, "after " + name);
        if (!check) continue;
        check->insertAfter(last);
        addConstants(check);
        last = check;
      }
    }
  }

 private:
  static bool isConstantNode(const Node& node) {
    return node.kind() == prim::Constant || node.kind() == prim::Uninitialized;
  }

  /// A node, not yet in a block, that asserts the type of the value; null if the type promises nothing.
  Node* checkOf(Value* value, const std::string& where) {
    const auto* type = value->type()->castRaw<c10::TensorType>();
    if (!type) return nullptr;
    const bool knows_grad = with_requires_grad_ && type->requiresGrad().has_value();
    if (!type->scalarType() && !type->dim() && !type->device() && !knows_grad) return nullptr;
    facts_ = {
        type->scalarType() ? static_cast<int64_t>(*type->scalarType()) : -1,
        type->dim() ? static_cast<int64_t>(*type->dim()) : -1,
        type->device() ? c10::IValue(*type->device()) : c10::IValue(),
        knows_grad ? int64_t(*type->requiresGrad()) : int64_t(-1),
        "%" + value->debugName() + " : " + cresset::toString(*type) + ", " + where};
    Node* check = graph_.create(checkKind(), {value}, 0);
    check->copyLocation(value->node());
    return check;
  }

  void addConstants(Node* check) {
    for (const c10::IValue& fact : facts_) check->addInput(insertConstantBefore(check, fact));
  }

  Graph& graph_;
  bool with_requires_grad_;
  std::vector<c10::IValue> facts_;  // of the check that was made last
};

/// Asserts that sizes, strides and ints are what their expressions say. These are computed next to the values by nodes
/// of their own, from dimensions that are read as soon as their tensors are there, so that no tensor lives longer for
/// it. And that memory is new that is said to be.
class SizeCheckInserter {
 public:
  explicit SizeCheckInserter(Graph& graph)
      : graph_(graph), facts_(factsOf(graph, {}, /*with_sizes=*/true)), values_(graph.numValues()) {
    for (size_t value = 0; value < facts_->strides.size(); ++value) {
      for (const Size& stride : facts_->strides[value]) {
        stride.visitVariables([&](const Size::Variable& variable) {
          if (variable.kind == Size::Variable::Kind::Stride && variable.value != value)
            with_strides_.insert(variable.value);
        });
      }
    }
    for (const Size& number : facts_->ints) {
      number.visitVariables([&](const Size::Variable& variable) {
        if (variable.kind == Size::Variable::Kind::Stride) with_strides_.insert(variable.value);
      });
    }
  }

  void visit(Block* block) {
    Node* first = block->nodes().begin() == block->nodes().end() ? block->returnNode() : *block->nodes().begin();
    for (Value* input : block->inputs()) check(input, first);
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) visit(inner);
      Node* next = node->next();
      for (Value* output : node->outputs()) check(output, next);
      for (Value* output : node->outputs()) checkNew(output, next);
    }
  }

 private:
  void check(Value* value, Node* before) {
    if (value->unique() >= values_.size()) return;
    values_[value->unique()] = value;
    before_ = before;
    checkInt(value);
    const std::vector<Size>& sizes = facts_->sizes[value->unique()];
    if (sizes.empty()) return;
    bool says_more = false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      says_more |= sizes[i] != Size::ofDimension(value->unique(), i);
      Value* dim = constant(static_cast<int64_t>(i));
      dimensions_[value->unique()].push_back(insert(kSizeIfTensor, {value, dim}));
      if (with_strides_.contains(value->unique()))
        strides_[value->unique()].push_back(insert(kStrideIfTensor, {value, dim}));
    }
    if (says_more)
      insertCheck(
          value, kCheckSizes, {listOf(emitAll(sizes))},
          "%" + value->debugName() + " to have the sizes " + textOf(sizes));
    checkLayout(value);
  }

  /// Of an int that is computed, that it is what its expression says.
  void checkInt(Value* value) {
    const Size& known = facts_->ints[value->unique()];
    if (!known.isKnown() || known == Size::ofInt(value->unique()) || value->node()->kind() == prim::Constant) return;
    insertCheck(value, kCheckInt, {emit(known)}, "%" + value->debugName() + " to be " + textOf(known));
  }

  void checkLayout(Value* value) {
    const Contiguity contiguity = facts_->of(value).contiguity;
    std::vector<Size> strides(facts_->stridesOf(value).begin(), facts_->stridesOf(value).end());
    for (size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] == Size::ofStride(value->unique(), i)) strides[i] = Size::constant(-1);
    }
    const bool says_strides = std::any_of(
        strides.begin(), strides.end(), [](const Size& stride) { return stride.asConstant() != int64_t(-1); });
    if (contiguity == Contiguity::Unknown && !says_strides) return;
    Value* wanted = constant(static_cast<int64_t>(contiguity));
    Value* expected = listOf(emitAll(strides));
    insertCheck(
        value, kCheckLayout, {wanted, expected},
        "%" + value->debugName() + " to be " + std::string(nameOf(contiguity)) + ", with the strides " +
            textOf(strides));
  }

  /// That no argument, and no other result, has the value's memory.
  void checkNew(Value* value, Node* before) {
    if (value->unique() >= facts_->tensors.size() || !facts_->of(value).is_new) return;
    before_ = before;
    std::vector<Value*> others = value->node()->inputs().vec();
    others.insert(others.end(), value->node()->outputs().begin(), value->node()->outputs().end());
    for (Value* other : others) {
      if (other != value && mayHoldTensors(*other->type()))
        insertCheck(value, kCheckNew, {other}, "%" + value->debugName());
    }
  }

  void insertCheck(Value* value, Symbol kind, std::vector<Value*> inputs, const std::string& what) {
    inputs.insert(inputs.begin(), value);
    inputs.push_back(insertConstantBefore(before_, what));
    Node* node = graph_.create(kind, inputs, 0);
    node->insertBefore(before_);
    node->copyLocation(value->node());
  }

  Value* listOf(const std::vector<Value*>& numbers) {
    Node* node = graph_.create(prim::ListConstruct, numbers, 1);
    node->output()->setType(c10::ListType::ofInts());
    node->insertBefore(before_);
    return node->output();
  }

  std::string textOf(const Size& size) const {
    return size.toString([&](size_t id) { return "%" + values_[id]->debugName(); });
  }

  std::string textOf(const std::vector<Size>& sizes) const {
    std::string text = "[";
    for (const Size& size : sizes) {
      if (text.back() != '[') text += ", ";
      text += textOf(size);
    }
    return text + "]";
  }

  Value* constant(int64_t number) { return insertConstantBefore(before_, number); }

  Value* insert(Symbol kind, std::initializer_list<Value*> inputs) {
    Node* node = graph_.create(kind, inputs, 1);
    node->output()->setType(c10::IntType::get());
    node->insertBefore(before_);
    return node->output();
  }

  Value* compute(Basic operation, std::initializer_list<Value*> inputs) {
    const InsertPointGuard guard(graph_, before_);
    return insertBasic(graph_, operation, inputs)->output();
  }

  std::vector<Value*> emitAll(const std::vector<Size>& sizes) {
    std::vector<Value*> values;
    for (const Size& size : sizes) values.push_back(emit(size));
    return values;
  }

  Value* emit(const Size& size) {
    Value* sum = nullptr;
    for (const Size::Term& term : size.terms()) {
      Value* product = term.coefficient == 1 && !term.factors.empty() ? nullptr : constant(term.coefficient);
      for (const auto& factor : term.factors) {
        Value* value = emit(*factor);
        product = product ? compute(Basic::Multiply, {product, value}) : value;
      }
      sum = sum ? compute(Basic::Add, {sum, product}) : product;
    }
    return sum ? sum : constant(0);
  }

  Value* emit(const Size::Variable& variable) {
    switch (variable.kind) {
      case Size::Variable::Kind::Dimension:
        return dimensions_.at(variable.value)[variable.dim];
      case Size::Variable::Kind::Stride:
        return strides_.at(variable.value)[variable.dim];
      case Size::Variable::Kind::Int:
        return values_[variable.value];
      case Size::Variable::Kind::Quotient:
        return compute(Basic::FloorDivide, {emit(variable.operands[0]), emit(variable.operands[1])});
      case Size::Variable::Kind::Broadcast:
        break;
    }
    Value* all = emit(variable.operands[0]);
    for (size_t i = 1; i < variable.operands.size(); ++i)
      all = insert(kBroadcastSize, {all, emit(variable.operands[i])});
    return all;
  }

  const Symbol kSizeIfTensor = Symbol::fromQualString("cresset::size_if_tensor");
  const Symbol kBroadcastSize = Symbol::fromQualString("cresset::broadcast_size");
  const Symbol kStrideIfTensor = Symbol::fromQualString("cresset::stride_if_tensor");
  const Symbol kCheckSizes = Symbol::fromQualString("cresset::check_sizes");
  const Symbol kCheckInt = Symbol::fromQualString("cresset::check_int");
  const Symbol kCheckLayout = Symbol::fromQualString("cresset::check_layout");
  const Symbol kCheckNew = Symbol::fromQualString("cresset::check_new");
  Graph& graph_;
  const std::shared_ptr<const GraphFacts> facts_;
  std::vector<Value*> values_;                                            // by Value::unique()
  std::unordered_map<size_t, std::vector<Value*>> dimensions_, strides_;  // of tensors
  std::unordered_set<size_t> with_strides_;  // tensors whose strides stand in expressions of others
  Node* before_ = nullptr;
};

}  // namespace

void setFactChecks(FactChecks wanted) {
  setOption(Option::check_facts, allOptions()[size_t(Option::check_facts)].choices.at(size_t(wanted)));
}

void insertFactChecks(Graph& graph, bool with_requires_grad) {
  SizeCheckInserter(graph).visit(graph.block());
  CheckInserter(graph, with_requires_grad).visit(graph.block());
}

}  // namespace cresset
