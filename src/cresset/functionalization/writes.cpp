#include "cresset/functionalization/writes.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/ir/nesting.h"
#include "cresset/ir/structure.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"

namespace cresset {

std::unique_ptr<AliasDb> aliasesOfCalls(Graph& graph, bool inputs_are_distinct) {
  static const Symbol kMemory = Symbol::attr("memory");  // where setMemory keeps what it is told
  Node* inputs = graph.block()->paramNode();
  if (!inputs_are_distinct || inputs->hasAttribute(kMemory)) return std::make_unique<AliasDb>(graph);
  std::vector<int64_t> numbers;
  for (const Value* input : graph.inputs())
    numbers.push_back(isTensorOrNone(*input->type()) ? static_cast<int64_t>(numbers.size()) : -1);
  setMemory(*inputs, numbers);
  auto aliases = std::make_unique<AliasDb>(graph);
  inputs->removeAttribute(kMemory);
  return aliases;
}

namespace {

/// Whether calls leave the sizes of what they write to: those of other libraries, of lists and those with `out=` are
/// taken to do so where nothing else can be; functional calls check it.
bool keepsSizes(const Operator& op) {
  return op.isPointwise() || op.keepsSizes() || !op.isOfDispatcher() || hiddenWritesOf(op) || writesLists(op) ||
         hasOutArgument(op.schema()) || !op.schema().name().starts_with("aten::");
}

std::string nameOf(const Node& node) {
  return node.kind().toQualString();
}

/// What to do where a graph's input may have the memory of another one.
std::string adviceFor(const Value* input) {
  return isTensorOrNone(*input->type()) ? "; distinct_inputs=True promises that inputs share no memory"
                                        : "; pass the tensors that it holds as inputs of their own";
}

}  // namespace

bool writesLists(const Operator& op) {
  const std::vector<size_t> written = tensorWritesOf(op.schema());
  return std::ranges::all_of(written, [&](size_t i) { return isListOfTensors(op.schema().arguments()[i]); });
}

bool isForEach(const Operator& op) {
  return op.schema().name().starts_with("aten::") && !hasOutArgument(op.schema()) && writesLists(op);
}

bool entanglesElements(const Node& node, const TensorWritesOfNode& writes, const Places& places) {
  std::unordered_map<const Value*, size_t> written_in;  // which element is in this memory
  for (size_t i = 0; i < writes.tensors.size(); ++i) {
    const Place* place = places.of(writes.tensors[i]);
    if (place && !written_in.emplace(place->root, i).second) return true;
  }
  const auto isWrittenBefore = [&](const Value* read, size_t index) {
    const Place* place = places.of(read);
    const auto found = place ? written_in.find(place->root) : written_in.end();
    return found != written_in.end() && found->second < index;
  };
  for (const Value* input : node.inputs()) {
    const bool is_read_for_all = input->type()->kind() == c10::TypeKind::TensorType;
    if (is_read_for_all && !writes.tensors.empty() && isWrittenBefore(input, writes.tensors.size() - 1)) return true;
    if (input->node()->kind() != prim::ListConstruct || *input->type() != *c10::ListType::ofTensors()) continue;
    const auto elements = input->node()->inputs();
    for (size_t i = 0; i < elements.size(); ++i) {
      if (isWrittenBefore(elements[i], i)) return true;
    }
  }
  return false;
}

bool runsUnknown(const Node& node) {
  return (memoryOf(node, Memory::None) == Memory::Anything && !changesStateOnly(node)) ||
         (!isStructural(node.kind()) && !knownOperator(node));
}

bool mayChangeSizes(const Operator& op) {
  return !keepsSizes(op) || hasOutArgument(op.schema());
}

Overlap overlapOf(const Operator& writer) {
  using enum Overlap;
  static constexpr ColumnCell<Overlap> kCells[] = {
#define OPERATOR(name) {name, {}},
#define OVERLAP(rule) {{}, rule},
#include "cresset/ops/table/table.def"
  };
  static const auto* rules = new auto(byOperator(kCells));
  const auto rule = rules->find(writer.fullName());
  if (rule != rules->end()) return rule->second;
  if (isForEach(writer)) return PairsOnly;
  return writer.isPointwise() ? WholeOnly : Allowed;
}

Writes::Writes(Graph& graph, const Places& places, bool inputs_are_distinct)
    : graph_(graph), places_(places), scopes_(graph) {
  number(graph.block());
  collect(graph.block());
  if (!memories_.empty()) {
    aliases_ = aliasesOfCalls(graph, inputs_are_distinct);
    checkRoots();
    checkTogether();
    checkOutArguments();
    findKeys();
    findOtherWriters(graph.block());
    findHolders();
    for (const auto& memory : memories_)
      if (memory->reason.empty()) checkHolders(*memory);
    leaveTogether();
  }
  explain();
}

const WrittenMemory* Writes::removable(const Value* root) const {
  const auto found = by_root_.find(root);
  return found == by_root_.end() || !found->second->reason.empty() ? nullptr : found->second;
}

bool Writes::isRemovable(const Node* node) const {
  const auto found = by_node_.find(node);
  return found != by_node_.end() && found->second.memories.front()->reason.empty();
}

/// A node that stays writes to all that it writes to.
void Writes::leaveTogether() {
  std::vector<const WrittenMemory*> staying;
  for (const auto& memory : memories_)
    if (!memory->reason.empty()) staying.push_back(memory.get());
  while (!staying.empty()) {
    const WrittenMemory* one = staying.back();
    staying.pop_back();
    for (const Node* node : one->writes) {
      for (WrittenMemory* memory : by_node_.at(node).memories) {
        if (!memory->reason.empty()) continue;
        leave(*memory, nameOf(*node) + " writes to it and to another tensor, and stays: " + one->reason);
        staying.push_back(memory);
      }
    }
  }
}

void Writes::number(Block* block) {
  const auto count = [&](const Node* node) { spans_[node] = {next_, next_}, ++next_; };
  count(block->paramNode());
  for (Node* node : block->nodes()) {
    const uint32_t begin = next_++;
    for (Block* inner : node->blocks()) number(inner);
    spans_[node] = {begin, next_++};
  }
  count(block->returnNode());
}

void Writes::collect(Block* block) {
  for (Node* node : block->nodes()) {
    has_guards_ |= node->kind() == prim::BailOut;
    collect(node);
    for (Block* inner : node->blocks()) collect(inner);
  }
}

void Writes::collect(Node* node) {
  if (isStructural(node->kind())) return;
  const TensorWritesOfNode writes = writesOfNode(*node);
  if (!writes.op) return;
  std::string reason = whyNot(writes);
  if (reason.empty() && writesLists(*writes.op) && entanglesElements(*node, writes, places_))
    reason = "it reads a tensor for one element of its lists that it has written for an earlier one";
  if (!reason.empty()) {
    left_[spans_.at(node).begin] = {node, reason};
    return;
  }
  const bool may_resize = mayChangeSizes(*writes.op);
  Written& written = by_node_[node];
  written.tensors = writes.tensors;
  for (const Value* tensor : writes.tensors) {
    const Place& place = *places_.of(tensor);
    WrittenMemory& memory = memoryOf(place.root);
    if (may_resize && isMadeWhole(place)) {
      memory.resizes.push_back(node);
      resizing_.insert(node);
    }
    memory.writes.push_back(node);
    written.memories.push_back(&memory);
  }
}

/// Whether the tensor is no view, and the graph made it: other sizes are those of a new value, then.
bool Writes::isMadeWhole(const Place& place) const {
  return place.kind == Place::Kind::Root && place.root->node() != graph_.block()->paramNode();
}

WrittenMemory& Writes::memoryOf(const Value* root) {
  WrittenMemory*& memory = by_root_[root];
  if (!memory) {
    memory = memories_.emplace_back(std::make_unique<WrittenMemory>()).get();
    memory->root = root;
    memory->is_input = root->node() == graph_.block()->paramNode();
  }
  return *memory;
}

/// Why these writes by themselves can't be removed; empty if nothing stands against it.
std::string Writes::whyNot(const TensorWritesOfNode& writes) const {
  const Operator& op = *writes.op;
  if (!writes.is_known || writes.tensors.empty()) return "which tensors it writes to is not known";
  constexpr Trait kChangesMore = Trait::ReplacesMemory | Trait::ComputesGradients | Trait::MakesLeaf | Trait::CutsTape |
                                 Trait::ChangesTape | Trait::ReleasesTape;
  if (op.hasTrait(kChangesMore)) return "it gives the tensor other memory, or another place in autograd";
  if (isGivenStrides(op.schema())) return "it reaches memory by its address: write to slices or views of the tensor";
  if (!op.functionalCall()) return "it has no form that returns a new tensor";
  std::unordered_set<const Value*> roots;
  for (const Value* tensor : writes.tensors) {
    if (std::string reason = whyNoPlace(tensor); !reason.empty()) return reason;
    const Place& place = *places_.of(tensor);
    if (!roots.insert(place.root).second) return "it writes to one tensor in several ways";
    if (!keepsSizes(op) && !isMadeWhole(place))
      return "it may change the sizes of a view or an argument: use the operator that returns a new tensor";
  }
  return "";
}

std::string Writes::whyNoPlace(const Value* tensor) const {
  if (places_.of(tensor)) return "";
  const Node* source = tensor->node();
  const Operator* view = knownOperator(*source);
  // A part of what has no place has none, for the same reason.
  while (view && isReversibleView(*view) && mayReturnView(*view) && !places_.of(source->input(0))) {
    tensor = source->input(0);
    source = tensor->node();
    view = knownOperator(*source);
  }
  const std::string name = source->kind() == prim::Param ? "an argument of a loop or of the graph" : nameOf(*source);
  if (view && !whyNotReversed(*view).empty())
    return "the tensor comes from " + name + ": " + std::string(whyNotReversed(*view));
  if (const Place* base =
          view && isReversibleView(*view) && mayReturnView(*view) ? places_.of(source->input(0)) : nullptr;
      base && base->depth == kMaxViewDepth)
    return "there are more than " + std::to_string(kMaxViewDepth) + " views between the tensor and its memory";
  if (source->kind() == prim::GetAttr) {
    const Node* owner = source;
    while (owner->kind() == prim::GetAttr) owner = owner->input(0)->node();
    if (owner == graph_.block()->paramNode())
      return "the tensor is an attribute that the graph may set; cresset.passes.lower_graph makes attributes inputs";
    const Node* chooser = owner->kind() == prim::Param ? owner->owningBlock()->owningNode() : owner;
    return "the tensor is an attribute of an object that comes from " + nameOf(*chooser) +
           ", so that which memory it is is not known";
  }
  const bool is_element = isBasic(*source, Basic::Element) || source->kind() == prim::ListUnpack ||
                          source->kind() == prim::TupleUnpack || source->kind() == prim::TupleIndex;
  const bool is_given = is_element && source->input(0)->node() == graph_.block()->paramNode();
  const char* advice = is_given                       ? ": pass the tensors that it holds as arguments of their own"
                       : is_element                   ? ": write to tensors before they are in a list or dict"
                       : source->kind() == prim::If   ? ": write to it in each branch"
                       : source->kind() == prim::Loop ? ": write to it in the loop"
                                                      : "";
  return "the tensor comes from " + name + ", so that which memory it is is not known" + advice;
}

bool Writes::mayOverlap(const Value* written, const Value* read, bool as_whole) const {
  const Place *place = places_.of(written), *other = places_.of(read);
  if (place == other) return as_whole;
  if (place && other && place->kind == Place::Kind::Element && place->parent == other->parent &&
      other->kind == Place::Kind::Element && !place->position && !other->position &&
      (place->index < 0) == (other->index < 0) && place->index != other->index)
    return false;  // pieces of one tensor
  return aliases_->mayContainAlias(written, read);
}

namespace {

/// Whether a tensor is made in a branch of the node that another one comes out of.
bool isWithin(const WrittenMemory& inner, const WrittenMemory& outer) {
  const Node* branches = outer.root->node();
  return branches->kind() == prim::If && inner.root->node() != branches && inner.root->node()->isInside(branches);
}

}  // namespace

/// What the graph made is written by its own writes only, and is one location each; what comes out of branches
/// is at the locations of what they made.
void Writes::checkRoots() {
  // Those at one location that may go stand in each other's branches; none may where others are.
  std::unordered_map<Location, std::vector<WrittenMemory*>> nested;
  std::unordered_set<Location> crowded;
  for (const auto& memory : memories_) {
    if (has_guards_) leave(*memory, "the graph has guards");
    checkScopes(memory->root);
    if (memory->is_input) {
      inputs_.push_back(memory.get());
      continue;
    }
    const std::vector<Location> locations = aliases_->reached(memory->root);
    if (locations.empty() || aliases_->mayAliasWorld(memory->root))
      leave(*memory, "the tensor is held by something outside of the graph");
    constexpr const char* kNotApart = "the tensor is not told apart from others";
    if (memory->root->node()->kind() != prim::If && locations.size() > 1) leave(*memory, kNotApart);
    for (const Location location : locations) {
      auto& others = nested[location];
      const bool is_apart = !crowded.contains(location) && std::ranges::all_of(others, [&](const WrittenMemory* other) {
        return isWithin(*other, *memory) || isWithin(*memory, *other);
      });
      others.push_back(memory.get());
      if (is_apart) continue;
      for (WrittenMemory* other : others) leave(*other, kNotApart);
      others.clear();
      crowded.insert(location);
    }
  }
}

/// In which state of the thread the node runs; for what a block returns, in that in which it was entered.
uint32_t Writes::scopeOf(const Node* node) const {
  const Block* block = node->owningBlock();
  const bool is_end = node == block->returnNode() || node == block->paramNode();
  if (!is_end) return scopes_.of(node);
  return block->owningNode() ? scopes_.of(block->owningNode()) : 0;
}

bool Writes::isOffTape(const Node* node, const WrittenMemory& memory) const {
  return scopeOf(node) != scopeOf(memory.root->node());
}

/// A write computes in the state in which the tensor was made, or the new value would have another place in autograd
/// than the tensor; where gradients are off, it is given that. And a view is made again where it is read.
void Writes::checkScopes(const Value* value) {
  const Place* place = places_.of(value);
  WrittenMemory& memory = *by_root_.at(place->root);
  const bool is_root = place->kind == Place::Kind::Root;
  const auto runsElsewhere = [&](const Node* node) { return !isUsableAt(value->node(), node); };
  if (is_root && std::ranges::any_of(memory.resizes, [&](const Node* node) { return isOffTape(node, memory); }))
    leave(memory, "the graph may change its sizes where gradients are off");
  const bool is_elsewhere =
      is_root ? std::ranges::any_of(memory.writes, runsElsewhere)
              : std::ranges::any_of(value->uses(), [&](const Use& use) { return runsElsewhere(use.user); });
  if (is_elsewhere || !scopes_.isBalanced(graph_.block()))
    leave(
        memory,
        "the graph, or a call in it, changes the state of the thread (grad mode, autocast) while it uses the tensor");
}

/// Of what a node writes to several of, one may not be another: each would get the value that it has by itself.
void Writes::checkTogether() {
  for (const auto& [node, written] : by_node_) {
    if (written.tensors.size() < 2 || hiddenWritesOf(*operatorOf(*node))) continue;  // of those, it is checked
    std::unordered_set<MemoryKey> seen;
    for (size_t i = 0; i < written.tensors.size(); ++i) {
      const std::vector<Location> locations = aliases_->reached(written.memories[i]->root);
      for (const Location location : locations) {
        for (const MemoryKey key : aliases_->partners(location)) {
          if (!seen.contains(key)) continue;
          std::string reason = nameOf(*node) + " may write to it twice";
          leave(
              *written.memories[i],
              written.memories[i]->is_input ? reason + adviceFor(written.memories[i]->root) : reason);
        }
      }
      for (const Location location : locations)
        for (const MemoryKey key : aliases_->keys(location)) seen.insert(key);
    }
  }
}

/// Whether the node, which may write to the memory, is none of its own writes, and may run while the tensor is there: a
/// write to what comes out of branches comes after what stands in them, and the other way round.
bool Writes::mayDisturb(const Node* node, const WrittenMemory& memory) const {
  const auto own = by_node_.find(node);
  return own == by_node_.end() || std::ranges::none_of(own->second.memories, [&](const WrittenMemory* written) {
           return written == &memory || isWithin(*written, memory) || isWithin(memory, *written);
         });
}

/// What an operator makes of elements that it reads and writes depends on its kernel, unless it is pointwise. Kernels
/// that PyTorch has generated compute in new memory and copy.
void Writes::checkOutArguments() {
  for (const auto& [node, written] : by_node_) {
    const Operator& op = *operatorOf(*node);
    if (!hasOutArgument(op.schema()) || overlapOf(op) != Overlap::Allowed || !op.handle()) continue;
    if (op.handle()->hasTag(at::Tag::generated)) continue;
    const std::vector<size_t> out = tensorWritesOf(op.schema());
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Value* read = node->inputs()[i];
      if (std::ranges::find(out, i) != out.end() || !mayHoldTensors(*read->type())) continue;
      for (size_t k = 0; k < written.tensors.size(); ++k) {
        if (mayOverlap(written.tensors[k], read, /*as_whole=*/true))
          leave(*written.memories[k], nameOf(*node) + " may read elements that it writes");
      }
    }
  }
}

