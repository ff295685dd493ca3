// What nodes do to memory, and which memory is written to at all.
#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <span>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/may_raise.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator_forms.h"

namespace cresset {

namespace {

template <typename T>
void sortUnique(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

/// Whether a node that calls no operator neither reads nor writes what anybody may change. Tuples never change.
bool touchesNothing(const Node& node, Memory memory) {
  switch (memory) {
    case Memory::None:
    case Memory::Outside:
    case Memory::Holder:
    case Memory::Slice:
    case Memory::Same:
      return true;
    case Memory::Element:
      return node.input(0)->type()->kind() == c10::TypeKind::TupleType;
    default:
      return false;
  }
}

/// Whether the node computes with tensors.
bool dependsOnState(const Node* node) {
  const auto takesOrGives = [](const Value* value) { return mayHoldTensors(*value->type()); };
  return !Bodies(*node).empty() ||
         (!isStructural(node->kind()) && (std::any_of(node->inputs().begin(), node->inputs().end(), takesOrGives) ||
                                          std::any_of(node->outputs().begin(), node->outputs().end(), takesOrGives)));
}

/// `Tensor(a!)[]`
bool writesElements(const c10::AliasInfo& info) {
  const auto& contained = info.containedTypes();
  return std::any_of(contained.begin(), contained.end(), [](const auto& element) { return element.isWrite(); });
}

/// Arguments that the node writes to, though its operator's schema does not say so.
std::span<const size_t> hiddenWrites(const Node* node, const Operator& op) {
  const HiddenWrites* hidden = hiddenWritesOf(op);
  if (!hidden) return {};
  const auto condition = hidden->condition ? toIValue(node->input(*hidden->condition)) : std::nullopt;
  const bool never = condition && condition->isBool() && !condition->toBool();
  const auto isGiven = [&](size_t argument) { return !isNoneConstant(node->input(argument)); };
  if (never || !std::any_of(hidden->arguments.begin(), hidden->arguments.end(), isGiven)) return {};
  return hidden->arguments;
}

/// Whether a node, its blocks and subgraph left out, may write to memory.
bool mayWrite(const Node* node) {
  if (const Structure* structure = structureOf(node->kind()))
    return structure->memory == Memory::Stores || structure->memory == Memory::Anything;
  const Operator* op = knownOperator(*node);
  if (!op || op->isMutable() || !hiddenWrites(node, *op).empty()) return true;
  const auto& arguments = op->schema().arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
    return argument.alias_info() && writesElements(*argument.alias_info());
  });
}

bool mayChangeSomething(const Node* node) {
  if (memoryOf(*node, Memory::None) == Memory::Bodies || mayWrite(node)) return true;
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  return op && op->hasSideEffects();
}

}  // namespace

const Operator* knownOperator(const Node& node) {
  const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
  if (!op || (op->kernel() && op->restriction() == Restriction::Foreign)) return nullptr;
  return op->kernel() || op->schema().aliasAnalysis() != c10::AliasAnalysisKind::CONSERVATIVE ? op : nullptr;
}

bool returnsNewMemory(const Operator& op, size_t result) {
  const auto& returns = op.schema().returns();
  return op.isOfDispatcher() && !op.isInPlaceReuse() && !op.isMutable() && !op.mayShareArguments() &&
         !op.mayReturnSelf() && op.schema().aliasAnalysis() != c10::AliasAnalysisKind::CONSERVATIVE &&
         result < returns.size() && !returns[result].alias_info();
}

const AliasDb::Changes& AliasDb::changes(const Node* node) {
  static const Changes kNone;
  if (!mayChangeSomething(node)) return kNone;
  const auto [entry, added] = changes_.try_emplace(node);
  Changes& found = entry->second;  // stays where it is while others are added
  if (!added) return found;
  collectChanges(node, found);
  sortUnique(found.writes);
  sortUnique(found.slot_writes);
  return found;
}

