// Writes into the types of tensors what is known of their sizes and strides, beside what "propagate-types" writes:
// numbers where types of the graph's inputs have numbers, and one symbol for each size that depends on a call
// (Type.symbolic_sizes() in Python), so that equal symbols are equal sizes.
//
// For people and programs that read graphs: plans hold for all sizes, and no pipeline runs it. Types of inputs are
// believed.
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cresset/analysis/facts.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/shape_computation.h"

namespace cresset {
namespace {

struct SizeOrder {
  bool operator()(const Size& a, const Size& b) const { return Size::compare(a, b) < 0; }
};

class ShapeWriter {
 public:
  ShapeWriter(Graph& graph, const GraphFacts& facts) : facts_(facts) {
    for (const Value* input : graph.inputs()) readInput(input);
  }

  bool write(Block* block) {
    bool changed = false;
    for (Node* node : block->nodes()) {
      for (Value* output : node->outputs()) changed |= refine(output);
      if (node->kind() == prim::TupleConstruct) changed |= refineTuple(node);
      for (Block* inner : node->blocks()) {
        for (Value* input : inner->inputs()) changed |= refine(input);
        changed |= write(inner);
      }
    }
    return changed;
  }

  /// What stands in types as a symbol.
  const Size* sizeOf(const c10::ShapeSymbol& symbol) const {
    for (const auto& [size, its_symbol] : symbols_) {
      if (its_symbol == symbol) return &size;
    }
    return nullptr;
  }

 private:
  /// Which sizes the symbols in types of inputs stand for.
  void readInput(const Value* input) {
    const auto* type = input->type()->castRaw<c10::TensorType>();
    const auto symbols = type ? type->symbolic_sizes().sizes() : std::nullopt;
    if (!symbols) return;
    const std::span<const Size> sizes = facts_.sizesOf(input);
    for (size_t i = 0; i < symbols->size(); ++i) {
      const c10::ShapeSymbol symbol = (*symbols)[i];
      if (symbol.is_static()) continue;
      const bool is_new = taken_.insert(symbol.value()).second;
      if (is_new && sizes.size() == symbols->size()) symbols_.emplace(sizes[i], symbol);
    }
  }

  /// `before`: the symbol that the type has already, which says nothing by itself: types without sizes have one for
  /// each dimension.
  c10::ShapeSymbol symbolOf(const Size& size, const c10::ShapeSymbol& before) {
    // A number in the type may be of other inputs: those that a trace has seen, before the inputs' types were changed.
    const auto constant = size.asConstant();
    if (constant && *constant >= 0) return c10::ShapeSymbol::fromStaticSize(*constant);
    if (before.is_static()) return before;
    if (size.isKnown()) {
      const auto found = symbols_.find(size);
      if (found != symbols_.end()) return found->second;
    }
    const c10::ShapeSymbol symbol = taken_.insert(before.value()).second ? before : c10::ShapeSymbol::newSymbol();
    taken_.insert(symbol.value());
    if (size.isKnown()) symbols_.emplace(size, symbol);
    return symbol;
  }

  bool refine(Value* value) {
    const std::span<const Size> sizes = facts_.sizesOf(value);
    const TensorFacts& facts = facts_.of(value);
    if (value->type()->kind() != c10::TypeKind::TensorType || !facts.rank || sizes.size() != *facts.rank) return false;
    const auto& type = value->type()->expectRef<c10::TensorType>();
    const auto before = type.symbolic_sizes().sizes();
    if (before && before->size() != sizes.size()) return false;
    std::vector<c10::ShapeSymbol> symbols;
    std::vector<int64_t> numbers, strides;
    for (size_t i = 0; i < sizes.size(); ++i) {
      symbols.push_back(symbolOf(sizes[i], before ? (*before)[i] : c10::ShapeSymbol::newSymbol()));
      if (symbols.back().is_static()) numbers.push_back(symbols.back().static_size());
    }
    for (const Size& stride : facts_.stridesOf(value)) {
      const auto number = stride.asConstant();
      if (number && *number >= 0) strides.push_back(*number);
    }
    const bool has_strides = numbers.size() == sizes.size() && strides.size() == sizes.size();
    if (symbols == before && (!has_strides || type.strides().concrete_sizes())) return false;
    // Sizes decide ranks, and those dtypes and more.
    const auto dtype = type.scalarType() ? type.scalarType() : facts.dtype;
    const auto device = type.device() ? type.device() : facts.device;
    const auto requires_grad = type.requiresGrad() ? type.requiresGrad() : facts.requires_grad;
    value->setType(
        has_strides ? c10::TensorType::create(
                          dtype, device, c10::VaryingShape<int64_t>(numbers), c10::VaryingShape<int64_t>(strides),
                          requires_grad)
                    : c10::TensorType::create(
                          dtype, device, c10::SymbolicShape(symbols), c10::VaryingShape<c10::Stride>(sizes.size()),
                          requires_grad));
    return true;
  }

  /// The tuple has what its elements' types say.
  static bool refineTuple(Node* node) {
    const TypePtr type = node->output()->type();
    std::vector<TypePtr> elements = type->containedTypes().vec();
    bool changed = false;
    for (size_t i = 0; i < elements.size() && i < node->inputs().size(); ++i) {
      const TypePtr& element = node->input(i)->type();
      if (*element == *elements[i] || !element->isSubtypeOf(*elements[i])) continue;
      elements[i] = element;
      changed = true;
    }
    if (changed) node->output()->setType(type->withContained(std::move(elements)));
    return changed;
  }