void Writes::findKeys() {
  const auto isUndecided = [](const auto& memory) { return memory->reason.empty(); };
  for (const auto& memory : memories_ | std::views::filter(isUndecided)) {
    for (const Location location : aliases_->reached(memory->root)) {
      const std::vector<MemoryKey> partners = aliases_->partners(location);
      memory->keys.insert(memory->keys.end(), partners.begin(), partners.end());
    }
    for (const MemoryKey key : memory->keys) by_key_[key].push_back(memory.get());
  }
}

void Writes::findOtherWriters(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) findOtherWriters(inner);
    if (isSubgraph(*node)) {
      for (WrittenMemory* memory : std::exchange(inputs_, {}))
        leave(*memory, "the graph has subgraphs; inline them first");
    }
    if (!node->blocks().empty()) continue;
    const std::string reason = nameOf(*node) + " may write to the tensor, too";
    if (const Operator* op = knownOperator(*node); op && hiddenWritesOf(*op) && !by_node_.contains(node)) {
      // What it writes though its schema denies it.
      for (const Value* tensor : writesOfNode(*node).tensors) findOtherWrites(node, aliases_->reached(tensor), reason);
    }
    if (!aliases_->isMutable(node)) continue;
    findOtherWrites(node, aliases_->written(node), reason);
    if (runsUnknown(*node) || aliases_->writesAnything(node)) disturb(node, inputs_, reason);
  }
}

