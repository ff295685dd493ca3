#include "cresset/functionalization/functionalize.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "cresset/analysis/plain_types.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/functionalization/attributes.h"
#include "cresset/functionalization/places.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/functionalization/view_writes.h"
#include "cresset/functionalization/writes.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/insert_graph.h"
#include "cresset/ir/structure.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/pipelines.h"

namespace cresset {

namespace {

/// Whether code in `block` can use the value.
bool isVisibleIn(const Value* value, const Block* block) {
  const Block* own = value->owningBlock();
  while (block && block != own) block = block->owningNode() ? block->owningNode()->owningBlock() : nullptr;
  return block == own;
}

/// Whether the view is `x[:]`, which has all elements of `x` in their places.
bool isWholeSlice(const Node& view) {
  if (view.kind() != aten::slice || view.inputs().size() != 5) return false;
  const auto isBound = [&](size_t i, int64_t bound) {
    return isNoneConstant(view.input(i)) || constantAs<int64_t>(view.input(i)) == bound;
  };
  return isBound(2, 0) && isBound(3, std::numeric_limits<int64_t>::max()) && constantAs<int64_t>(view.input(4)) == 1;
}

/// Rows and columns of `x[:]`, and what is put into it, are those of `x`: there `x[:, 1:] = y` is one scatter into `x`.
/// Of dimensions both refuse the same, so that no error is lost. Nothing may change the sizes of tensors.
void skipWholeSlices(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) skipWholeSlices(inner);
    const Symbol kind = node->kind();
    const bool takes_dimension = kind == aten::slice || kind == aten::select || kind == Symbol::aten("slice_scatter") ||
                                 kind == Symbol::aten("select_scatter");
    if (!takes_dimension) continue;
    while (isWholeSlice(*node->input(0)->node())) node->replaceInput(0, node->input(0)->node()->input(0));
  }
}

bool isOptional(const Value* value) {
  return value->type()->kind() == c10::TypeKind::OptionalType;
}

bool isCastOf(const Value* value, const Value* optional) {
  return value->node()->kind() == prim::unchecked_cast && value->node()->input(0) == optional;
}

bool isLoopCounter(const Value* value) {
  const Node* loop = value->owningBlock()->owningNode();
  return loop && loop->kind() == prim::Loop && value == loop->blocks()[0]->inputs()[0];
}

/// The type of a tensor that is now another: whether it requires a gradient is not known of that.
c10::TypePtr typeOf(const Value* before) {
  if (isOptional(before)) return c10::OptionalType::ofTensor();
  const auto type = before->type()->expect<c10::TensorType>();
  return c10::TensorType::create(type->scalarType(), type->device(), type->dim(), /*requires_grad=*/std::nullopt);
}

/// Goes through the graph in order and keeps, for each tensor whose writes go, the value that it has there. Views of it
/// are made again where they are read after a write; what was made is used until the next one.
class Functionalizer {
 public:
  Functionalizer(Graph& graph, const Places& places, const Writes& writes)
      : graph_(graph), places_(places), writes_(writes) {
    findWritten(graph.block());
    for (const auto& memory : writes.all()) {
      if (!memory->is_input || !memory->reason.empty()) continue;
      closed_before_[memory->closed_before ? memory->closed_before : graph.block()->returnNode()].push_back(
          memory.get());
    }
  }

  void run() {
    visit(graph_.block());
    // What they returned is not used any more.
    for (auto node = replaced_.rbegin(); node != replaced_.rend(); ++node) (*node)->destroy();
  }

 private:
  struct Made {
    const Value* of;  // the root's value that it was made of
    Value* value;
    const Node* at;  // where it was first used
  };
  using Roots = std::vector<const Value*>;

