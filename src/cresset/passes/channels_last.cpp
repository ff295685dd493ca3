// Convolutions that compute in channels-last layout with weights that are packed once, and everything between them that
// takes any layout: tensors are rearranged where a chain of them starts and where its results are used by something
// else, not at each convolution. Only for convolutions that allow it (allowAnyLayout): bits change.
//
// What can be seen does not change: a tensor that leaves a chain has the strides that it would have had. They depend on
// the strides of what comes in, which only the call knows, so each chain (a `Group`) asks that when it starts:
//
//   %wanted : bool = cresset::takes_channels_last([%x, %y], limit)       all are contiguous
//   %x1 : Tensor = cresset::channels_last(%x, %wanted)                   a copy if wanted, else x itself
//   %c1 : Tensor = cresset::convolution(%x1, ..., %packed, %wanted)
//   %r1 : Tensor = aten::relu(%c1)                                       as before, on what is there
//   %r : Tensor = cresset::contiguous(%r1, %wanted)                      for users outside of the chain
//
// If all tensors that come in are contiguous, the program would have made contiguous ones throughout, and so does
// cresset::contiguous at the end. If not, or if a weight is channels-last, the nodes compute in the layouts of the
// unoptimized program; where these are channels-last, cresset::convolution still has the packed weight.
#include "cresset/passes/channels_last.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/nesting.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/ops/packed_convolution.h"
#include "cresset/passes/constant_tensor.h"
#include "cresset/passes/pass.h"
#include "cresset/program/program.h"

