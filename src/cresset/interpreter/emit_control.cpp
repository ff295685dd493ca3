// Emission of blocks, branches, loops and the moves at their ends.
#include <cstdint>
#include <utility>

#include "cresset/interpreter/emit.h"
#include "cresset/ir/constants.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

Op inverse(Op op) {
  switch (op) {
    case Op::JumpIf:
      return Op::JumpIfNot;
    case Op::JumpIfNot:
      return Op::JumpIf;
    case Op::JumpIfNone:
      return Op::JumpIfNotNone;
    case Op::JumpIfNotNone:
      return Op::JumpIfNone;
#define COMPARE_JUMP(Name, Compare, Inverse, Relation, Doc) \
  case Op::Name:                                            \
    return Op::Inverse;
#define FLOAT_JUMP(Name, Compare, Negation, Relation) \
  case Op::Name:                                      \
    return Op::Negation;                              \
  case Op::Negation:                                  \
    return Op::Name;
#include "cresset/interpreter/instructions.def"
    default:
      return Op::Count;
  }
}

/// The jump that is taken if `op` would return true; Op::Count if there is none.
Op jumpOf(Op op) {
  switch (op) {
    case Op::IsNone:
      return Op::JumpIfNone;
    case Op::IsNotNone:
      return Op::JumpIfNotNone;
#define COMPARE_JUMP(Name, Compare, Inverse, Relation, Doc) \
  case Op::Compare:                                         \
    return Op::Name;
#define FLOAT_JUMP(Name, Compare, Negation, Relation) \
  case Op::Compare:                                   \
    return Op::Name;
#include "cresset/interpreter/instructions.def"
    default:
      return Op::Count;
  }
}

bool isTrue(const Value* value) {
  const auto constant = toIValue(value);
  return constant && constant->isBool() && constant->toBool();
}

}  // namespace

void Emitter::emitEntryDrops(uint32_t block) {
  for (uint32_t variable : live_.blocks()[block].entry_drops) drop(variable);
}

void Emitter::emitBlock(uint32_t block) {
  const auto& info = live_.blocks()[block];
  for (uint32_t i = info.first_node; i < info.last_node; ++i) {
    setLocation(*live_.nodes()[i].node);
    emitNode(live_.nodes()[i]);
    if (block == 0) registers_.commit();
  }
}

void Emitter::emitReturn() {
  const auto& info = live_.blocks()[0];
  const InputRange outputs = info.block->outputs();
  const auto start = static_cast<uint32_t>(code_.pool.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    code_.pool.push_back(operand(outputs[k], info.first_flag + static_cast<uint32_t>(k)));
  }
  add(Op::Return, start, 0, static_cast<uint32_t>(outputs.size()));
}

size_t Emitter::emitConditionalJump(const Value* condition, uint32_t test, bool wanted) {
  Op op = Op::JumpIf;
  uint32_t x = test, y = 0;
  const bool only_use = condition->uses().size() == 1 && live_.variable(condition) == condition->unique();
  if (only_use && code_.instructions.size() > last_label_) {
    const Instruction& last = code_.instructions.back();
    const Op fused = jumpOf(last.op);
    // Only an output can be equal to a register that holds the condition now.
    if (fused != Op::Count && last.a == test) {
      op = fused;
      x = last.b;
      y = last.c;
      code_.instructions.pop_back();
      code_.location_of.pop_back();
    }
  }
  return add(wanted ? op : inverse(op), 0, x, y);
}

/// Puts the outputs of `block` into `targets` (kNone: not wanted) and releases what dies with it.
void Emitter::emitBranchEnd(uint32_t block, const Node& node, std::span<const uint32_t> targets) {
  const auto& info = live_.blocks()[block];
  const InputRange outputs = info.block->outputs();
  // A loop's condition comes first; it is read after the assignments and released by the caller.
  const size_t skip = outputs.size() - targets.size();
  const uint32_t condition = skip ? live_.variable(outputs[0]) : Registers::kNone;
  std::vector<Assignment> assignments;
  for (size_t k = 0; k < targets.size(); ++k) {
    if (targets[k] == Registers::kNone) continue;
    uint32_t from = operand(outputs[k + skip], info.first_flag + static_cast<uint32_t>(k + skip));
    if (live_.variable(outputs[k + skip]) == condition) from &= ~kMoveBit;
    assignments.push_back({targets[k], from});
  }
  emitAssignments(assignments);
  for (size_t k = 0; k < outputs.size(); ++k) {
    const uint32_t v = live_.variable(outputs[k]);
    if (v != condition && live_.isLastUse(info.first_flag + static_cast<uint32_t>(k))) registers_.release(v);
  }
}

