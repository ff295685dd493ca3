// The opposite of functionalization: memory whose value is not needed any more is written.
//
// A chain is what one memory becomes, step by step: an in-place reuse `b = cresset::add(a, x)`, a functional call, or
// the scatter of what became of a part, `b = aten::select_scatter(a, f(select(a, i)), i)`. Its steps become writes,
// `a.add_(x)`, `f_(select(a, i))`, where nothing reads a value of the chain once the next step has written it. A chain
// begins at
//  - an input, if it ends in the `aten::copy_` (`cresset::no_grad_copy_`) that gives the input its last value, and
//  nothing between looks at memory
//    that may be that of the input; a copy of the input that autograd may keep goes, as in-place operators make one;
//  - a tensor that an operator has made;
//  - a tensor that a loop carries, if it was made before the loop and only the loop has it, or is an argument of the
//    graph, which the first iteration copies.
// In the last two cases in-place reuses of the whole tensor stay as they are: they find out by themselves whether they
// may write.
//
// Other scatters become `cresset::select_assign` and `cresset::slice_assign`, which write into `base` where they hold
// the only reference to it. They broadcast and convert what they assign, scatters refuse it, so the part must be known
// to have the sizes: it is what an operator that keeps sizes made of the same part of `base`.
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <array>
#include <functional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/functionalization/attributes.h"
#include "cresset/functionalization/functionalize.h"
#include "cresset/functionalization/writes.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/nesting.h"
#include "cresset/ir/structure.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"

namespace cresset {

namespace {

const Operator* dispatched(const Node& node) {
  const Operator* op = knownOperator(node);
  return op && op->isOfDispatcher() ? op : nullptr;
}

/// Whether two values are the same, or equal constants.
bool areEqual(const Value* a, const Value* b) {
  if (a == b) return true;
  const auto one = toIValue(a), other = toIValue(b);
  return one && other && (one->isInt() || one->isNone()) && one->tagKind() == other->tagKind() &&
         (one->isNone() || one->toInt() == other->toInt());
}

/// Whether an operator made the tensor: then it is dense, and a copy of it has its strides.
bool isMade(const Value* tensor) {
  const Operator* op = knownOperator(*tensor->node());
  return op && (op->reusesFirst() || returnsNewMemory(*op, tensor->offset()));
}

struct ScatterForm {
  std::string_view scatter, view, assignment;
};
constexpr std::array<ScatterForm, 2> kScatters{
    {{"aten::select_scatter", "aten::select.int", "cresset::select_assign"},
     {"aten::slice_scatter", "aten::slice.Tensor", "cresset::slice_assign"}}};

const ScatterForm* scatterForm(const Node& node) {
  const Operator* op = dispatched(node);
  const auto found =
      std::ranges::find_if(kScatters, [&](const auto& form) { return op && op->fullName() == form.scatter; });
  return found == kScatters.end() ? nullptr : found;
}

/// Whether the value is the part of its first input that the scatter replaces.
bool isPartFor(const Value* value, const Node& scatter) {
  const Node& view = *value->node();
  const Operator* op = dispatched(view);
  if (!op || op->fullName() != scatterForm(scatter)->view || view.inputs()[0] != scatter.inputs()[0] ||
      view.inputs().size() + 1 != scatter.inputs().size())
    return false;
  for (size_t i = 1; i < view.inputs().size(); ++i) {
    if (!areEqual(view.inputs()[i], scatter.inputs()[i + 1])) return false;
  }
  return true;
}

/// The scatter's part is a tensor of the sizes that it replaces.
bool keepsSizesOfPart(const Node& scatter) {
  if (!isMade(scatter.inputs()[0])) return false;
  const Value* part = scatter.inputs()[1];
  while (!isPartFor(part, scatter)) {
    const Operator* op = dispatched(*part->node());
    if (!op || (!op->isInPlaceReuse() && !op->keepsSizes())) return false;
    part = part->node()->inputs()[0];
  }
  return true;
}

bool assignParts(Block* block) {
  bool changed = false;
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) changed |= assignParts(inner);
    const ScatterForm* form = scatterForm(*node);
    if (!form || !keepsSizesOfPart(*node)) continue;
    node->setKind(Symbol::fromQualString(std::string(form->assignment)));
    changed = true;
  }
  return changed;
}