namespace cresset {
namespace {

Symbol anyLayoutAttribute() {
  static const Symbol symbol = Symbol::attr("any_layout");
  return symbol;
}

const Operator* operatorIn(const Node* node) {
  return isStructural(node->kind()) ? nullptr : operatorOf(*node);
}

// ---- Convolutions.

bool isConvolution(const Node* node) {
  const Operator* op = operatorIn(node);
  return op && op->convolution();
}

/// An argument of a call by its name; null if the operator has none of that name.
Value* argumentOf(Node* node, const char* name) {
  const auto index = operatorOf(*node)->schema().argumentIndexWithName(name);
  return index ? node->input(static_cast<size_t>(*index)) : nullptr;
}

std::optional<std::vector<int64_t>> constantInts(const Value* value, size_t count) {
  std::vector<int64_t> numbers;
  if (value->node()->kind() == prim::ListConstruct) {
    for (const Value* element : value->node()->inputs()) {
      const auto number = toIValue(element);
      if (!number || !number->isInt()) return std::nullopt;
      numbers.push_back(number->toInt());
    }
  } else if (const auto constant = toIValue(value); constant && constant->isIntList()) {
    numbers = constant->toIntVector();
  } else if (constant && constant->isInt()) {
    numbers = {constant->toInt()};
  } else {
    return std::nullopt;
  }
  if (numbers.size() == 1) numbers.assign(count, numbers[0]);
  if (numbers.size() != count) return std::nullopt;
  return numbers;
}

/// "valid" and "same" as numbers; nothing if PyTorch pads one side more than the other.
std::optional<std::vector<int64_t>> paddingOf(
    const Value* value, const at::Tensor& weight, const ConvolutionShape& shape) {
  const size_t count = shape.stride.size();
  const auto constant = toIValue(value);
  if (!constant || !constant->isString()) return constantInts(value, count);
  std::vector<int64_t> padding(count, 0);
  if (constant->toStringRef() == "valid") return padding;
  if (constant->toStringRef() != "same") return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    const int64_t total = shape.dilation[i] * (weight.size(static_cast<int64_t>(i) + 2) - 1);
    if (shape.stride[i] != 1 || total % 2 != 0) return std::nullopt;
    padding[i] = total / 2;
  }
  return padding;
}

/// A convolution with a constant weight, packed.
struct Convolution {
  at::Tensor packed;
  bool channels_last = false;  // so is the weight, and PyTorch's own result
  int64_t weights = 0;         // how many
};

/// A dense tensor on the CPU that requires no gradient.
bool isPlainTensor(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  return type && type->dim() && type->requiresGrad() == false && type->device() && type->device()->is_cpu();
}

std::optional<Convolution> convolutionOf(Node* node) {
  if (!node->hasAttribute(anyLayoutAttribute())) return std::nullopt;
  if (!isConvolution(node) || !isPlainTensor(node->input(0))) return std::nullopt;
  const auto weight = constantTensor(node->input(1));
  const auto type = node->input(0)->type()->cast<c10::TensorType>();
  const int spatial = *operatorOf(*node)->convolution();
  if (!weight || weight->requires_grad() || weight->dim() < 3 || type->dim() != static_cast<size_t>(weight->dim()) ||
      type->scalarType() != weight->scalar_type() || (spatial != 0 && spatial + 2 != weight->dim()))
    return std::nullopt;
  const auto bias = constantTensor(node->input(2));
  if (bias ? bias->requires_grad() || bias->scalar_type() != weight->scalar_type() || bias->dim() != 1 ||
                 !bias->device().is_cpu()
           : !isNoneConstant(node->input(2)))
    return std::nullopt;
  const auto count = static_cast<size_t>(weight->dim() - 2);
  ConvolutionShape shape;
  const auto read = [&](const char* name, std::vector<int64_t>& numbers) {
    auto found = constantInts(argumentOf(node, name), count);
    if (found) numbers = std::move(*found);
    return found.has_value();
  };
  const bool has_output_padding = argumentOf(node, "output_padding") != nullptr;
  const auto groups = constantAs<int64_t>(argumentOf(node, "groups"));
  // A convolution whose schema doesn't ask is transposed if there is something to pad after it.
  const Value* is_transposed = argumentOf(node, "transposed");
  const auto transposed = is_transposed ? constantAs<bool>(is_transposed) : has_output_padding;
  if (!groups || !transposed || !read("stride", shape.stride) || !read("dilation", shape.dilation)) return std::nullopt;
  shape.groups = *groups;
  shape.transposed = *transposed;
  shape.output_padding.assign(count, 0);
  if (has_output_padding && !read("output_padding", shape.output_padding)) return std::nullopt;
  auto padding = paddingOf(argumentOf(node, "padding"), *weight, shape);
  if (!padding) return std::nullopt;
  shape.padding = std::move(*padding);
  if (bias && bias->size(0) != weight->size(shape.transposed ? 1 : 0) * (shape.transposed ? shape.groups : 1))
    return std::nullopt;
  auto packed = packedWeightOf(*weight, shape);
  if (!packed) return std::nullopt;
  const auto format = weight->suggest_memory_format();
  return Convolution{std::move(*packed), format != at::MemoryFormat::Contiguous, weight->numel()};
}

// ---- What stands between them.

/// Operators that return a new contiguous tensor for contiguous ones, of the same elements in any layout: pointwise
/// ones, and those that keep to the layout of what comes in, more or less.
bool isLayoutFree(Node* node) {
  if (isStructural(node->kind()) || !node->blocks().empty() || node->outputs().size() != 1) return false;
  const Operator* op = operatorOf(*node);
  if (!op || op->isMutable() || op->hasSideEffects() || !op->isDeterministic()) return false;
  const OperatorRow* row = findOperatorRow(op->fullName());
  if (!(op->isPure() || op->isInPlaceReuse() || (row && row->shares_if_empty))) return false;
  for (const c10::Argument& argument : op->schema().arguments()) {
    if (argument.name() == "memory_format" || argument.name() == "dtype") return false;
  }
  if (op->isPointwise()) return true;
  const Value* training = argumentOf(node, "training");
  return op->takesAnyLayout() && (!training || constantAs<bool>(training) == false);
}

bool asksForKind(const Node* node) {
  const Operator* op = operatorIn(node);
  return op && op->asksForKind();
}

// ---- Chains.

/// What computes in one layout, in one block.
struct Group {
  Node* first = nullptr;
  std::vector<Value*> sources;  // tensors that come in, and whose strides decide
  std::vector<Node*> nodes;
  int64_t weights = 0;
  bool chained = false;        // from a convolution to another
  bool channels_last = false;  // some weight makes results channels-last, whatever comes in
  Value* wanted = nullptr;
};

class Mover {
 public:
  explicit Mover(Graph& graph) : graph_(graph), memory_(aliasesOf(graph)), facts_(factsOf(graph, {})) {}

  bool run() {
    decide(graph_.block());
    // Those of inner blocks first: what comes in there may be the result of a convolution further out.
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      if (!group->nodes.empty()) rewrite(*group);
    }
    return !moved_.empty();
  }