void Emitter::emitIf(const Liveness::NodeInfo& info) {
  const Node& node = *info.node;
  const size_t jump = emitConditionalJump(node.input(size_t(0)), borrowed(node.input(size_t(0))), false);
  releaseDying(info);

  // An output gets the register where it is wanted later, if what is in there dies inside.
  const auto& deaths = live_.deaths(info);
  std::vector<uint32_t> targets, own;
  for (const Value* output : node.outputs()) {
    define(output);
    if (live_.isUnused(output)) {
      targets.push_back(Registers::kNone);
      continue;
    }
    uint32_t target = registers_.hint(live_.variable(output));
    if (target != Registers::kNone) {
      const uint32_t holder = registers_.holder(target);
      bool dies = holder == Registers::kNone;
      for (size_t i = 0; !dies && i < deaths.size(); ++i) dies = deaths[i] == holder;
      if (!dies) target = Registers::kNone;
    }
    if (target == Registers::kNone) {
      target = registers_.reserve();
      own.push_back(target);
    }
    targets.push_back(target);
  }

  auto branch = [&](size_t k) {
    const auto& block = live_.blocks()[info.blocks[k]];
    const InputRange outputs = block.block->outputs();
    for (size_t i = 0; i < targets.size(); ++i) {
      const uint32_t v = live_.variable(outputs[i]);
      if (targets[i] != Registers::kNone && !live_.isConstant(v) && registers_.of(v) == Registers::kNone) {
        registers_.setHint(v, targets[i]);
      }
    }
    emitEntryDrops(info.blocks[k]);
    emitBlock(info.blocks[k]);
    emitBranchEnd(info.blocks[k], node, targets);
  };
  const size_t state = registers_.mark();
  branch(0);
  registers_.rewind(state);
  if (code_.instructions.size() == jump + 1) {
    // The first branch needs no instruction: jump over the second instead.
    Instruction& instruction = code_.instructions[jump];
    instruction.op = inverse(instruction.op);
    here();
    branch(1);
    setTarget(jump, here());
  } else {
    const size_t leave = add(Op::Jump);
    setTarget(jump, here());
    branch(1);
    if (code_.instructions.size() == leave + 1) {
      code_.instructions.pop_back();
      code_.location_of.pop_back();
      setTarget(jump, here());
    } else {
      setTarget(leave, here());
    }
  }

  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] != Registers::kNone) registers_.assign(live_.variable(node.output(i)), targets[i]);
  }
  for (uint32_t target : own) registers_.unreserve(target);
}

Emitter::Carried Emitter::startCarried(const Liveness::NodeInfo& info) {
  const Node& node = *info.node;
  const auto phis = live_.blocks()[info.blocks[0]].block->inputs();
  const size_t n = node.outputs().size();
  const uint32_t limit_variable = live_.variable(node.input(size_t(0)));
  const uint32_t condition_variable = live_.variable(node.input(size_t(1)));
  std::vector<uint32_t> targets, own;
  std::vector<Assignment> assignments;
  std::vector<uint32_t> released;
  for (size_t k = 0; k < n; ++k) {
    const Value* start = node.input(k + 2);
    const uint32_t v = live_.variable(start);
    uint32_t from = operand(start, info.first_flag + static_cast<uint32_t>(k + 2));
    const bool pinned = v == limit_variable || v == condition_variable;
    if (pinned) from &= ~kMoveBit;
    const bool moved = (from & kMoveBit) != 0;
    const uint32_t from_register = from & kIndexMask;
    define(node.output(k));
    define(phis[k + 1]);

    uint32_t target = registers_.hint(live_.variable(node.output(k)));
    if (target != Registers::kNone) {
      const uint32_t holder = registers_.holder(target);
      if (holder != Registers::kNone && !(moved && holder == v)) target = Registers::kNone;
    }
    if (target == Registers::kNone) {
      if (moved && !registers_.isReserved(from_register)) {
        target = from_register;
        registers_.reserve(target);
      } else {
        target = registers_.reserve();
      }
      own.push_back(target);
    }
    targets.push_back(target);
    assignments.push_back({target, from});
    if (moved) released.push_back(v);
  }
  emitAssignments(assignments);
  for (uint32_t v : released) registers_.release(v);
  for (size_t k = 0; k < n; ++k) registers_.assign(live_.variable(phis[k + 1]), targets[k]);
  return {std::move(targets), std::move(own)};
}