/// Whether the node only reads, and nothing that comes out holds what it read.
bool onlyReads(const Node& node) {
  const Operator* op = dispatched(node);
  if (!op || op->isMutable()) return false;
  if (op->isInPlaceReuse()) return true;
  const auto outputs = node.outputs();
  return std::all_of(
      outputs.begin(), outputs.end(), [&](const Value* output) { return returnsNewMemory(*op, output->offset()); });
}

/// The in-place operator whose reuse the node calls; null if it calls none.
const Operator* inPlaceFormOf(const Node& node) {
  const Operator* op = knownOperator(node);
  if (!op || !op->isInPlaceReuse() || node.outputs().size() != 1) return nullptr;
  const std::string& overload = op->schema().overload_name();
  const std::string name = "aten::" + op->schema().name().substr(std::string_view("cresset::").size()) + "_" +
                           (overload.empty() ? "" : "." + overload);
  const Operator* form = OperatorTable::get().find(name);
  return form && form->inPlaceReuse() == op ? form : nullptr;
}

/// A step of a chain that writes: which operand it writes to, and which value that becomes.
struct Write {
  Node* node = nullptr;
  const Operator* writer = nullptr;  // what the node becomes
  size_t operand = 0;                // of the node; a list of tensors, if it has an element
  std::optional<size_t> element;
  Value* before = nullptr;
};

/// How the value was made of an earlier one of the same memory; none if it was not.
std::optional<Write> writeThatMakes(const Value* value) {
  Node* node = const_cast<Node*>(value->node());
  if (const Operator* form = inPlaceFormOf(*node)) return Write{node, form, 0, {}, node->input(0)};
  std::optional<size_t> element;
  size_t result = value->offset();
  if (node->kind() == prim::ListUnpack) {
    element = value->offset();
    result = node->input(0)->offset();
    node = node->input(0)->node();
  }
  const Operator* op = knownOperator(*node);
  if (!op || !op->isFunctionalCall()) return std::nullopt;
  const std::vector<size_t> written = tensorWritesOf(op->writer()->schema());
  const size_t others = node->outputs().size() - written.size();
  if (result < others) return std::nullopt;
  const size_t operand = written[result - others];
  const Node& list = *node->input(operand)->node();
  const bool is_list = isListOfTensors(op->writer()->schema().arguments()[operand]);
  if (is_list != element.has_value()) return std::nullopt;
  if (is_list && (list.kind() != prim::ListConstruct || list.inputs().size() <= *element)) return std::nullopt;
  return Write{node, op->writer(), operand, element, is_list ? list.inputs()[*element] : node->input(operand)};
}

/// How many tensors the node writes to once it is `write.writer`.
size_t numWritten(const Write& write) {
  if (inPlaceFormOf(*write.node)) return 1;
  size_t count = 0;
  for (const size_t operand : tensorWritesOf(write.writer->schema())) {
    const Value* argument = write.node->inputs()[operand];
    const bool is_list = isListOfTensors(write.writer->schema().arguments()[operand]);
    // No call writes to None.
    count += is_list ? argument->node()->inputs().size() : argument->type()->kind() != c10::TypeKind::NoneType;
  }
  return count;
}

/// What the value is a copy of, in the same layout, if it is read once; null of other values.
Value* copiedFor(const Value* value) {
  const Node& node = *value->node();
  if (value->uses().size() != 1) return nullptr;
  if (isBasic(node, Basic::ApartFrom)) return node.inputs()[0];
  if (!isBasic(node, Basic::Clone)) return nullptr;
  const auto format = toIValue(node.inputs()[1]);
  return format && format->isNone() ? node.inputs()[0] : nullptr;
}

bool mayResize(const Node& call) {
  const auto may_resize = toIValue(call.inputs()[call.inputs().size() - 1]);
  return !may_resize || !may_resize->isBool() || may_resize->toBool();
}

/// Whether the value is a step that no dynamic reuse makes cheap: a scatter's or a functional call's.
bool isCopyingStep(const Value* value) {
  return isBasic(*value->node(), Basic::WithElements) || scatterForm(*value->node()) ||
         (writeThatMakes(value) && !inPlaceFormOf(*value->node()));
}

