#include "cresset/executor/memory_layout.h"

#include <algorithm>
#include <unordered_map>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/analysis/inner_views.h"
#include "cresset/executor/out_variants.h"
#include "cresset/interpreter/strided_views.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"

namespace cresset {

namespace {

const Node* loopAround(const Block* block) {
  for (const Node* owner = block->owningNode(); owner; owner = owner->owningBlock()->owningNode()) {
    if (owner->kind() == prim::Loop) return owner;
  }
  return nullptr;
}

constexpr ColumnCell<bool> kTakesStorage[] = {
#define OPERATOR(name) {name, {}},
#define TAKES_STORAGE() {{}, true},
#include "cresset/ops/table/table.def"
};

/// Whether a node sees, of an argument, that its memory was planned: what takes its storage finds one that is no
/// allocation, what depends on the size of that finds it larger than the tensor, and what asks for its version finds it
/// written to by the runs before.
bool seesPlannedMemory(const Node& node) {
  static const auto* takers = new auto(byOperator(kTakesStorage));
  const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
  if (!op) return false;
  // Builtins ask whether it requires a gradient, and for that gradient: here no tensor does, and none has one.
  return takers->contains(op->fullName()) || (op->asksAutograd() && op->isOfDispatcher());
}

class LayoutBuilder {
 public:
  LayoutBuilder(Graph& graph, const TypeAssumptions& assumptions, bool manage_outputs)
      : graph_(graph),
        manage_outputs_(manage_outputs),
        memory_(aliasesOf(graph)),
        facts_(factsOf(graph, assumptions, /*with_sizes=*/true)),
        writes_(tensorWrites(graph)),
        views_(innerViews(graph, /*records_gradients=*/false)) {}

  std::shared_ptr<const MemoryLayout> run() {
    number(graph_.block());
    findHolders(graph_.block());
    visit(graph_.block());
    const std::vector<bool> is_taken = takePlaces();
    layout_->deaths.resize(layout_->positions.size());
    for (uint32_t i = 0; i < layout_->slots.size(); ++i) {
      const MemoryLayout::Slot& slot = layout_->slots[i];
      if (slot.liesApart() || is_taken[i]) continue;
      const auto after = std::upper_bound(layout_->positions.begin(), layout_->positions.end(), slot.last);
      if (after != layout_->positions.end())
        layout_->deaths[static_cast<size_t>(after - layout_->positions.begin())].push_back(i);
    }
    layout_->position_of = std::move(begin_);
    layout_->input_of.resize(graph_.numValues());
    for (uint32_t i = 0; i < graph_.inputs().size(); ++i) layout_->input_of[graph_.inputs()[i]->unique()] = i;
    return std::move(layout_);
  }

 private:
  void number(Block* block) {
    for (Node* node : block->nodes()) {
      begin_[node] = next_++;
      for (Block* inner : node->blocks()) number(inner);
      end_[node] = node->blocks().empty() ? begin_[node] : next_++;
    }
  }

  /// Which values may be, or hold, each piece of memory.
  void findHolders(Block* block) {
    const auto add = [&](Value* value) {
      for (const Location location : memory_->reached(value)) holders_[location].push_back(value);
    };
    for (Value* input : block->inputs()) add(input);
    for (Node* node : block->nodes()) {
      for (Value* output : node->outputs()) add(output);
      for (Block* inner : node->blocks()) findHolders(inner);
    }
  }

  void visit(Block* block) {
    for (Node* node : block->nodes()) {
      addSite(node);
      if (node->kind() == prim::ListUnpack && isLasting(node->input())) layout_->lasting_lists.insert(node);
      for (Block* inner : node->blocks()) visit(inner);
    }
  }