void Emitter::endCarried(const Liveness::NodeInfo& info, const Carried& carried) {
  const Node& node = *info.node;
  const auto dies = [&](uint32_t variable) {
    for (size_t k = 0; k < node.inputs().size(); ++k) {
      if (live_.isLastUse(info.first_flag + static_cast<uint32_t>(k)) && live_.variable(node.input(k)) == variable)
        return true;
    }
    return false;
  };
  for (size_t k = 0; k < carried.targets.size(); ++k)
    registers_.assign(live_.variable(node.output(k)), carried.targets[k]);
  for (uint32_t target : carried.own) registers_.unreserve(target);
  for (const Value* output : node.outputs()) {
    if (live_.isUnused(output)) drop(live_.variable(output));
  }
  for (uint32_t v : {live_.variable(node.input(size_t(0))), live_.variable(node.input(size_t(1)))}) {
    if (!live_.isConstant(v) && dies(v) && registers_.holder(registers_.of(v)) == v) registers_.release(v);
  }
  for (uint32_t v : live_.deaths(info)) drop(v);
}

void Emitter::emitLoop(const Liveness::NodeInfo& info) {
  const Node& node = *info.node;
  const auto& body = live_.blocks()[info.blocks[0]];
  const auto phis = body.block->inputs();
  const InputRange results = body.block->outputs();
  const size_t n = node.outputs().size();
  // The trip count and the first condition are read after the carried values got their registers, so that those must
  // not take them over.
  const uint32_t limit = borrowed(node.input(size_t(0))), first_condition = borrowed(node.input(size_t(1)));
  const bool counted = !isUnlimited(node.input(size_t(0))) || phis[0]->hasUses();

  const Carried carried = startCarried(info);
  const std::vector<uint32_t>& targets = carried.targets;

  uint32_t counter = 0;
  if (counted) {
    counter = registers_.reserve();
    registers_.assign(live_.variable(phis[0]), counter);
    add(Op::Copy, counter, constant(int64_t(0)) | kConstantBit);
  }
  define(phis[0]);
  std::vector<size_t> exits;
  if (!isTrue(node.input(size_t(1)))) exits.push_back(add(Op::JumpIfNot, 0, first_condition));
  if (counted && !isUnlimited(node.input(size_t(0)))) exits.push_back(add(Op::JumpIfGe, 0, counter, limit));

  for (size_t k = 0; k < n; ++k) {
    const uint32_t v = live_.variable(results[k + 1]);
    if (!live_.isConstant(v) && registers_.of(v) == Registers::kNone) registers_.setHint(v, targets[k]);
  }
  const size_t start = here();
  if (code_.hot_loops) addLoopEntry(node, start);
  emitEntryDrops(info.blocks[0]);
  emitBlock(info.blocks[0]);
  setLocation(node);

  // The condition is read after the assignments. If it lies in a register that they write, it is a carried value.
  const uint32_t condition = live_.variable(results[0]);
  uint32_t test = borrowed(results[0]), spare = Registers::kNone;
  for (uint32_t target : targets) {
    if (test != target) continue;
    spare = registers_.reserve();
    add(Op::Copy, spare, test);
    test = spare;
    break;
  }
  emitBranchEnd(info.blocks[0], node, targets);
  if (!counted) {
    if (isTrue(results[0])) {
      setTarget(add(Op::Jump), start);
    } else {
      setTarget(emitConditionalJump(results[0], test, true), start);
    }
  } else {
    if (!isTrue(results[0])) exits.push_back(emitConditionalJump(results[0], test, false));
    add(Op::Loop, static_cast<uint32_t>(start), counter, limit);
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (live_.variable(results[k]) != condition || !live_.isLastUse(body.first_flag + static_cast<uint32_t>(k)))
      continue;
    registers_.release(condition);
  }
  if (spare != Registers::kNone) registers_.unreserve(spare);
  const size_t end = here();
  for (size_t jump : exits) setTarget(jump, end);

  if (counted) {
    registers_.release(live_.variable(phis[0]));
    registers_.unreserve(counter);
  }
  endCarried(info, carried);
}