 private:
  void decide(Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) decide(inner);
      if (node->outputs().size() != 1 || memory_->hasWriters(node->output())) continue;
      if (auto convolution = convolutionOf(node)) {
        decideConvolution(node, std::move(*convolution));
      } else if (isPlainTensor(node->output()) && isLayoutFree(node)) {
        decideOther(node);
      }
    }
  }

  void decideConvolution(Node* node, Convolution convolution) {
    Value* input = node->input(0);
    if (memory_->hasWriters(input) || memory_->hasWriters(node->input(1)) || memory_->hasWriters(node->input(2)))
      return;
    size_t index = groups_.size();
    if (const Group* known = groupOf(input, node)) {
      index = static_cast<size_t>(known - groups_.data());
      groups_[index].chained = true;
    } else {
      groups_.push_back({.first = node, .sources = {input}, .nodes = {}});
    }
    groups_[index].weights += convolution.weights;
    groups_[index].channels_last |= convolution.channels_last;
    add(index, node);
    convolutions_.emplace(node, std::move(convolution));
  }

  void decideOther(Node* node) {
    const std::vector<Value*> tensors = tensorsOf(node);
    std::vector<size_t> joined;
    std::vector<Value*> others;
    for (Value* tensor : tensors) {
      if (const Group* known = groupOf(tensor, node)) {
        joined.push_back(static_cast<size_t>(known - groups_.data()));
      } else if (!isPlainTensor(tensor) || memory_->hasWriters(tensor)) {
        return;
      } else if (const auto constant = constantTensor(tensor); !constant || !hasContiguousStrides(*constant)) {
        others.push_back(tensor);
      }
    }
    if (joined.empty()) return;
    const size_t index = *std::min_element(
        joined.begin(), joined.end(), [&](size_t a, size_t b) { return groups_[a].first->isBefore(groups_[b].first); });
    for (const size_t other : joined)
      others.insert(others.end(), groups_[other].sources.begin(), groups_[other].sources.end());
    // What decides must be there when the first of them starts. What comes later must be contiguous whatever comes in.
    const auto is_late = [&](Value* value) { return !isBefore(value, groups_[index].first); };
    if (std::any_of(others.begin(), others.end(), [&](Value* v) { return is_late(v) && !isContiguous(v); })) return;
    std::erase_if(others, is_late);
    for (const size_t other : joined) {
      if (other != index && !groups_[other].nodes.empty()) merge(index, other);
    }
    for (Value* other : others) addSource(groups_[index], other);
    add(index, node);
  }

  /// The tensors that a node takes, elements of a list that is made for it included; nothing if it takes others.
  std::vector<Value*> tensorsOf(Node* node) {
    std::vector<Value*> tensors;
    for (Value* input : node->inputs()) {
      if (input->type()->kind() == c10::TypeKind::TensorType) {
        tensors.push_back(input);
      } else if (input->type()->isSubtypeOf(*c10::ListType::ofTensors())) {
        const Node* list = input->node();
        if (list->kind() != prim::ListConstruct || input->uses().size() != 1 ||
            list->owningBlock() != node->owningBlock())
          return {};
        for (Value* element : list->inputs()) tensors.push_back(element);
      }
    }
    return tensors;
  }

  const Group* groupOf(const Value* value, const Node* user) const {
    const auto found = moved_.find(value);
    if (found == moved_.end() || value->node()->owningBlock() != user->owningBlock()) return nullptr;
    return &groups_[found->second];
  }

  /// Strides of dimensions of size 1, which facts don't know, are as usual in memory that an operator has made, and in
  /// views that keep it contiguous.
  bool isContiguous(const Value* value) const {
    if (facts_->of(value).contiguity != Contiguity::Contiguous) return false;
    while (!facts_->of(value).is_new) {
      const Operator* op = operatorIn(value->node());
      if (!op || !op->keepsContiguous()) return false;
      value = value->node()->input(0);
    }
    return true;
  }

  static bool isBefore(const Value* value, const Node* node) {
    return value->node()->isParam() || value->node()->isBefore(node);
  }

  static void addSource(Group& group, Value* value) {
    if (std::find(group.sources.begin(), group.sources.end(), value) == group.sources.end())
      group.sources.push_back(value);
  }

  void add(size_t index, Node* node) {
    groups_[index].nodes.push_back(node);
    moved_[node->output()] = index;
  }

  void merge(size_t into, size_t from) {
    Group &a = groups_[into], &b = groups_[from];
    for (Node* node : b.nodes) add(into, node);
    a.weights += b.weights;
    a.chained |= b.chained;
    a.channels_last |= b.channels_last;
    b.nodes.clear();
  }

  // Rewriting.

  Node* insertAt(Node* place, Symbol kind, std::span<Value* const> inputs, const c10::TypePtr& type) {
    const InsertPointGuard guard(graph_, place);
    Node* made = graph_.insertNode(graph_.create(kind, inputs))->copyLocation(place);
    made->output()->setType(type);
    return made;
  }

  Value* constantAt(Node* place, const c10::IValue& value) { return insertConstantBefore(place, value); }

  void rewrite(Group& group) {
    static const Symbol kTakes = Symbol::fromQualString("cresset::takes_channels_last");
    // A convolution alone gains what rearranging its weight costs.
    const int64_t limit = group.channels_last ? -1
                          : group.chained     ? std::numeric_limits<int64_t>::max()
                                              : group.weights / 4;
    Value* list = insertAt(group.first, prim::ListConstruct, group.sources, c10::ListType::ofTensors())->output();
    group.wanted =
        insertAt(group.first, kTakes, std::array{list, constantAt(group.first, limit)}, c10::BoolType::get())->output();
    std::sort(group.nodes.begin(), group.nodes.end(), [](Node* a, Node* b) { return a->isBefore(b); });
    std::unordered_map<Value*, Value*> entered;
    std::vector<Value*> results;
    for (Node* node : group.nodes) {
      Node* now = node;
      enter(group, node, entered);
      if (const auto found = convolutions_.find(node); found != convolutions_.end())
        now = replace(group, node, found->second);
      results.push_back(now->output());
      members_.insert(now);
    }
    for (Value* result : results) leave(group, result);
  }

  /// Tensors that come in take part in the layout, where they have the dimensions for it.
  void enter(Group& group, Node* node, std::unordered_map<Value*, Value*>& entered) {
    static const Symbol kEnter = Symbol::fromQualString("cresset::channels_last");
    const auto rank = node->output()->type()->expectRef<c10::TensorType>().dim();
    const bool is_convolution = convolutions_.contains(node);
    const auto visit = [&](Node* user) {
      for (size_t i = 0; i < (is_convolution ? 1 : user->inputs().size()); ++i) {
        Value* input = user->input(i);
        const auto type = input->type()->cast<c10::TensorType>();
        if (!type || type->dim() != rank || rank.value_or(0) < 3 || isConstant(input) || results_.contains(input))
          continue;
        Value*& inside = entered[input];
        if (!inside) inside = insertAt(node, kEnter, std::array{input, group.wanted}, type)->output();
        user->replaceInput(i, inside);
      }
    };
    for (Value* input : node->inputs()) {
      if (is_convolution || !input->type()->isSubtypeOf(*c10::ListType::ofTensors())) continue;
      Node* list = input->node();
      list->moveBefore(node);
      visit(list);
      members_.insert(list);
    }
    visit(node);
    results_.insert(node->output());
  }

  Node* replace(Group& group, Node* node, const Convolution& convolution) {
    static const Symbol kConvolution = Symbol::fromQualString("cresset::convolution");
    const std::array inputs{
        node->input(0), node->input(1), node->input(2), constantAt(node, convolution.packed), group.wanted};
    Node* made = insertAt(node, kConvolution, inputs, node->output()->type());
    node->output()->replaceAllUsesWith(made->output());
    results_.erase(node->output());
    results_.insert(made->output());
    node->destroy();
    return made;
  }

  /// Users outside of the chain get the result in the layout that it would have had.
  void leave(Group& group, Value* result) {
    static const Symbol kLeave = Symbol::fromQualString("cresset::contiguous");
    Value* outside = nullptr;
    for (const Use& use : result->uses().vec()) {
      if (members_.contains(use.user) || asksForKind(use.user)) continue;
      if (!outside)
        outside = insertAt(result->node()->next(), kLeave, std::array{result, group.wanted}, result->type())->output();
      use.user->replaceInput(use.offset, outside);
    }
  }

  Graph& graph_;
  const std::shared_ptr<AliasDb> memory_;
  const std::shared_ptr<const GraphFacts> facts_;
  std::vector<Group> groups_;
  std::unordered_map<const Value*, size_t> moved_;  // results, by their group
  std::unordered_map<const Node*, Convolution> convolutions_;
  std::unordered_set<const Value*> results_;  // of nodes that are rewritten
  std::unordered_set<const Node*> members_;
};