  /// Which tensors the blocks of each node write to, that were made outside of it, in the order of their first write.
  Roots findWritten(Block* block) {
    Roots roots;
    std::unordered_set<const Value*> seen;
    const auto add = [&](const Value* root) {
      if (root->owningBlock() != block && seen.insert(root).second) roots.push_back(root);
    };
    for (Node* node : block->nodes()) {
      if (writes_.isRemovable(node)) {
        for (const Value* tensor : writes_.tensors(node)) add(rootOf(tensor));
      }
      Roots inner;
      std::unordered_set<const Value*> seen_inside;
      for (Block* body : node->blocks()) {
        for (const Value* root : findWritten(body)) {
          if (seen_inside.insert(root).second) inner.push_back(root);
        }
      }
      for (const Value* root : inner) add(root);
      if (!inner.empty()) written_[node] = std::move(inner);
    }
    return roots;
  }

  const Value* rootOf(const Value* tensor) const { return places_.of(tensor)->root; }

  bool isOffTape(const Value* tensor, const Node* node) const {
    return writes_.isOffTape(node, *writes_.removable(rootOf(tensor)));
  }

  /// Whether autograd may keep what the tensor is before the node writes to it. Functional calls are given copies.
  bool isKept(const Value* tensor, const Node* node) const {
    const Operator* reuse = writes_.mayResize(node) ? nullptr : operatorOf(*node)->inPlaceReuse();
    return reuse && !isOffTape(tensor, node) && mayBeKeptBy(*reuse, node, 0);
  }

  /// Whether the value of a tensor may be the memory of an argument, which gets its last value at the end.
  bool mayBeArgument(const Value* value) const {
    return value->node() == graph_.block()->paramNode() || may_be_arguments_.contains(value);
  }

  /// The value, or a copy if it lies in the memory of the argument. That of a view lies as the view does.
  Value* apartFrom(Value* argument, Value* value) {
    const bool is_copy = value == argument || isCastOf(value, argument);
    Node* node = is_copy ? insertBasic(graph_, Basic::Clone, {value, graph_.insertConstant(c10::IValue())})
                         : insertBasic(graph_, Basic::ApartFrom, {value, asTensor(argument)});
    return node->output()->setType(value->type());
  }

  void visit(Block* block) {
    for (Node* node : block->nodesSafely()) {
      close(node);
      if (writes_.isRemovable(node)) {
        write(node);
      } else {
        useCurrent(node);
        visitBlocks(node);
        remember(node);
      }
    }
    close(block->returnNode());
    useCurrent(block->returnNode());
  }

