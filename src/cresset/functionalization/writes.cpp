#include "cresset/functionalization/writes.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/ir/nesting.h"
#include "cresset/ir/structure.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"

namespace cresset {

std::unique_ptr<AliasDb> aliasesOfCalls(Graph& graph, bool inputs_are_distinct) {
  static const Symbol kMemory = Symbol::attr("memory");  // where setMemory keeps what it is told
  Node* inputs = graph.block()->paramNode();
  if (!inputs_are_distinct || inputs->hasAttribute(kMemory)) return std::make_unique<AliasDb>(graph);
  std::vector<int64_t> numbers;
  for (const Value* input : graph.inputs()) {
    const bool is_tensor = input->type()->kind() == c10::TypeKind::TensorType;
    numbers.push_back(is_tensor ? static_cast<int64_t>(numbers.size()) : -1);
  }
  setMemory(*inputs, numbers);
  auto aliases = std::make_unique<AliasDb>(graph);
  inputs->removeAttribute(kMemory);
  return aliases;
}

namespace {

bool writesLists(const Operator& op) {
  const std::vector<size_t> written = tensorWritesOf(op.schema());
  return std::ranges::all_of(written, [&](size_t i) { return isListOfTensors(op.schema().arguments()[i]); });
}

/// Whether calls leave the sizes of what they write to: those of other libraries, of lists and those with `out=` are
/// taken to do so where nothing else can be; functional calls check it.
bool keepsSizes(const Operator& op) {
  return op.isPointwise() || op.keepsSizes() || hiddenWritesOf(op) || writesLists(op) || hasOutArgument(op.schema()) ||
         !op.schema().name().starts_with("aten::");
}

std::string nameOf(const Node& node) {
  return node.kind().toQualString();
}

}  // namespace

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
  return writer.isPointwise() ? WholeOnly : Allowed;
}