void Writes::findOtherWrites(const Node* node, std::span<const Location> locations, const std::string& reason) {
  for (const Location location : locations) {
    for (const MemoryKey key : aliases_->keys(location)) {
      const auto found = by_key_.find(key);
      if (found != by_key_.end()) disturb(node, found->second, reason);
    }
  }
}

/// What stays is not asked about again: of many memories only the node's own are left in the list.
void Writes::disturb(const Node* node, std::vector<WrittenMemory*>& memories, const std::string& reason) {
  std::erase_if(memories, [&](WrittenMemory* memory) {
    if (!memory->reason.empty() || !mayDisturb(node, *memory)) return !memory->reason.empty();
    // A write to what came in, by another name.
    const bool is_of_input = memory->is_input && by_node_.contains(node);
    leave(*memory, is_of_input ? reason + adviceFor(memory->root) : reason);
    return true;
  });
}

void Writes::findHolders() {
  for (const auto& memory : memories_) {
    if (!memory->reason.empty()) continue;
    for (const MemoryKey key : memory->keys) holders_.expect(key);
  }
  for (const Value* input : graph_.inputs()) findHolder(input);
  findHolders(graph_.block());
  holders_.sort();
}

void Writes::findHolders(Block* block) {
  for (Node* node : block->nodes()) {
    for (const Value* output : node->outputs()) findHolder(output);
    for (Block* inner : node->blocks()) {
      for (const Value* input : inner->inputs()) findHolder(input);
      findHolders(inner);
    }
  }
}