  void addSite(Node* node) {
    const bool is_subgraph = isSubgraph(*node, SubgraphKind::Fused) || isSubgraph(*node, SubgraphKind::Sequence);
    if ((isStructural(node->kind()) && !is_subgraph) || node->outputs().empty()) return;
    OutSite site;
    if (!is_subgraph) site.variant = copiesNothing(*node) ? nullptr : outVariantOf(*node, views_.contains(node));
    if (!is_subgraph && !site.variant) return;
    const bool allows_own = is_subgraph || site.variant->allowsOwnMemory();
    const bool computes_unused = is_subgraph || site.variant->computesUnused();
    const bool learns_dtypes = !is_subgraph && site.variant->learnsDtypes();
    std::vector<MemoryLayout::Slot> slots;
    std::vector<const Value*> results;
    size_t num_managed = 0;
    for (Value* output : node->outputs()) {
      const bool is_left_out = !computes_unused && output->uses().empty();
      std::optional<MemoryLayout::Slot> slot = is_left_out ? std::nullopt : slotFor(node, output, learns_dtypes);
      if (!slot && !allows_own && !is_left_out) return;
      num_managed += slot.has_value();
      site.has_own |= !slot;
      site.keeps.push_back(slot && !slot->liesApart());
      site.turns |= slot && slot->turns;
      site.slots.push_back(slot ? static_cast<uint32_t>(layout_->slots.size() + slots.size()) : OutSite::kNoSlot);
      if (slot) slots.push_back(std::move(*slot));
      if (slot) results.push_back(output);
    }
    if (num_managed == 0) return;
    site.index = static_cast<uint32_t>(layout_->positions.size());
    layout_->positions.push_back(begin_.at(node));
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i].place = static_cast<uint32_t>(layout_->slots.size());
      slot_of_[results[i]] = slots[i].place;
      results_.push_back(results[i]);
      layout_->slots.push_back(std::move(slots[i]));
    }
    layout_->sites.emplace(node, std::move(site));
  }

  /// Gives results places of operands, in program order; which slots gave theirs away.
  std::vector<bool> takePlaces() {
    std::vector<bool> is_taken(results_.size());
    for (uint32_t i = 0; i < results_.size(); ++i) {
      MemoryLayout::Slot& slot = layout_->slots[i];
      const Node* node = results_[i]->node();
      const OutVariant* variant = layout_->sites.at(node).variant.get();
      if (slot.liesApart() || (variant && node->outputs().size() != 1)) continue;
      for (size_t k = 0; k < node->inputs().size(); ++k) {
        const auto operand = slot_of_.find(node->inputs()[k]);
        if (operand == slot_of_.end() || is_taken[operand->second]) continue;
        const MemoryLayout::Slot& before = layout_->slots[operand->second];
        const bool may_overwrite = variant ? variant->mayOverwrite(k) : isElementwiseGroup(*node);
        if (before.liesApart() || before.last != slot.first || before.dtype != slot.dtype || !may_overwrite ||
            !isReadAsIs(*node, k) || !haveSameLayout(*node, k))
          continue;
        slot.place = before.place;
        is_taken[operand->second] = true;
        break;
      }
    }
    return is_taken;
  }

  /// Whether the node reads the operand's memory by that value alone.
  bool isReadAsIs(const Node& node, size_t operand) const {
    const Value* value = node.inputs()[operand];
    const auto memory = memory_->reached(value);
    for (const Value* other : node.inputs()) {
      if (other == value) continue;
      for (const Location location : memory_->reached(other)) {
        if (std::find(memory.begin(), memory.end(), location) != memory.end()) return false;
      }
    }
    return true;
  }

  /// Whether the node is a group of operators that go element by element, and keep the layout of operands that are
  /// alike. The launch of its kernel sees to it that no element is written before it was read (Launch::mayOverwrite),
  /// and is refused else: so this is a matter of speed.
  static bool isElementwiseGroup(const Node& node) {
    if (!isSubgraph(node, SubgraphKind::Fused)) return false;
    for (const Node* inner : node.g(attr::Subgraph)->block()->nodes()) {
      if (inner->kind() == prim::Constant && inner->output()->type()->kind() != c10::TypeKind::TensorType) continue;
      const Operator* op = isStructural(inner->kind()) ? nullptr : operatorOf(*inner);
      if (!op || !op->isPointwise() || !op->isPure() || takesFormat(*op)) return false;
    }
    return true;
  }