void Emitter::addLoopEntry(const Node& loop, size_t start) {
  LoopEntry entry{&loop, static_cast<uint32_t>(start), {}};
  for (uint32_t reg = 0; reg < registers_.count(); ++reg) {
    if (registers_.holder(reg) != Registers::kNone) entry.held.emplace_back(registers_.holder(reg), reg);
  }
  code_.loops.push_back(std::move(entry));
}

/// Assigns all at once: no assignment sees another's result.
void Emitter::emitAssignments(const std::vector<Assignment>& assignments) {
  // How often each register is still to be read, and whether its value ends here.
  std::unordered_map<uint32_t, uint32_t> readers;
  std::unordered_map<uint32_t, bool> ends;
  std::vector<Assignment> pending;
  for (const Assignment& a : assignments) {
    if (a.operand & kConstantBit) continue;
    const uint32_t source = a.operand & kIndexMask;
    auto [it, is_new] = ends.emplace(source, false);
    if (a.operand & kMoveBit) it->second = true;
  }
  for (const Assignment& a : assignments) {
    if (!(a.operand & kConstantBit) && (a.operand & kIndexMask) == a.target) {
      ends[a.target] = false;  // it stays where it is
      continue;
    }
    pending.push_back(a);
    if (!(a.operand & kConstantBit)) ++readers[a.operand & kIndexMask];
  }

  std::unordered_map<uint32_t, size_t> writer;  // target -> index in pending
  std::vector<size_t> ready;
  std::vector<bool> done(pending.size());
  for (size_t i = 0; i < pending.size(); ++i) {
    writer.emplace(pending[i].target, i);
    if (!readers.contains(pending[i].target)) ready.push_back(i);
  }
  auto assign = [&](size_t i) {
    done[i] = true;
    const auto [target, from] = pending[i];
    if (from & kConstantBit) {
      add(Op::Copy, target, from);
      return;
    }
    const uint32_t source = from & kIndexMask;
    const bool last = --readers[source] == 0;
    add(last && ends[source] ? Op::Move : Op::Copy, target, source);
    if (!last) return;
    readers.erase(source);
    if (auto next = writer.find(source); next != writer.end() && !done[next->second]) ready.push_back(next->second);
  };
  size_t cursor = 0;
  while (true) {
    while (!ready.empty()) {
      const size_t i = ready.back();
      ready.pop_back();
      assign(i);
    }
    while (cursor < pending.size() && done[cursor]) ++cursor;
    if (cursor == pending.size()) return;
    // Only cycles are left. Freeing one register opens the cycle that it is part of.
    const uint32_t blocked = pending[cursor].target;
    const uint32_t spare = registers_.reserve();
    add(Op::Move, spare, blocked);
    for (size_t i = cursor; i < pending.size(); ++i) {
      if (!done[i] && !(pending[i].operand & kConstantBit) && (pending[i].operand & kIndexMask) == blocked) {
        pending[i].operand = spare;
      }
    }
    readers[spare] = readers[blocked];
    readers.erase(blocked);
    ends[spare] = true;
    registers_.unreserve(spare);  // nothing else is allocated before the moves are out
    ready.push_back(cursor);
  }
}

}  // namespace cresset