const AliasDb::Effects& AliasDb::effects(const Node* node) {
  const auto [entry, added] = effects_.try_emplace(node);
  Effects& found = entry->second;
  if (!added) return found;
  static_cast<Changes&>(found) = changes(node);
  collectReads(node, found);
  sortUnique(found.reads);
  sortUnique(found.slot_reads);
  return found;
}

void AliasDb::collectChanges(const Node* node, Changes& into) {
  const Memory memory = memoryOf(*node, Memory::None);
  if (memory == Memory::Bodies) {
    for (const Block* block : Bodies(*node)) {
      for (const Node* inner : block->nodes()) {
        const Changes& theirs = changes(inner);
        into.writes.insert(into.writes.end(), theirs.writes.begin(), theirs.writes.end());
        into.slot_writes.insert(into.slot_writes.end(), theirs.slot_writes.begin(), theirs.slot_writes.end());
        into.anything |= theirs.anything;
        into.ordered |= theirs.ordered;
      }
    }
    return;
  }
  if (memory == Memory::Stores) {
    for (Location location : memory_.locations(variableOf(node->input(0))))
      into.slot_writes.emplace_back(location, attributeSlot(node));
    return;
  }
  if (changesStateOnly(*node)) {  // remembers in the object what the state was
    addLocations(into.writes, node->input(0));
    into.ordered = true;
    return;
  }
  const Operator* op = knownOperator(*node);
  if (!op) {
    into.anything = into.ordered = true;
    return;
  }
  into.ordered = op->hasSideEffects();
  const auto& arguments = op->schema().arguments();
  const auto inputs = node->inputs();
  for (size_t i = 0; i < inputs.size() && i < arguments.size(); ++i) {
    const c10::AliasInfo* info = arguments[i].alias_info();
    if (!info || variableOf(inputs[i]) == PointsTo::kNone) continue;
    if (writesElements(*info))
      addReached(into.writes, inputs[i]);
    else if (info->isWrite())
      addLocations(into.writes, inputs[i]);
  }
  for (const size_t argument : hiddenWrites(node, *op)) {
    if (variableOf(inputs[argument]) != PointsTo::kNone) addLocations(into.updates, inputs[argument]);
  }
  into.writes.insert(into.writes.end(), into.updates.begin(), into.updates.end());
}

void AliasDb::collectReads(const Node* node, Effects& into) {
  if (changesStateOnly(*node)) return;
  const Structure* structure = structureOf(node->kind());
  if (!structure) {
    if (const Operator* op = knownOperator(*node)) return collectOperatorReads(node, *op, into);
    into.raises = true;
    return;
  }
  if (structure->memory == Memory::Bodies) {
    for (const Block* block : Bodies(*node)) {
      for (const Node* inner : block->nodes()) {
        const Effects& theirs = effects(inner);
        into.reads.insert(into.reads.end(), theirs.reads.begin(), theirs.reads.end());
        into.slot_reads.insert(into.slot_reads.end(), theirs.slot_reads.begin(), theirs.slot_reads.end());
        into.raises |= theirs.raises;
      }
    }
    return;
  }
  into.raises = mayRaise(*node);
  if (structure->memory == Memory::Leaves) {  // the rest of the program finds memory as it is here
    for (const Value* input : node->inputs()) addReached(into.reads, input);
  } else if (structure->memory == Memory::Element && !touchesNothing(*node, structure->memory)) {
    const Value* holder = node->input(0);
    if (holder->type()->kind() != c10::TypeKind::ClassType) return addLocations(into.reads, holder);
    for (Location location : memory_.locations(variableOf(holder)))
      into.slot_reads.emplace_back(location, attributeSlot(node));
  }
}

void AliasDb::collectOperatorReads(const Node* node, const Operator& op, Effects& into) {
  into.raises = mayRaise(*node);
  const auto& arguments = op.schema().arguments();
  const auto inputs = node->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (variableOf(inputs[i]) == PointsTo::kNone) continue;
    // Rows for elements of any type can't look into them.
    if (i < arguments.size() && op.kernel() && arguments[i].type()->hasFreeVariables())
      addLocations(into.reads, inputs[i]);
    else
      addReached(into.reads, inputs[i]);
  }
}