  static bool takesFormat(const Operator& op) { return op.schema().argumentIndexWithName("memory_format").has_value(); }

  /// Whether the node's results have the sizes and strides of the operand, which is a new tensor and so a dense one. It
  /// goes element by element.
  bool haveSameLayout(const Node& node, size_t operand) const {
    const Value* value = node.inputs()[operand];
    const auto inputs = node.inputs();
    if (isStructural(node.kind())) {
      return std::all_of(inputs.begin(), inputs.end(), [&](const Value* input) {
        if (input->type()->kind() != c10::TypeKind::TensorType) return true;
        return facts_->of(input).rank == size_t{0} || areAlike(input, value);
      });
    }
    const Operator& op = *operatorOf(node);
    const bool is_alone = std::all_of(inputs.begin(), inputs.end(), [&](const Value* input) {
      return input == value || input->type()->isSubtypeOf(*c10::NumberType::get()) || isNoneConstant(input);
    });
    return (is_alone && !op.makesContiguous() && !takesFormat(op)) || areAlike(value, node.output());
  }

  /// Whether both are contiguous, and of the same sizes, as far as that is known.
  bool areAlike(const Value* a, const Value* b) const {
    const auto left = facts_->sizesOf(a), right = facts_->sizesOf(b);
    return facts_->of(a).contiguity == Contiguity::Contiguous && facts_->of(b).contiguity == Contiguity::Contiguous &&
           bytesOf(a, at::kByte).isKnown() && std::equal(left.begin(), left.end(), right.begin(), right.end());
  }

  /// Whether its result is always its argument or a view: what makes a tensor contiguous, of one that is.
  bool copiesNothing(const Node& node) const {
    const Operator* op = operatorOf(node);
    if (!op || !op->keepsContiguous() || !stridedViewOf(*op)) return false;
    return facts_->of(node.input(size_t(0))).contiguity == Contiguity::Contiguous;
  }

  std::optional<MemoryLayout::Slot> slotFor(Node* node, Value* output, bool learns_dtype) {
    const auto dtype = learns_dtype ? std::optional(at::ScalarType::Undefined) : dtypeOfOutput(*output);
    if (!dtype) return std::nullopt;
    MemoryLayout::Slot slot{output->debugName(), *dtype, begin_.at(node), begin_.at(node), false, false, {}};
    // Who gives a tensor other memory or sizes must find one that is its own.
    if (memory_->hasWriters(output) && writes_ != TensorWrites::Elements) return std::nullopt;
    if (isSeen(output)) return std::nullopt;
    const Node* loop = loopAround(node->owningBlock());
    const bool leaves = memory_->escapes(output) || memory_->mayAliasWorld(output);
    if (leaves && !loop && !manage_outputs_) return std::nullopt;
    if (leaves || !findLastUse(output, loop, slot.last)) {
      if (loop ? !mayTurn(output) : !leaves) return std::nullopt;
      slot.is_output = leaves && manage_outputs_;
      slot.turns = loop != nullptr;
      slot.last = slot.first;
    }
    if (!learns_dtype) slot.bytes = bytesOf(output, *dtype);
    return slot;
  }

  /// Whether its elements stay what they are as long as the list lives.
  bool isLasting(const Value* list) const { return !memory_->hasWriters(list) && !memory_->mayAliasWorld(list); }

  bool isSeen(const Value* output) const {
    for (const Location location : memory_->reached(output)) {
      const auto holders = holders_.find(location);
      if (holders == holders_.end()) continue;
      for (const Value* holder : holders->second) {
        for (const Use& use : holder->uses()) {
          if (seesPlannedMemory(*use.user)) return true;
        }
      }
    }
    return false;
  }