/// Which operands look at what memory, in the order of the graph.
class Looks {
 public:
  Looks(Graph& graph, bool inputs_are_distinct) : graph_(graph), inputs_are_distinct_(inputs_are_distinct) {}

  /// Whether nodes from `first` up to `end`, in one block, look at memory that may be that of `tensor` by other values
  /// than these, or do more than that.
  bool areBetween(
      const Node* first, const Node* end, const Value* tensor, const std::unordered_set<const Value*>& known) {
    if (!aliases_) find();
    const uint32_t from = positions_.at(first), to = positions_.at(end);
    const auto barrier = std::ranges::lower_bound(barriers_, from);
    if (barrier != barriers_.end() && *barrier < to) return true;
    for (const Location location : aliases_->reached(tensor)) {
      for (const MemoryKey key : aliases_->partners(location)) {
        const auto found = looks_.find(key);
        if (found == looks_.end()) continue;
        const auto& looks = found->second;
        for (auto look = std::ranges::lower_bound(looks, from, {}, &Look::position);
             look != looks.end() && look->position < to; ++look) {
          if (!known.contains(look->value)) return true;
        }
      }
    }
    return false;
  }

 private:
  struct Look {
    uint32_t position;
    const Value* value;
  };

  void find() {
    aliases_ = aliasesOfCalls(graph_, inputs_are_distinct_);
    find(graph_.block());
  }

  void find(Block* block) {
    for (Node* node : block->nodes()) {
      const auto position = static_cast<uint32_t>(positions_.size());
      positions_.emplace(node, position);
      if (!node->blocks().empty() || !passesNothingOn(*node)) {
        barriers_.push_back(position);
      } else {
        addLooks(*node, position);
      }
      for (Block* inner : node->blocks()) find(inner);
    }
  }

  void addLooks(const Node& node, uint32_t position) {
    for (const Value* input : node.inputs()) {
      if (!mayHoldTensors(*input->type())) continue;
      for (const Location location : aliases_->reached(input))
        for (const MemoryKey key : aliases_->keys(location)) looks_[key].push_back({position, input});
    }
  }

  static bool passesNothingOn(const Node& node) {
    const Symbol kind = node.kind();
    const bool has_no_tensor = kind == prim::CreateObject || kind == prim::SetAttr;
    if (has_no_tensor && std::ranges::none_of(node.inputs(), [](const Value* i) { return mayHoldTensors(*i->type()); }))
      return true;
    return !isStructural(kind) || changesStateOnly(node) || kind == prim::Constant || kind == prim::ListConstruct ||
           kind == prim::ListUnpack || kind == prim::TupleConstruct || kind == prim::TupleUnpack;
  }

  Graph& graph_;
  const bool inputs_are_distinct_;
  std::unique_ptr<AliasDb> aliases_;  // made when it is needed
  std::unordered_map<const Node*, uint32_t> positions_;
  std::vector<uint32_t> barriers_;  // of nodes with blocks, and those that may pass on what they take
  std::unordered_map<MemoryKey, std::vector<Look>> looks_;
};

/// What becomes of one memory.
class Chain {
 public:
  enum class Kind { Input, Made, Carried };

  /// `last` is its last value. `end` is the `copy_` back to the input `root`; null of other kinds.
  Chain(Kind kind, Value* last, Value* root, Node* end)
      : kind_(kind), last_(last), root_(root), end_(end), block_(last->owningBlock()) {}

  /// Whether there is such a chain, and its values are not read after they are written.
  bool find(Looks& looks) {
    root_ =
        trace(last_, [&](const Value* value) { return kind_ == Kind::Input ? value == root_ : !isCopyingStep(value); });
    if (!root_ || writes_.empty()) return false;
    std::ranges::reverse(writes_);
    for (const Member& member : members_) by_value_[member.value] = &member;
    const bool is_read = std::ranges::all_of(
        members_, [&](const Member& member) { return isRead(member.value, writes_.size() - member.writes_after); });
    if (!is_read || !mayChangeSizes()) return false;
    switch (kind_) {
      case Kind::Input:
        return !looks.areBetween(writes_[0].node, end_, root_, seen_);
      case Kind::Made:
        return isMade(root_) && root_->owningBlock() == block_;
      case Kind::Carried:
        return isCarriedAlone();
    }
    return false;
  }