  const GraphFacts& facts_;
  std::map<Size, c10::ShapeSymbol, SizeOrder> symbols_;  // of what is no number
  std::set<int64_t> taken_;                              // symbols that stand for a size already
};

/// Computes sizes from the sizes of tensors that come in.
class SizeEmitter {
 public:
  explicit SizeEmitter(const Graph& shaped) : graph_(Graph::make()) {
    for (const Value* input : shaped.inputs()) {
      if (input->type()->kind() != c10::TypeKind::TensorType) continue;
      Value* sizes = graph_->addInput(input->hasDebugName() ? input->debugName() : "");
      lists_[input->unique()] = sizes->setType(c10::ListType::ofInts());
    }
  }

  bool canCompute(const Size& size) const {
    bool can = size.isKnown();
    size.visitVariables([&](const Size::Variable& variable) {
      can &= variable.kind == Size::Variable::Kind::Dimension && lists_.contains(variable.value);
    });
    return can;
  }

  Value* emit(const Size& size) {
    if (const auto constant = size.asConstant()) return constantInt(*constant);
    if (const auto found = emitted_.find(size); found != emitted_.end()) return found->second;
    Value* sum = nullptr;
    for (const Size::Term& term : size.terms()) {
      Value* product = nullptr;
      for (const Size::VariablePtr& factor : term.factors) {
        Value* value = emitVariable(*factor);
        product = product ? compute(Basic::Multiply, product, value) : value;
      }
      if (!product) {
        product = constantInt(term.coefficient);
      } else if (term.coefficient != 1) {
        product = compute(Basic::Multiply, product, constantInt(term.coefficient));
      }
      sum = sum ? compute(Basic::Add, sum, product) : product;
    }
    return emitted_[size] = sum;
  }

  std::shared_ptr<Graph> graph() const { return graph_; }

 private:
  Value* constantInt(int64_t number) { return graph_->insertConstant(number); }

  Value* compute(Basic operation, Value* a, Value* b) { return insertBasic(*graph_, operation, {a, b})->output(); }

  Value* emitVariable(const Size::Variable& variable) {
    if (variable.kind == Size::Variable::Kind::Quotient)
      return compute(Basic::FloorDivide, emit(variable.operands[0]), emit(variable.operands[1]));
    if (variable.kind == Size::Variable::Kind::Broadcast) {
      Value* all = emit(variable.operands[0]);
      for (size_t i = 1; i < variable.operands.size(); ++i) all = broadcast(all, emit(variable.operands[i]));
      return all;
    }
    return compute(Basic::Element, lists_.at(variable.value), constantInt(static_cast<int64_t>(variable.dim)));
  }

  /// `b if a == 1 else a`.
  Value* broadcast(Value* a, Value* b) {
    Value* is_one = compute(Basic::Equal, a, constantInt(1));
    Node* choice = graph_->insertNode(graph_->create(prim::If, {is_one}));
    choice->addBlock()->registerOutput(b);
    choice->addBlock()->registerOutput(a);
    return choice->output()->setType(c10::IntType::get());
  }

  const std::shared_ptr<Graph> graph_;
  std::map<size_t, Value*> lists_;  // by Value::unique() of the inputs that they are the sizes of
  std::map<Size, Value*, SizeOrder> emitted_;
};

/// The symbols of sizes in the order in which they stand in a block.
void collectSymbols(const Value* value, std::vector<c10::ShapeSymbol>& symbols) {
  const auto* type = value->type()->castRaw<c10::TensorType>();
  const auto sizes = type ? type->symbolic_sizes().sizes() : std::nullopt;
  if (!sizes) return;
  for (const c10::ShapeSymbol& symbol : *sizes) {
    if (!symbol.is_static() && std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
      symbols.push_back(symbol);
  }
}

void collectSymbols(Block* block, std::vector<c10::ShapeSymbol>& symbols) {
  for (const Value* input : block->inputs()) collectSymbols(input, symbols);
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) collectSymbols(inner, symbols);
    for (const Value* output : node->outputs()) collectSymbols(output, symbols);
  }
}

}  // namespace

ShapeComputation computeShapes(Graph& graph) {
  propagateTypes(graph, {});
  const GraphFacts facts = computeFactsOfSizedInputs(graph, {});
  ShapeWriter writer(graph, facts);
  writer.write(graph.block());
  SizeEmitter emitter(graph);
  ShapeComputation result{emitter.graph(), {}};
  std::vector<c10::ShapeSymbol> symbols;
  collectSymbols(graph.block(), symbols);
  for (const c10::ShapeSymbol& symbol : symbols) {
    const Size* size = writer.sizeOf(symbol);
    if (!size || !emitter.canCompute(*size)) continue;
    result.graph->registerOutput(emitter.emit(*size));
    result.symbols.push_back(symbol.value());
  }
  return result;
}

static bool propagateShapes(Graph& graph, const TypeAssumptions& assumptions) {
  const bool changed = propagateTypes(graph, assumptions);
  const GraphFacts facts = computeFactsOfSizedInputs(graph, assumptions);
  return ShapeWriter(graph, facts).write(graph.block()) || changed;
}

CRESSET_PASS_FOR_CALLS(
    propagateShapes, "propagate-shapes", All,
    "Find sizes and strides of tensors, as numbers and symbols, for people who read graphs")

}  // namespace cresset