bool AliasDb::showsOutside(const Changes& changes) {
  if (changes.anything || changes.ordered) return true;
  const auto escaped = [&](Location location) { return memory_.isEscaped(location); };
  return std::any_of(changes.writes.begin(), changes.writes.end(), escaped) ||
         std::any_of(changes.slot_writes.begin(), changes.slot_writes.end(), [&](const auto& slot) {
           return escaped(slot.first);
         });
}

bool AliasDb::hasSideEffects(const Node* node) {
  return showsOutside(changes(node));
}

bool AliasDb::isMutable(const Node* node) {
  const Changes& found = changes(node);
  return found.anything || !found.writes.empty() || !found.slot_writes.empty();
}

bool AliasDb::writesToAlias(const Node* node, std::span<Value* const> values) {
  const Changes& found = changes(node);
  if (!found.anything && found.writes.empty() && found.slot_writes.empty()) return false;
  std::vector<Location> reached;
  for (const Value* value : values) addReached(reached, value);
  if (found.anything) {
    for (Location location : reached) {
      if (memory_.isEscaped(location)) return true;
    }
  }
  if (memory_.overlap(found.writes, reached)) return true;
  for (const auto& [object, slot] : found.slot_writes) {
    for (Location location : reached) {
      if (memory_.overlap(object, location)) return true;
    }
  }
  return false;
}

bool AliasDb::conflict(const Node* a, const Node* b) {
  if ((changesState(*a) && dependsOnState(b)) || (changesState(*b) && dependsOnState(a))) return true;
  const Effects &first = effects(a), &second = effects(b);
  if (first.ordered && second.ordered) return true;
  if ((first.raises && showsOutside(second)) || (second.raises && showsOutside(first))) return true;
  const auto touchesEscaped = [&](const Effects& effects) {
    const auto escaped = [&](Location location) { return memory_.isEscaped(location); };
    const auto escapedSlot = [&](const auto& slot) { return memory_.isEscaped(slot.first); };
    return effects.anything || std::any_of(effects.reads.begin(), effects.reads.end(), escaped) ||
           std::any_of(effects.writes.begin(), effects.writes.end(), escaped) ||
           std::any_of(effects.slot_reads.begin(), effects.slot_reads.end(), escapedSlot) ||
           std::any_of(effects.slot_writes.begin(), effects.slot_writes.end(), escapedSlot);
  };
  if ((first.anything && touchesEscaped(second)) || (second.anything && touchesEscaped(first))) return true;
  const auto slotsMeet = [&](const auto& left, const auto& right) {
    for (const auto& [object, slot] : left) {
      for (const auto& [other, other_slot] : right) {
        if (slot == other_slot && memory_.overlap(object, other)) return true;
      }
    }
    return false;
  };
  const auto slotsMeetWhole = [&](const auto& slots, const std::vector<Location>& whole) {
    for (const auto& [object, slot] : slots) {
      for (Location location : whole) {
        if (memory_.overlap(object, location)) return true;
      }
    }
    return false;
  };
  const auto hurts = [&](const Effects& writer, const Effects& other) {
    return memory_.overlap(writer.writes, other.reads) || memory_.overlap(writer.writes, other.writes) ||
           slotsMeet(writer.slot_writes, other.slot_reads) || slotsMeet(writer.slot_writes, other.slot_writes) ||
           slotsMeetWhole(writer.slot_writes, other.reads) || slotsMeetWhole(writer.slot_writes, other.writes) ||
           slotsMeetWhole(other.slot_reads, writer.writes);
  };
  return hurts(first, second) || hurts(second, first);
}

bool AliasDb::mayWriteIn(const Block* block) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    const Bodies bodies(*node);
    return mayWrite(node) || std::any_of(bodies.begin(), bodies.end(), mayWriteIn);
  });
}

bool AliasDb::writesNothing() {
  findWriters();
  return !anything_written_ && written_.locations.empty();
}