  void addValuesTo(std::unordered_set<const Value*>& values) const {
    for (const Member& member : members_) values.insert(member.value);
  }

  const std::vector<Write>& writes() const { return writes_; }

  /// Makes its steps writes. Nodes that write to several memories are replaced by the caller, once all chains are.
  void replace() {
    if (argument_) copyArgument();
    for (const Member& member : members_) {
      if (member.value != member.place) member.value->replaceAllUsesWith(member.place);
    }
    for (Node* scatter : scatters_) scatter->destroy();
    for (Node* copy : copies_) copy->destroy();
    if (end_) end_->destroy();
  }

 private:
  struct Member {
    Value* value;
    Value* place;         // the tensor whose memory it is: the root, or a view of it
    size_t writes_after;  // that come after it in the chain
  };

  /// Goes back from a value to the first one for which `is_first` holds; null if there is none.
  Value* trace(Value* value, const std::function<bool(const Value*)>& is_first) {
    std::vector<Member> passed;
    const Value* self = nullptr;  // of a step where gradients are off: what it writes to
    while (self || !is_first(value)) {
      Node* node = value->node();
      if (node->owningBlock() != block_) return nullptr;
      passed.push_back({value, nullptr, writes_.size()});
      if (!self && isBasic(*node, Basic::WithElements)) {
        copies_.insert(node);
        self = node->input(1);
        value = node->input(0);
        continue;
      }
      if (const auto write = writeThatMakes(value)) {
        if (write->node->owningBlock() != block_) return nullptr;
        writes_.push_back(*write);
        value = write->before;
      } else if (scatterForm(*node)) {
        scatters_.insert(node);
        if (!trace(node->input(1), [&](const Value* part) { return isPartFor(part, *node); })) return nullptr;
        value = node->input(0);
      } else if (Value* of = kind_ == Kind::Input ? copiedFor(value) : nullptr) {
        copies_.insert(node);
        value = of;
      } else {
        return nullptr;
      }
      if (self && value != self) return nullptr;
      self = nullptr;
    }
    passed.push_back({value, nullptr, writes_.size()});
    for (Member& member : passed) {
      member.place = value;
      members_.push_back(member);
    }
    return value;
  }

  /// Only what the graph made and that is no view may get other sizes.
  bool mayChangeSizes() const {
    return std::ranges::all_of(writes_, [&](const Write& write) {
      if (inPlaceFormOf(*write.node) || !mayResize(*write.node)) return true;
      return kind_ == Kind::Made && by_value_.at(write.before)->place == root_;
    });
  }

  /// The write that ends a version; null of the last one.
  const Write* nextOf(size_t version) const { return version < writes_.size() ? &writes_[version] : nullptr; }

  /// Whether all that uses the value, or a view of it, reads it before it is written again.
  bool isRead(const Value* value, size_t version) {
    seen_.insert(value);
    return std::ranges::all_of(value->uses(), [&](const Use& use) { return isRead(value, version, use); });
  }

  bool isRead(const Value* value, size_t version, const Use& use) {
    const Write* next = nextOf(version);
    Node* user = use.user;
    const auto found = by_value_.find(value);
    const bool is_member = found != by_value_.end();
    if (is_member && isStep(value, use, next)) return true;
    if (is_member && user == end_ && value == last_ && use.offset == 1) return true;
    const Node* at = ancestorIn(block_, user);
    if (!at) return false;
    if (kind_ == Kind::Input && version == 0 && (at == end_ || end_->isBefore(at))) return true;
    if (next && !at->isBefore(next->node)) return false;
    if (!next && end_ && !at->isBefore(end_)) return false;
    if (!next && kind_ == Kind::Made) return true;
    if (!next && kind_ == Kind::Carried && user == block_->returnNode())
      return value == last_ && use.offset == root_->offset() && ++returns_ == 1;
    return isOnlyRead(user, [&](const Value* held) { return isRead(held, version); });
  }