  /// Whether who needs the memory refers to it, and takes it for no one's else.
  bool mayTurn(const Value* output) const {
    for (const Location location : memory_->reached(output)) {
      const auto holders = holders_.find(location);
      if (holders == holders_.end()) continue;
      for (const Value* holder : holders->second) {
        if (std::any_of(holder->uses().begin(), holder->uses().end(), takesMemory)) return false;
      }
    }
    return true;
  }

  /// It takes its first argument's memory if there is no other reference, and a slot is always one.
  static bool takesMemory(const Use& use) {
    const Operator* op = isStructural(use.user->kind()) ? nullptr : operatorOf(*use.user);
    return op && op->isInPlaceReuse() && use.offset == 0;
  }

  /// False if the memory may be needed when the loop's next iteration writes to it.
  bool findLastUse(Value* output, const Node* loop, size_t& last) {
    for (const Location location : memory_->reached(output)) {
      for (Value* holder : holders_[location]) {
        if (loop && !isInside(holder, loop)) return false;
        for (const Use& use : holder->uses()) {
          if (use.user->isReturn() && use.user->owningBlock()->owningNode() == loop && loop) return false;
          if (takesMemory(use)) return false;
          const Operator* op = isStructural(use.user->kind()) ? nullptr : operatorOf(*use.user);
          // A library's operator may keep its arguments, whatever its schema says.
          if (op && op->restriction() == Restriction::Foreign) return false;
          last = std::max(last, endOfUse(use, loop));
        }
      }
    }
    return true;
  }

  /// Whether it is computed anew in each iteration.
  static bool isInside(const Value* value, const Node* loop) {
    if (value->node()->isParam() && value->node()->owningBlock()->owningNode() == loop) return false;
    for (const Block* block = value->node()->owningBlock(); block;) {
      const Node* owner = block->owningNode();
      if (owner == loop) return true;
      block = owner ? owner->owningBlock() : nullptr;
    }
    return false;
  }

  size_t endOfUse(const Use& use, const Node* loop) const {
    const Node* user = use.user;
    if (user->isReturn()) user = user->owningBlock()->owningNode();
    if (!user) return next_;  // the graph's own results
    size_t end = end_.at(user);
    for (const Node* around = loopAround(user->owningBlock()); around != loop && around;
         around = loopAround(around->owningBlock()))
      end = std::max(end, end_.at(around));
    return end;
  }

  Size bytesOf(const Value* value, at::ScalarType dtype) const {
    const auto type = value->type()->cast<c10::TensorType>();
    const auto sizes = facts_->sizesOf(value);
    if (!type->dim() || sizes.size() != *type->dim()) return {};
    Size bytes = Size::constant(static_cast<int64_t>(c10::elementSize(dtype)));
    for (const Size& size : sizes) bytes = bytes * size;
    return bytes;
  }

  Graph& graph_;
  const bool manage_outputs_;
  const std::shared_ptr<AliasDb> memory_;
  const std::shared_ptr<const GraphFacts> facts_;
  const TensorWrites writes_;
  const InnerViews views_;
  std::unordered_map<const Node*, size_t> begin_, end_;
  size_t next_ = 0;
  std::vector<const Value*> results_;  // by slot
  std::unordered_map<const Value*, uint32_t> slot_of_;
  std::unordered_map<Location, std::vector<Value*>> holders_;
  std::shared_ptr<MemoryLayout> layout_ = std::make_shared<MemoryLayout>();
};

}  // namespace

std::shared_ptr<const MemoryLayout> layOutMemory(
    Graph& graph, const TypeAssumptions& assumptions, bool manage_outputs) {
  const KeepAnalyses kept(graph);
  return LayoutBuilder(graph, assumptions, manage_outputs).run();
}

}  // namespace cresset