  void useCurrent(Node* node) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Value* now = current(node->input(i), node);
      if (now != node->input(i)) node->replaceInput(i, now);
    }
  }

  const Place* followed(const Value* value) const {
    const Place* place = places_.of(value);
    return place && writes_.removable(place->root) ? place : nullptr;
  }

  /// The tensor that an optional holds, where it is known to hold one.
  Value* asTensor(Value* value) {
    if (!isOptional(value)) return value;
    return graph_.insertNode(graph_.create(prim::unchecked_cast, {value}))->output()->setType(c10::TensorType::get());
  }

  /// What stands for the value at a node.
  Value* current(Value* value, Node* at) {
    const Place* place = followed(value);
    if (!place) return value;
    if (place->kind == Place::Kind::Root) {
      Value* now = rootNow(place->root);
      if (isOptional(value)) return now;
      if (isCastOf(value, now)) return value;
    }
    return current(*place, at);
  }

  Value* rootNow(const Value* root) const {
    const auto found = now_.find(root);
    return found == now_.end() ? const_cast<Value*>(root) : found->second;
  }

  Value* current(const Place& place, Node* at) {
    Value* const root = rootNow(place.root);
    std::vector<const Place*> missing;
    Value* value = root;
    for (const Place* step = &place; step->kind != Place::Kind::Root; step = step->parent) {
      const auto found = made_.find(step);
      if (found != made_.end() && found->second.of == root && isVisibleIn(found->second.value, at->owningBlock()) &&
          writes_.isUsableAt(found->second.at, at)) {
        value = found->second.value;
        break;
      }
      missing.push_back(step);
    }
    if (isOptional(value)) {
      const InsertPointGuard guard(graph_, at);
      graph_.setLocation(at->sourceRange(), at->inlinedCall());
      value = asTensor(value);
    }
    for (auto step = missing.rbegin(); step != missing.rend(); ++step) {
      value = make(**step, value, at);
      made_[*step] = {root, value, at};
    }
    return value;
  }

  Value* make(const Place& place, Value* parent, Node* at) {
    const InsertPointGuard guard(graph_, at);
    if (place.kind == Place::Kind::Element) {
      graph_.setLocation(at->sourceRange(), at->inlinedCall());
      Value* index = place.position ? place.position : graph_.insertConstant(c10::IValue(place.index));
      return insertBasic(graph_, Basic::Element, {parent, index})->output();
    }
    Node* view = graph_.createClone(
        place.view, [&](Value* input) { return input == place.view->input(0) ? parent : current(input, at); });
    graph_.insertNode(view);
    return view->output()->copyMetadata(place.view->output());
  }

  /// The node has just made what its outputs are, of the roots' values as they are here.
  void remember(Node* node) {
    for (Value* output : node->outputs()) {
      const Place* place = places_.isOwn(output) ? followed(output) : nullptr;
      if (place && place->kind != Place::Kind::Root) made_[place] = {rootNow(place->root), output, node};
    }
  }

  void write(Node* node) {
    const std::vector<const Value*>& tensors = writes_.tensors(node);
    checkOverlaps(node);
    const std::vector<Value*> values = valuesOf(node, tensors);
    for (size_t i = 0; i < tensors.size(); ++i) {
      Value*& now = now_.try_emplace(rootOf(tensors[i]), rootNow(rootOf(tensors[i]))).first->second;
      Value* const before = now;
      set(*places_.of(tensors[i]), values[i], node);
      if (!isOffTape(tensors[i], node)) continue;
      const InsertPointGuard guard(graph_, node);
      graph_.setLocation(node->sourceRange(), node->inlinedCall());
      Value* tensor = asTensor(before);
      now = insertBasic(graph_, Basic::WithElements, {now, tensor})->output()->setType(typeOf(tensor));
    }
    replaced_.push_back(node);
  }

  /// What an operator raises for operands that are parts of what it writes. Running statistics may not be each other.
  void checkOverlaps(Node* node) {
    const Operator& op = *operatorOf(*node);
    if (hiddenWritesOf(op)) {
      const std::vector<const Value*>& tensors = writes_.tensors(node);
      for (size_t i = 1; i < tensors.size(); ++i) {
        if (!writes_.mayOverlap(tensors[i - 1], tensors[i], /*as_whole=*/true)) continue;
        const InsertPointGuard guard(graph_, node);
        graph_.setLocation(node->sourceRange(), node->inlinedCall());
        Value* one = current(const_cast<Value*>(tensors[i - 1]), node);
        Value* other = current(const_cast<Value*>(tensors[i]), node);
        insertBasic(graph_, Basic::CheckOverlap, {one, other, graph_.insertConstant(c10::IValue(false))});
      }
    }
    const Overlap rule = overlapOf(op);
    if (rule == Overlap::Allowed) return;
    const bool by_element = writesLists(op);
    const std::vector<size_t> written = tensorWritesOf(op.schema());
    const std::vector<const Value*>& tensors = writes_.tensors(node);
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Value* read = node->input(i);
      if (std::ranges::find(written, i) != written.end()) continue;
      if (read->type()->kind() == c10::TypeKind::TensorType) {
        if (rule == Overlap::PairsOnly) continue;
        for (const Value* tensor : tensors) checkOverlap(node, tensor, read, rule);
      } else if (read->node()->kind() == prim::ListConstruct && mayHoldTensors(*read->type())) {
        const auto elements = read->node()->inputs();
        for (size_t k = 0; k < elements.size(); ++k) {
          // A call for lists compares what has the same place in them.
          const size_t begin = by_element ? std::min(k, tensors.size()) : 0;
          const size_t end = by_element ? std::min(k + 1, tensors.size()) : tensors.size();
          for (size_t n = begin; n < end; ++n) checkOverlap(node, tensors[n], elements[k], rule);
        }
      }
    }
  }

  void checkOverlap(Node* node, const Value* written, Value* read, Overlap rule) {
    if (!writes_.mayOverlap(written, read, rule == Overlap::Refused)) return;
    const InsertPointGuard guard(graph_, node);
    graph_.setLocation(node->sourceRange(), node->inlinedCall());
    Value* now = current(const_cast<Value*>(written), node);
    Value* may_be_same = graph_.insertConstant(c10::IValue(rule != Overlap::Refused));
    insertBasic(graph_, Basic::CheckOverlap, {now, current(read, node), may_be_same});
  }

  /// What the tensors become that a node writes to: by the in-place reuse, if there is one, which may compute in the
  /// tensor's memory, or by a functional call.
  std::vector<Value*> valuesOf(Node* node, const std::vector<const Value*>& tensors) {
    std::vector<Value*> inputs;
    for (Value* input : node->inputs()) inputs.push_back(current(input, node));
    const Operator& op = *operatorOf(*node);
    const InsertPointGuard guard(graph_, node);
    graph_.setLocation(node->sourceRange(), node->inlinedCall());
    const bool may_resize = writes_.mayResize(node);
    const Operator* reuse = may_resize ? nullptr : op.inPlaceReuse();
    if (reuse) {
      // As in-place operators, it has autograd keep a copy of what is written.
      const Value* root = rootOf(tensors[0]);
      if (mayBeArgument(rootNow(root)) && isKept(tensors[0], node))
        inputs[0] = apartFrom(const_cast<Value*>(root), inputs[0]);
      Node* made = graph_.insertNode(graph_.create(reuse->kind(), inputs));
      made->bindOperator(reuse);
      return {made->output()->setType(typeOf(tensors[0]))};
    }
    const Operator& call = *op.functionalCall();
    inputs.push_back(graph_.insertConstant(c10::IValue(may_resize)));
    Node* made = graph_.create(call.kind(), inputs, call.schema().returns().size());
    graph_.insertNode(made)->bindOperator(&call);
    for (size_t i = 0; i < made->outputs().size(); ++i) made->output(i)->setType(call.schema().returns()[i].type());
    size_t next = 0;  // of the results
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      if (op.schema().returns()[i].alias_info()) continue;
      Value* result = made->output(next++)->setType(node->output(i)->type());
      replaceResult(node->output(i), result->copyMetadata(node->output(i)));
    }
    std::vector<Value*> values;
    for (const size_t argument : tensorWritesOf(op.schema())) {
      Value* result = made->output(next++);
      const Value* before = node->input(argument);
      if (before->type()->kind() == c10::TypeKind::TensorType) {
        values.push_back(result);
      } else if (before->type()->kind() == c10::TypeKind::ListType) {
        Node* list = graph_.create(prim::ListUnpack, {result}, before->node()->inputs().size());
        const auto elements = graph_.insertNode(list)->outputs();
        values.insert(values.end(), elements.begin(), elements.end());
      }  // else it is None
    }
    for (size_t i = 0; i < values.size(); ++i)
      values[i]->setType(may_resize ? c10::TypePtr(c10::TensorType::get()) : typeOf(tensors[i]));
    return values;
  }

  /// `result` is what a node that goes would have made.
  void replaceResult(Value* old, Value* result) {
    const Place* place = places_.isOwn(old) ? followed(old) : nullptr;
    if (place && place->kind == Place::Kind::Root) {
      now_[old] = result;
    } else {
      old->replaceAllUsesWith(result);
    }
  }

  void set(const Place& place, Value* value, Node* node) {
    const Place* step = &place;
    while (step->kind != Place::Kind::Root) {
      const Place* views = step->kind == Place::Kind::Element ? step->parent : step;
      Value* base = current(*views->parent, node);
      value = reversed(*views, *step, base, value, node);
      value->setType(typeOf(base));
      step = views->parent;
    }
    now_[place.root] = value;
  }

  /// `base` once its view, one of `views`, has become `view`.
  Value* reversed(const Place& views, const Place& which, Value* base, Value* view, Node* at) {
    if (isWholeSlice(*views.view)) return view;
    const Graph& inverse = inverseOf(*operatorOf(*views.view));
    std::vector<Value*> arguments;
    for (Value* input : views.view->inputs()) arguments.push_back(current(input, at));
    arguments[0] = base;
    arguments.push_back(view);
    if (views.kind == Place::Kind::List) {
      const InsertPointGuard guard(graph_, at);
      graph_.setLocation(at->sourceRange(), at->inlinedCall());
      arguments.push_back(positionOf(views, which, at));
    }
    return insertGraph(inverse, arguments, at)[0];
  }

  /// Where the element stands in its list, from the beginning.
  Value* positionOf(const Place& list, const Place& element, Node* at) {
    const auto length = [&] { return insertBasic(graph_, Basic::Length, {current(list, at)})->output(); };
    if (!element.position) {
      Value* index = graph_.insertConstant(c10::IValue(element.index));
      return element.index >= 0 ? index : insertBasic(graph_, Basic::Add, {length(), index})->output();
    }
    if (isLoopCounter(element.position)) return element.position;
    // The remainder: the element has been read, so that the index is one of the list.
    Value* count = length();
    Value* wraps = insertBasic(graph_, Basic::FloorDivide, {element.position, count})->output();
    Value* begin = insertBasic(graph_, Basic::Multiply, {wraps, count})->output();
    return insertBasic(graph_, Basic::Subtract, {element.position, begin})->output();
  }

  void visitBlocks(Node* node) {
    const auto found = written_.find(node);
    const Roots roots = found == written_.end() ? Roots() : found->second;
    const bool is_loop = node->kind() == prim::Loop;
    std::vector<Value*> before;
    for (const Value* root : roots) before.push_back(rootNow(root));
    if (is_loop) {
      for (Value* value : before) node->addInput(value);
    }
    std::vector<bool> may_be_arguments(roots.size());
    for (size_t i = 0; i < roots.size(); ++i) may_be_arguments[i] = is_loop && mayBeArgument(before[i]);
    for (Block* block : node->blocks()) {
      for (size_t i = 0; i < roots.size(); ++i) {
        Value*& now = now_[roots[i]];
        now = is_loop ? block->addInput()->setType(typeOf(before[i])) : before[i];
        if (may_be_arguments[i]) may_be_arguments_.insert(now);
      }
      visit(block);
      for (size_t i = 0; i < roots.size(); ++i) {
        Value* now = now_.at(roots[i]);
        block->registerOutput(now);
        if (mayBeArgument(now)) may_be_arguments[i] = true;
      }
    }
    for (size_t i = 0; i < roots.size(); ++i) {
      Value*& now = now_[roots[i]];
      now = node->addOutput()->setType(typeOf(before[i]));
      if (may_be_arguments[i]) may_be_arguments_.insert(now);
    }
  }

  /// Gives the tensors that came in what they have become, if it is time for that.
  void close(Node* at) {
    const auto found = closed_before_.find(at);
    if (found == closed_before_.end()) return;
    for (const WrittenMemory* memory : found->second) {
      Value* input = const_cast<Value*>(memory->root);
      if (rootNow(input) == input) continue;
      const InsertPointGuard guard(graph_, at);
      graph_.setLocation(memory->writes.back()->sourceRange(), memory->writes.back()->inlinedCall());
      insertCopy(*memory, input)->output()->setType(typeOf(input));
      // From here on the input is read itself, and so are the views that were made of it before it was written.
      now_.erase(input);
    }
  }

  Node* insertCopy(const WrittenMemory& memory, Value* input) {
    const bool is_written = !mayBeArgument(rootNow(input));
    const bool is_off_tape =
        std::ranges::all_of(memory.writes, [&](const Node* node) { return writes_.isOffTape(node, memory); });
    if (is_off_tape) return insertBasic(graph_, Basic::NoGradCopy, {input, rootNow(input)});
    if (!is_written || isOptional(input)) return insertBasic(graph_, Basic::CopyIfWritten, {input, rootNow(input)});
    return insertBasic(graph_, Basic::Copy, {input, rootNow(input), graph_.insertConstant(c10::IValue(false))});
  }

  Graph& graph_;
  const Places& places_;
  const Writes& writes_;
  std::unordered_map<const Node*, Roots> written_;
  std::unordered_set<const Value*> may_be_arguments_;  // besides the graph's inputs
  std::unordered_map<const Node*, std::vector<const WrittenMemory*>> closed_before_;
  std::unordered_map<const Value*, Value*> now_;
  std::unordered_map<const Place*, Made> made_;
  std::vector<Node*> replaced_;
};