  /// Whether the use is a link of the chain.
  bool isStep(const Value* value, const Use& use, const Write* next) const {
    Node* user = use.user;
    if (next && next->before == value) {
      if (next->element ? next->node->input(next->operand)->node() == user && use.offset == *next->element
                        : user == next->node && use.offset == next->operand)
        return true;
      // A kernel that computes each element of its own reads what it writes.
      if (user == next->node && next->writer->isPointwise()) return true;
    }
    if (scatters_.contains(user)) return use.offset < 2;
    if (copies_.contains(user)) return true;
    return user->outputs().size() == 1 && use.offset == 0 && by_value_.contains(user->output()) &&
           by_value_.at(user->output())->place == user->output();  // the part that a scatter replaces
  }

  /// Whether the user reads a tensor now, and all that it returns which holds the tensor is asked about by `isHeld`.
  static bool isOnlyRead(Node* user, const std::function<bool(const Value*)>& isHeld) {
    if (onlyReads(*user)) return true;
    const Operator* op = dispatched(*user);
    const bool passes_on =
        user->kind() == prim::ListConstruct || user->kind() == prim::ListUnpack || (op && !op->isMutable());
    return passes_on && std::ranges::all_of(user->outputs(), isHeld);
  }

  /// Of what a loop carries: whether it was made before the loop, only the loop has it, and the next iteration gets
  /// it, or other memory, alone.
  bool isCarriedAlone() {
    Node* loop = block_->owningNode();
    if (!loop || loop->kind() != prim::Loop || root_->node() != block_->paramNode() || root_->offset() == 0)
      return false;
    Value* before = loop->input(root_->offset() + 1);
    if (before->node() == before->owningBlock()->paramNode() && !before->owningBlock()->owningNode()) {
      argument_ = before;
    } else if (!isOnlyOf(before, loop)) {
      return false;
    }
    const Value* after = block_->returnNode()->input(root_->offset());
    if (after == last_) return returns_ == 1;
    if (returns_ != 0 || !isMade(after) || after->owningBlock() != block_) return false;
    size_t returns = 0;
    const std::function<bool(const Value*)> isKept = [&](const Value* value) {
      return std::ranges::all_of(value->uses(), [&](const Use& use) {
        if (use.user == block_->returnNode()) return value == after && ++returns == 1;
        return isOnlyRead(use.user, isKept);
      });
    };
    return isKept(after);
  }

  /// Whether the tensor was made beside the loop, which carries it once, and nothing has it when the loop begins.
  static bool isOnlyOf(const Value* tensor, const Node* loop) {
    if (!isMade(tensor) || tensor->owningBlock() != loop->owningBlock()) return false;
    size_t carriers = 0;
    const std::function<bool(const Value*)> isDone = [&](const Value* value) {
      return std::ranges::all_of(value->uses(), [&](const Use& use) {
        if (use.user == loop) return value == tensor && ++carriers == 1;
        const Node* at = ancestorIn(loop->owningBlock(), use.user);
        return at && at->isBefore(loop) && isOnlyRead(use.user, isDone);
      });
    };
    return isDone(tensor);
  }

  /// What a loop carries that begins with an argument is copied by the first iteration.
  void copyArgument() {
    Graph& graph = block_->returnNode()->graph();
    const InsertPointGuard guard(graph, *block_->nodes().begin());
    Node* copy = insertBasic(graph, Basic::ApartFrom, {root_, argument_});
    copy->output()->setType(root_->type());
    root_->replaceAllUsesWith(copy->output());
    copy->replaceInput(0, root_);
    for (Member& member : members_) {
      if (member.value == root_) member.value = copy->output();
      if (member.place == root_) member.place = copy->output();
    }
  }

  Kind kind_;
  Value* last_;
  Value* root_;
  Node* end_;
  Value* argument_ = nullptr;  // with which the loop begins that carries the tensor
  Block* block_;
  std::vector<Write> writes_;  // in the order in which they run
  std::unordered_set<Node*> scatters_;
  std::unordered_set<Node*> copies_;  // of the input, which the next step alone reads; places on the tape
  std::vector<Member> members_;
  std::unordered_map<const Value*, const Member*> by_value_;
  std::unordered_set<const Value*> seen_;  // values of the chain, and what holds them
  size_t returns_ = 0;                     // how often the last value is returned to a loop
};