void Writes::findHolder(const Value* value) {
  if (!mayHoldTensors(*value->type())) return;
  const Place* place = places_.of(value);
  if (place && by_root_.contains(place->root)) checkPart(value);
  std::optional<Holder> holder;
  for (const Location location : aliases_->reached(value)) {
    for (const MemoryKey key : aliases_->keys(location)) {
      if (!holders_.isExpected(key)) continue;
      if (!holder) holder = {value, place ? place->root : nullptr, spans_.at(value->node()).end, lastUse(value)};
      holders_.add(key, *holder);
    }
  }
}

/// A value that has a place in memory that is written.
void Writes::checkPart(const Value* value) {
  const Place* place = places_.of(value);
  WrittenMemory& memory = *by_root_.at(place->root);
  if (place->kind != Place::Kind::Root) checkScopes(value);
  if (place->kind == Place::Kind::List && aliases_->hasWriters(value)) leave(memory, "a list of its views is changed");
  if (place->kind != Place::Kind::Root && isReadAcross(value, memory.resizes))
    leave(memory, "a view of it was made before an operator may give it other sizes, and is used after that");
}

/// Whether the value is made before one of the writes, which are in order, and used after it.
bool Writes::isReadAcross(const Value* value, std::span<Node* const> writes) const {
  const auto after = std::upper_bound(
      writes.begin(), writes.end(), spans_.at(value->node()).end,
      [&](uint32_t position, const Node* write) { return position < spans_.at(write).begin; });
  return after != writes.end() && spans_.at(*after).begin < lastUse(value);
}

