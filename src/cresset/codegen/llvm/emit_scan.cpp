// Loops that carry values from one iteration to the next: elements are computed in order, whatever the layout, so that
// the bits are those of a sequential loop.
//
// Either vectors hold elements of several rows, and what is carried is a vector; or they go along the row: then
// everything but what leads from one carried value to the next is computed in vectors, and that lane by lane.
#include <algorithm>

#include "cresset/codegen/llvm/kernel_emitter.h"

namespace cresset::codegen {

bool KernelEmitter::computesScans(size_t begin, size_t end) const {
  for (size_t i = begin + 1; i < end && kernel_.code[i].opcode != Opcode::For; ++i) {
    if (kernel_.code[i].opcode == Opcode::Previous) return true;
  }
  return false;
}

void KernelEmitter::beginScans(size_t begin, size_t end, const Lanes& lanes) {
  for (size_t i = begin + 1; i < end; ++i) {
    if (kernel_.code[i].opcode == Opcode::Previous) values_[i] = operand(kernel_.code[i].operands[0], lanes);
  }
}

llvm::Value* KernelEmitter::emitIterations(
    size_t begin, size_t end, llvm::Value* start, llvm::Value* last, unsigned by, Index body) {
  std::vector<size_t> previous;
  if (computesScans(begin, end)) {
    for (size_t i = begin + 1; i < end; ++i) {
      if (kernel_.code[i].opcode == Opcode::Previous) previous.push_back(i);
    }
  }
  Values initial;
  for (const size_t i : previous) initial.push_back(values_[i]);
  const auto dim = kernel_.code[begin].immediate;
  const auto [next, carried] =
      emitCarried(start, last, by, initial, [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> values) {
        for (size_t k = 0; k < previous.size(); ++k) values_[previous[k]] = values[k];
        indices_[dim] = index;
        body(index);
        indices_[dim] = nullptr;
        Values carried_on;
        for (const size_t i : previous) carried_on.push_back(values_[i]);
        return carried_on;
      });
  for (size_t k = 0; k < previous.size(); ++k) values_[previous[k]] = carried[k];
  return next;
}

/// Which instructions lead from a `previous` to its `carry`; returns how many.
size_t KernelEmitter::findChains(size_t begin, size_t end) {
  is_chain_.assign(end, false);
  size_t count = 0;
  for (size_t i = begin + 1; i < end; ++i) {
    const Instruction& instruction = kernel_.code[i];
    if (instruction.opcode == Opcode::Carry) continue;
    is_chain_[i] = instruction.opcode == Opcode::Previous;
    for (size_t k = 0; k < numOperands(instruction.opcode); ++k)
      is_chain_[i] = is_chain_[i] || is_chain_[instruction.operands[k]];
    count += is_chain_[i] ? 1 : 0;
  }
  return count;
}

void KernelEmitter::emitScanInVectors(size_t begin, size_t end) {
  constexpr size_t kLongest = 8;  // instructions that are repeated for each lane
  const auto dim = kernel_.code[begin].immediate;
  beginScans(begin, end, {});
  llvm::Value* next = word(0);
  if (findChains(begin, end) <= kLongest) {
    const Lanes lanes{lanesOf(begin + 1, end), nullptr};
    llvm::Value* last = b_.CreateSub(ends_[dim], word(lanes.count - 1));
    next = emitIterations(begin, end, next, last, lanes.count, [&](llvm::Value*) { emitRange(begin + 1, end, lanes); });
  }
  is_chain_.clear();
  emitIterations(begin, end, next, ends_[dim], 1, [&](llvm::Value*) { emitRange(begin + 1, end, {}); });
}

void KernelEmitter::emitCarry(size_t number, const Lanes& lanes) {
  const Instruction& carry = kernel_.code[number];
  const size_t previous = carry.operands[0];
  if (lanes.count == 1 || is_chain_.empty()) {
    values_[number] = values_[previous] = operand(carry.operands[1], lanes);
    return;
  }
  // What one chain takes of another's has been carried before.
  std::vector<bool> is_own(number, false);
  is_own[previous] = true;
  llvm::Value* all = nullptr;
  for (unsigned lane = 0; lane < lanes.count; ++lane) {
    const auto valueAt = [&](Register value) {
      llvm::Value* found = values_[value];
      return found->getType()->isVectorTy() ? b_.CreateExtractElement(found, uint64_t{lane}) : found;
    };
    for (size_t i = previous + 1; i < number; ++i) {
      const Instruction& instruction = kernel_.code[i];
      const llvm::ArrayRef<Register> registers(instruction.operands.data(), numOperands(instruction.opcode));
      is_own[i] = is_chain_[i] && instruction.opcode != Opcode::Previous &&
                  std::any_of(registers.begin(), registers.end(), [&](Register value) { return is_own[value]; });
      if (!is_own[i]) continue;
      llvm::SmallVector<llvm::Value*, 3> operands;
      for (const Register value : registers) operands.push_back(valueAt(value));
      values_[i] = compute(instruction, operands);
    }
    llvm::Value* next = valueAt(carry.operands[1]);
    if (!all) all = llvm::PoisonValue::get(llvm::FixedVectorType::get(next->getType(), lanes.count));
    all = b_.CreateInsertElement(all, next, uint64_t{lane});
    values_[previous] = next;
  }
  values_[number] = all;
}

}  // namespace cresset::codegen