/// Whether something is written that the graph reads from a list, dict or tuple, and that is not known.
bool writesToElements(const Block* block, const Places& places) {
  return std::ranges::any_of(block->nodes(), [&](const Node* node) {
    const bool is_in_blocks =
        std::ranges::any_of(node->blocks(), [&](const Block* inner) { return writesToElements(inner, places); });
    if (is_in_blocks || isStructural(node->kind())) return is_in_blocks;
    return std::ranges::any_of(writesOfNode(*node).tensors, [&](const Value* tensor) {
      const Symbol source = tensor->node()->kind();
      const bool is_element = isBasic(tensor->node(), Basic::Element) || source == prim::ListUnpack ||
                              source == prim::TupleUnpack || source == prim::TupleIndex;
      return is_element && !places.of(tensor);
    });
  });
}

void addCalls(Block* block, std::vector<NodeLeft>& left) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) addCalls(inner, left);
    if (node->kind() == prim::CallFunction || node->kind() == prim::CallMethod)
      left.push_back({node, "what it calls may write; cresset.passes.inline comes first"});
  }
}

}  // namespace

Functionalized functionalize(Graph& graph, bool inputs_are_distinct) {
  Functionalized result;
  const HoistedAttributes attributes(graph);
  result.changed = replaceTwins(graph);
  result.changed |= replaceViewWrites(graph);
  std::optional<Places> found(std::in_place, graph);
  if (writesToElements(graph.block(), *found) && readKnownContainers(graph)) {
    result.changed = true;
    found.emplace(graph);
  }
  if (splitListWrites(graph, *found)) {
    result.changed = true;
    found.emplace(graph);
  }
  const Places& places = *found;
  const Writes writes(graph, places, inputs_are_distinct);
  const auto& memories = writes.all();
  const bool is_written =
      std::any_of(memories.begin(), memories.end(), [](const auto& memory) { return memory->reason.empty(); });
  if (is_written) Functionalizer(graph, places, writes).run();
  if (is_written && tensorWrites(graph) <= TensorWrites::Elements) skipWholeSlices(graph.block());
  result.changed |= is_written;
  for (const auto& [position, left] : writes.left()) result.left.push_back({left.first, left.second});
  addCalls(graph.block(), result.left);
  return result;
}

void tidyFunctional(Graph& graph) {
  // Inverses of views bring constants, which decide their branches, and lists of numbers.
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    bool changed = propagateConstants(graph);
    changed |= simplifyBranches(graph);
    changed |= removeListMutation(graph);
    if (!changed) break;
  }
  mergeCommonSubexpressions(graph);
  eliminateDeadCode(graph);
  poolConstants(graph);
}

}  // namespace cresset