bool allowsAnyLayout(Block* block, std::unordered_set<const Function*>& seen) {
  return anyNode(block, [&](Node* node) {
    if (node->hasAttribute(anyLayoutAttribute())) return true;
    Function* callee = calleeOf(node);
    return callee && callee->isDefined() && seen.insert(callee).second &&
           allowsAnyLayout(callee->graph()->block(), seen);
  });
}

}  // namespace

void allowAnyLayout(Block* block) {
  anyNode(block, [](Node* node) {
    if (isConvolution(node)) node->setAttribute(anyLayoutAttribute(), Attribute(int64_t(1)));
    return false;
  });
}

bool hasConvolutionOfFixedLayout(const Block* block) {
  return anyNode(block, [](Node* node) { return isConvolution(node) && !node->hasAttribute(anyLayoutAttribute()); });
}

bool allowsAnyLayout(Graph& graph) {
  std::unordered_set<const Function*> seen;
  return allowsAnyLayout(graph.block(), seen);
}

static bool useChannelsLast(Graph& graph) {
  const bool wanted = anyNode(graph.block(), [](Node* node) { return node->hasAttribute(anyLayoutAttribute()); });
  return wanted && Mover(graph).run();
}

CRESSET_PASS(
    useChannelsLast, "channels-last", Nothing,
    "Compute convolutions that were allowed to, and what stands between them, in channels-last layout with packed "
    "weights")

}  // namespace cresset