/// What may be the memory, or hold a tensor that is, and is not made to read new values.
void Writes::checkHolders(WrittenMemory& memory) {
  const uint32_t last = spans_.at(memory.writes.back()).begin;
  for (const MemoryKey key : memory.keys) {
    for (const Node* write : memory.writes) {
      const Holder* holder = holders_.across(key, memory.root, spans_.at(write).begin);
      if (!holder) continue;
      const Node* source = holder->value->node();
      return leave(
          memory, source == graph_.block()->paramNode()
                      ? "the input %" + holder->value->debugName() +
                            " may share its memory and is used after the write" + adviceFor(holder->value)
                      : "a result of " + nameOf(*source) +
                            " may share or hold its memory, was made before the write and is used after it");
    }
    if (!memory.is_input) continue;
    // Made after all writes.
    const Holder* holder = holders_.firstFrom(key, memory.root, last);
    if (!holder) continue;
    Node* node = ancestorIn(graph_.block(), const_cast<Node*>(holder->value->node()));
    if (spans_.at(node).begin < last) {
      return leave(
          memory, "a result of " + nameOf(*holder->value->node()) +
                      " may share or hold its memory and is made in the branch or loop that writes");
    }
    if (scopeOf(node) != 0) return leave(memory, "its new value would be copied where the thread has another state");
    if (!memory.closed_before || node->isBefore(memory.closed_before)) memory.closed_before = node;
  }
}

/// Where the value is used for the last time. A use in a loop that began after the value was made is one in each
/// iteration.
uint32_t Writes::lastUse(const Value* value) const {
  uint32_t last = 0;
  for (const Use& use : value->uses()) {
    // What is read of an object is asked about itself.
    const bool is_access = use.user->kind() == prim::GetAttr || use.user->kind() == prim::SetAttr;
    if (is_access && use.offset == 0) continue;
    last = std::max(last, spans_.at(use.user).begin);
    for (const Block* block = use.user->owningBlock(); block != value->owningBlock();) {
      const Node* owner = block->owningNode();
      if (owner->kind() == prim::Loop) last = std::max(last, spans_.at(owner).end);
      block = owner->owningBlock();
    }
  }
  return last;
}

void Writes::explain() {
  for (const auto& memory : memories_) {
    if (memory->reason.empty()) continue;
    for (const Node* node : memory->writes) left_[spans_.at(node).begin] = {node, memory->reason};
  }
}

}  // namespace cresset