void AliasDb::findWriters(Block* block) {
  for (const Node* node : block->nodes()) {
    if (memoryOf(*node, Memory::None) == Memory::Bodies) {
      for (Block* inner : Bodies(*node)) findWriters(inner);
      continue;
    }
    const Changes& found = changes(node);
    anything_written_ |= found.anything;
    for (Location location : found.updates) add(updated_, location);
    for (Location location : found.writes) {
      // Updates change elements only, without autograd's knowledge: dtypes, sizes and gradients stay.
      if (std::find(found.updates.begin(), found.updates.end(), location) != found.updates.end()) continue;
      add(written_, location);
      written_wholes_.insert(location);
    }
    for (const auto& [location, slot] : found.slot_writes) {
      add(written_, location);
      written_slots_[slot].insert(location);
    }
  }
}

void AliasDb::findWriters() {
  if (writers_known_) return;
  findWriters(graph_.block());
  writers_known_ = true;
}

void AliasDb::add(LocationSet& set, Location location) {
  set.locations.insert(location);
  if (memory_.isEscaped(location)) set.escaped.insert(memory_.classOf(location));
  if (memory_.isWorld(location)) set.worlds.insert(memory_.classOf(location));
}

bool AliasDb::mayMeet(const LocationSet& set, Location location) {
  if (set.locations.contains(location)) return true;
  if (!memory_.isEscaped(location)) return false;
  const auto& others = memory_.isWorld(location) ? set.escaped : set.worlds;
  const ClassId own = memory_.classOf(location);
  return std::any_of(others.begin(), others.end(), [&](ClassId id) { return memory_.classes().compatible(own, id); });
}

bool AliasDb::isWritten(Location location) {
  findWriters();
  return (anything_written_ && memory_.isEscaped(location)) || mayMeet(written_, location);
}

bool AliasDb::readsWritten(const Node* node) {
  if (writesNothing()) return false;
  const Effects& found = effects(node);
  return found.anything ||
         std::any_of(found.reads.begin(), found.reads.end(), [&](Location read) { return isWritten(read); }) ||
         std::any_of(found.slot_reads.begin(), found.slot_reads.end(), [&](const auto& slot) {
           return isSlotWritten(slot.first, slot.second);
         });
}

bool AliasDb::isSlotWritten(Location object, Field slot) {
  findWriters();
  if (anything_written_ && memory_.isEscaped(object)) return true;
  if (written_wholes_.contains(object)) return true;
  const auto found = written_slots_.find(slot);
  return found != written_slots_.end() && std::any_of(found->second.begin(), found->second.end(), [&](Location other) {
           return memory_.overlap(object, other);
         });
}

std::vector<Location> AliasDb::written(const Node* node) {
  const Changes& found = changes(node);
  std::vector<Location> locations = found.writes;
  for (const auto& [object, slot] : found.slot_writes) locations.push_back(object);
  sortUnique(locations);
  return locations;
}

bool AliasDb::hasWriters(const Value* value) {
  if (writesNothing()) return false;
  const std::vector<Location>& locations = memory_.locations(variableOf(value));
  return std::any_of(locations.begin(), locations.end(), [&](Location location) { return isWritten(location); });
}

bool AliasDb::hasUpdates(const Value* value) {
  findWriters();
  if (updated_.locations.empty()) return false;
  const std::vector<Location> locations = reached(value);
  return std::any_of(
      locations.begin(), locations.end(), [&](Location location) { return mayMeet(updated_, location); });
}

bool AliasDb::readsUpdated(const Node* node) {
  findWriters();
  if (updated_.locations.empty()) return false;
  const std::vector<Location>& reads = effects(node).reads;
  return std::any_of(reads.begin(), reads.end(), [&](Location read) { return mayMeet(updated_, read); });
}

bool AliasDb::hasInputWriters(const Node* node) {
  const auto inputs = node->inputs();
  return std::any_of(inputs.begin(), inputs.end(), [&](const Value* value) { return hasWriters(value); });
}

bool AliasDb::hasOutputWriters(const Node* node) {
  const auto outputs = node->outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&](const Value* value) { return hasWriters(value); });
}

}  // namespace cresset