/// Makes the node write, whose operands are the tensors that it shall write to.
void makeWriting(const Write& write) {
  Node* node = write.node;
  if (inPlaceFormOf(*node)) {
    node->setKind(write.writer->kind());
    node->bindOperator(write.writer);
    return;
  }
  std::vector<Value*> inputs = node->inputs().vec();
  inputs.pop_back();  // may_resize
  const auto& returns = write.writer->schema().returns();
  Node* made = node->graph().create(write.writer->kind(), inputs, returns.size());
  made->insertBefore(node)->copyLocation(node);
  made->bindOperator(write.writer);
  size_t next = 0;  // of the results
  for (size_t i = 0; i < returns.size(); ++i) {
    Value* output = made->output(i)->setType(returns[i].type());
    if (returns[i].alias_info()) continue;
    Value* old = node->output(next++);
    output->setType(old->type())->copyMetadata(old);
    old->replaceAllUsesWith(output);
  }
  const auto outputs = node->outputs();
  for (Value* output : outputs) {  // lists of what has been written
    const auto uses = output->uses();
    for (const Use& use : std::vector<Use>(uses.begin(), uses.end())) use.user->destroy();
  }
  node->destroy();
}

class Reinplacement {
 public:
  Reinplacement(Graph& graph, bool inputs_are_distinct) : looks_(graph, inputs_are_distinct) {
    findChains(graph.block());
    dropPartial();
  }

  bool run() {
    for (Chain& chain : chains_) chain.replace();
    std::unordered_set<const Node*> done;
    for (const Chain& chain : chains_) {
      for (const Write& write : chain.writes())
        if (done.insert(write.node).second) makeWriting(write);
    }
    return !chains_.empty();
  }

 private:
  void findChains(Block* block) {
    const std::vector<Node*> nodes(block->nodes().begin(), block->nodes().end());
    for (Node* node : std::views::reverse(nodes)) {
      for (Block* inner : node->blocks()) findChains(inner);
      if (isClosingCopy(*node)) {
        const bool is_tensor = node->input(0)->type()->kind() == c10::TypeKind::TensorType;
        if (is_tensor && !node->output()->hasUses())
          add(Chain(Chain::Kind::Input, node->input(1), node->input(0), node));
        continue;
      }
      for (Value* output : node->outputs()) {
        if (!isCopyingStep(output) || seen_.contains(output)) continue;
        if (!add(Chain(Chain::Kind::Made, output, nullptr, nullptr)))
          add(Chain(Chain::Kind::Carried, output, nullptr, nullptr));
      }
    }
  }

  bool add(Chain chain) {
    const bool found = chain.find(looks_);
    // No part of a chain is tried by itself: time would grow with the square of its length.
    chain.addValuesTo(seen_);
    if (found) chains_.push_back(std::move(chain));
    return found;
  }

  /// A node that writes to several memories can only do so if each belongs to a chain.
  void dropPartial() {
    std::unordered_map<const Node*, std::vector<size_t>> writing;  // chains
    for (size_t i = 0; i < chains_.size(); ++i)
      for (const Write& write : chains_[i].writes()) writing[write.node].push_back(i);
    std::vector<const Node*> partial;
    for (const Chain& chain : chains_)
      for (const Write& write : chain.writes())
        if (writing.at(write.node).size() != numWritten(write)) partial.push_back(write.node);
    std::vector<bool> dropped(chains_.size());
    while (!partial.empty()) {
      const Node* node = partial.back();
      partial.pop_back();
      for (const size_t i : std::exchange(writing.at(node), {})) {
        if (dropped[i]) continue;
        dropped[i] = true;
        for (const Write& write : chains_[i].writes()) partial.push_back(write.node);
      }
    }
    size_t next = 0;
    std::erase_if(chains_, [&](const Chain&) { return dropped[next++]; });
  }

  Looks looks_;
  std::vector<Chain> chains_;
  std::unordered_set<const Value*> seen_;  // of chains, found or not
};

}  // namespace

bool reinplace(Graph& graph, bool inputs_are_distinct) {
  const HoistedAttributes attributes(graph);
  const bool wrote = Reinplacement(graph, inputs_are_distinct).run();
  return assignParts(graph.block()) || wrote;
}

}  // namespace cresset