Writes::Writes(Graph& graph, const Places& places, bool inputs_are_distinct) : graph_(graph), places_(places) {
  number(graph.block());
  collect(graph.block());
  if (!memories_.empty()) {
    aliases_ = aliasesOfCalls(graph, inputs_are_distinct);
    checkRoots();
    findOtherWriters(graph.block());
    for (const Value* input : graph.inputs()) checkReader(input);
    checkReaders(graph.block());
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
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [node, written] : by_node_) {
      const auto& memories = written.memories;
      const auto stays = std::ranges::find_if(memories, [](const WrittenMemory* m) { return !m->reason.empty(); });
      if (stays == memories.end()) continue;
      for (WrittenMemory* memory : memories) {
        changed |= memory->reason.empty();
        leave(*memory, nameOf(*node) + " writes to it and to another tensor, and stays: " + (*stays)->reason);
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
    state_changes_ |= changesState(*node) || node->kind() == prim::BailOut;
    collect(node);
    for (Block* inner : node->blocks()) collect(inner);
  }
}

void Writes::collect(Node* node) {
  if (isStructural(node->kind())) return;
  const TensorWritesOfNode writes = writesOfNode(*node);
  if (!writes.op) return;
  std::string reason = whyNot(writes);
  if (reason.empty() && readsEarlierElement(*node, writes))
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

/// Whether a call for lists of tensors, which goes from one element to the next, may read what it has written.
bool Writes::readsEarlierElement(const Node& node, const TensorWritesOfNode& writes) const {
  if (!writesLists(*writes.op)) return false;
  const auto isWrittenBefore = [&](const Value* read, size_t index) {
    const Place* place = places_.of(read);
    const size_t count = std::min(index, writes.tensors.size());
    return std::any_of(
        writes.tensors.begin(), writes.tensors.begin() + static_cast<ptrdiff_t>(count),
        [&](auto* written) { return place && places_.of(written)->root == place->root; });
  };
  for (const Value* input : node.inputs()) {
    if (input->type()->kind() == c10::TypeKind::TensorType && isWrittenBefore(input, writes.tensors.size()))
      return true;
    if (input->node()->kind() != prim::ListConstruct || *input->type() != *c10::ListType::ofTensors()) continue;
    const auto elements = input->node()->inputs();
    for (size_t i = 0; i < elements.size(); ++i) {
      if (isWrittenBefore(elements[i], i)) return true;
    }
  }
  return false;
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
  if (isGivenStrides(op.schema())) return "it reaches memory by its address";
  if (!op.functionalCall()) return "it has no form that returns a new tensor";
  std::unordered_set<const Value*> roots;
  for (const Value* tensor : writes.tensors) {
    if (std::string reason = whyNoPlace(tensor); !reason.empty()) return reason;
    const Place& place = *places_.of(tensor);
    if (!roots.insert(place.root).second) return "it writes to one tensor in several ways";
    if (!keepsSizes(op) && !isMadeWhole(place)) return "it may change the sizes of a view or an argument";
  }
  return "";
}

std::string Writes::whyNoPlace(const Value* tensor) const {
  if (places_.of(tensor)) return "";
  const Node* source = tensor->node();
  const std::string name = nameOf(*source);
  const Operator* view = knownOperator(*source);
  if (view && !whyNotReversed(*view).empty())
    return "the tensor comes from " + name + ": " + std::string(whyNotReversed(*view));
  if (const Place* base = view && isReversibleView(*view) ? places_.of(source->input(0)) : nullptr;
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
  return "the tensor comes from " + name + ", so that which memory it is is not known";
}

bool Writes::mayOverlap(const Value* written, const Value* read, bool as_whole) const {
  const Place *place = places_.of(written), *other = places_.of(read);
  if (place == other) return as_whole;
  if (place && other && place->kind == Place::Kind::Element && place->parent == other->parent &&
      other->kind == Place::Kind::Element && place->index != other->index)
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
  for (const auto& memory : memories_) {
    if (state_changes_) leave(*memory, "the graph changes the state of the thread (grad mode, autocast) or has guards");
    if (memory->is_input) {
      inputs_.push_back(memory.get());
      continue;
    }
    const std::vector<Location> locations = aliases_->reached(memory->root);
    if (locations.empty() || aliases_->mayAliasWorld(memory->root))
      leave(*memory, "the tensor is held by something outside of the graph");
    if (memory->root->node()->kind() != prim::If && locations.size() > 1)
      leave(*memory, "the tensor is not told apart from others");
    for (const Location location : locations) {
      for (WrittenMemory* other : by_location_[location]) {
        if (isWithin(*other, *memory) || isWithin(*memory, *other)) continue;
        leave(*other, "the tensor is not told apart from others");
        leave(*memory, "the tensor is not told apart from others");
      }
      by_location_[location].push_back(memory.get());
    }
  }
}

std::span<WrittenMemory* const> Writes::memoriesAt(Location location) const {
  const auto found = by_location_.find(location);
  return found == by_location_.end() ? std::span<WrittenMemory* const>() : found->second;
}

/// Whether the node, which may write to the memory, is none of its own writes, and may run while the tensor is there: a
/// write to what comes out of branches comes after what stands in them, and the other way round.
bool Writes::mayDisturb(const Node* node, const WrittenMemory& memory) const {
  const auto own = by_node_.find(node);
  return own == by_node_.end() || std::ranges::none_of(own->second.memories, [&](const WrittenMemory* written) {
           return written == &memory || isWithin(*written, memory) || isWithin(memory, *written);
         });
}

void Writes::findOtherWriters(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) findOtherWriters(inner);
    if (!node->blocks().empty()) continue;
    const std::string reason = nameOf(*node) + " may write to the tensor, too";
    if (const Operator* op = knownOperator(*node); op && hiddenWritesOf(*op) && !by_node_.contains(node)) {
      for (const Value* tensor : writesOfNode(*node).tensors) findOtherWrites(node, tensor, reason);
    }
    if (!aliases_->isMutable(node)) continue;
    for (const Location location : aliases_->written(node)) {
      for (WrittenMemory* memory : memoriesAt(location)) {
        if (mayDisturb(node, *memory)) leave(*memory, reason);
      }
    }
    for (WrittenMemory* memory : inputs_) {
      if (!mayDisturb(node, *memory)) continue;
      Value* root = const_cast<Value*>(memory->root);
      if (runsUnknown(*node) || aliases_->writesToAlias(node, {&root, 1})) leave(*memory, reason);
    }
  }
}

/// What a node writes though its schema denies it.
void Writes::findOtherWrites(const Node* node, const Value* tensor, const std::string& reason) {
  for (const Location location : aliases_->reached(tensor)) {
    for (WrittenMemory* memory : memoriesAt(location)) {
      if (mayDisturb(node, *memory)) leave(*memory, reason);
    }
  }
  for (WrittenMemory* memory : inputs_) {
    if (aliases_->mayContainAlias(tensor, memory->root)) leave(*memory, reason);
  }
}

void Writes::checkReaders(Block* block) {
  for (Node* node : block->nodes()) {
    for (const Value* output : node->outputs()) checkReader(output);
    for (Block* inner : node->blocks()) {
      for (const Value* input : inner->inputs()) checkReader(input);
      checkReaders(inner);
    }
    if (isSubgraph(*node)) {
      for (WrittenMemory* memory : inputs_) leave(*memory, "the graph has subgraphs; inline them first");
    }
  }
}

void Writes::checkReader(const Value* value) {
  if (!mayHoldTensors(*value->type())) return;
  const Place* place = places_.of(value);
  if (place && place->kind == Place::Kind::List && by_root_.contains(place->root) && aliases_->hasWriters(value))
    leave(*by_root_.at(place->root), "a list of its views is changed");
  for (const Location location : aliases_->reached(value)) {
    for (WrittenMemory* memory : memoriesAt(location)) {
      if (!place || place->root != memory->root) {
        checkReader(value, *memory);
      } else if (place->kind != Place::Kind::Root && isReadAcross(value, memory->resizes)) {
        leave(*memory, "a view of it was made before an operator may give it other sizes, and is used after that");
      }
    }
  }
  if (value->type()->kind() == c10::TypeKind::TensorType && !aliases_->mayAliasWorld(value)) return;
  for (WrittenMemory* memory : inputs_) {
    if (place && place->root == memory->root) continue;
    if (aliases_->mayContainAlias(value, memory->root)) checkReader(value, *memory);
  }
}

/// Whether the value is made before one of the writes, which are in order, and used after it.
bool Writes::isReadAcross(const Value* value, std::span<Node* const> writes) const {
  const auto after = std::upper_bound(
      writes.begin(), writes.end(), spans_.at(value->node()).end,
      [&](uint32_t position, const Node* write) { return position < spans_.at(write).begin; });
  return after != writes.end() && spans_.at(*after).begin < lastUse(value);
}

/// `value` may be of this memory, or hold a tensor that is, and is not made to read new values.
void Writes::checkReader(const Value* value, WrittenMemory& memory) {
  const uint32_t from = spans_.at(value->node()).end;
  if (isReadAcross(value, memory.writes)) {
    const Node* source = value->node();
    leave(
        memory, source == graph_.block()->paramNode()
                    ? "the input %" + value->debugName() + " may share its memory and is used after the write"
                    : "a result of " + nameOf(*source) +
                          " may share or hold its memory, was made before the write and is used after it");
    return;
  }
  // Made after all writes.
  if (!memory.is_input || from < spans_.at(memory.writes.back()).begin) return;
  Node* node = ancestorIn(graph_.block(), value->node());
  if (spans_.at(node).begin < spans_.at(memory.writes.back()).begin) {
    leave(
        memory, "a result of " + nameOf(*value->node()) +
                    " may share or hold its memory and is made in the branch or loop that writes");
    return;
  }
  if (!memory.closed_before || node->isBefore(memory.closed_before)) memory.closed_before = node;
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
