// Loops that reduce. The order in which elements are combined is a function of their number alone, so that the bits are
// the same for every layout, length of vectors and number of threads:
//
// - Blocks of 1,024 elements, in logical order. In a block, element i belongs to lane i mod 32; a lane begins with the
//   identity and takes its elements in order; then lanes are folded: i and i + 16, i and i + 8, and so on.
// - Values of blocks are joined to a binary tree by their numbers: a stack holds the roots of full trees, as the digits
//   of a binary counter.
//
// Either lanes are those of vectors, or vectors hold elements of several reductions; then lanes lie in memory.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <limits>

#include "cresset/codegen/llvm/emit_instruction.h"
#include "cresset/codegen/llvm/kernel_emitter.h"

namespace cresset::codegen {

namespace {

constexpr unsigned kLanes = 32;
constexpr int64_t kBlock = 1024;
constexpr unsigned kMaxTrees = 56;  // more blocks than 2^56 don't fit into memory

/// The type, with so many lanes.
llvm::Type* withLanes(llvm::Type* element, unsigned lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
}

/// Bools are bytes in memory.
llvm::Type* inMemory(llvm::Type* type) {
  if (!type->isIntOrIntVectorTy(1)) return type;
  llvm::Type* byte = llvm::Type::getInt8Ty(type->getContext());
  const auto* vector = llvm::dyn_cast<llvm::VectorType>(type);
  return vector ? llvm::VectorType::get(byte, vector->getElementCount()) : byte;
}

bool isUnsigned(at::ScalarType type) {
  return type == at::kBool || type == at::kByte;
}

llvm::Constant* identityOf(const Instruction& reduction, llvm::Type* type) {
  if (reduction.opcode == Opcode::Sum) return llvm::Constant::getNullValue(type);
  llvm::Type* element = type->getScalarType();
  const bool is_max = reduction.opcode == Opcode::Max;
  if (element->isFloatingPointTy()) {
    if (reduction.opcode == Opcode::Prod) return llvm::ConstantFP::get(type, 1);
    return llvm::ConstantFP::getInfinity(type, is_max);
  }
  const unsigned width = element->getIntegerBitWidth();
  if (reduction.opcode == Opcode::Prod) return llvm::ConstantInt::get(type, 1);
  if (isUnsigned(reduction.type))
    return llvm::ConstantInt::get(type, is_max ? llvm::APInt::getMinValue(width) : llvm::APInt::getMaxValue(width));
  return llvm::ConstantInt::get(
      type, is_max ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getSignedMaxValue(width));
}

bool findsNan(const Instruction& reduction) {
  return isFloating(reduction.type) && (reduction.opcode == Opcode::Max || reduction.opcode == Opcode::Min);
}

}  // namespace

llvm::Value* KernelEmitter::combine(const Accumulator& accumulator, llvm::Value* a, llvm::Value* b) {
  const at::ScalarType type = accumulator.instruction->type;
  const bool real = isFloating(type);
  using namespace llvm::Intrinsic;
  switch (accumulator.instruction->opcode) {
    case Opcode::Sum:
      return real ? b_.CreateFAdd(a, b) : type == at::kBool ? b_.CreateOr(a, b) : b_.CreateAdd(a, b);
    case Opcode::Prod:
      return real ? b_.CreateFMul(a, b) : type == at::kBool ? b_.CreateAnd(a, b) : b_.CreateMul(a, b);
    case Opcode::Max:
      if (!real) return b_.CreateBinaryIntrinsic(isUnsigned(type) ? umax : smax, a, b);
      return b_.CreateSelect(b_.CreateOr(b_.CreateFCmpOGT(b, a), b_.CreateFCmpUNO(b, b)), b, a);
    default:
      if (!real) return b_.CreateBinaryIntrinsic(isUnsigned(type) ? umin : smin, a, b);
      return b_.CreateSelect(b_.CreateOr(b_.CreateFCmpOLT(b, a), b_.CreateFCmpUNO(b, b)), b, a);
  }
}

std::pair<llvm::Value*, llvm::Value*> KernelEmitter::halvesOf(llvm::Value* lanes) {
  const unsigned half = llvm::cast<llvm::FixedVectorType>(lanes->getType())->getNumElements() / 2;
  llvm::SmallVector<int, kLanes> low, high;
  for (unsigned i = 0; i < half; ++i) {
    low.push_back(static_cast<int>(i));
    high.push_back(static_cast<int>(i + half));
  }
  return {b_.CreateShuffleVector(lanes, low), b_.CreateShuffleVector(lanes, high)};
}

llvm::Value* KernelEmitter::foldLanes(const Accumulator& accumulator, llvm::Value* lanes) {
  for (unsigned half = kLanes / 2; half > 0; half /= 2) {
    const auto [low, high] = halvesOf(lanes);
    lanes = combine(accumulator, low, high);
  }
  return b_.CreateExtractElement(lanes, uint64_t{0});
}

llvm::Value* KernelEmitter::allocate(llvm::Type* type, unsigned count) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> builder(&entry, entry.begin());
  return builder.CreateAlloca(inMemory(type), builder.getInt32(count));
}

llvm::Value* KernelEmitter::readSlot(llvm::Value* memory, llvm::Type* type, llvm::Value* index) {
  llvm::Value* value = b_.CreateLoad(inMemory(type), b_.CreateGEP(inMemory(type), memory, index));
  return type == inMemory(type) ? value : b_.CreateTrunc(value, type);
}

void KernelEmitter::writeSlot(llvm::Value* memory, llvm::Value* index, llvm::Value* value) {
  llvm::Type* type = inMemory(value->getType());
  if (type != value->getType()) value = b_.CreateZExt(value, type);
  b_.CreateStore(value, b_.CreateGEP(type, memory, index));
}

void KernelEmitter::setIndex(size_t dim, llvm::Value* index) {
  indices_[dim] = loop_begin_ && index ? b_.CreateNSWAdd(loop_begin_, index) : index;
}

void KernelEmitter::emitReduction(size_t begin, size_t end, const Lanes& lanes) {
  const auto dim = kernel_.code[begin].immediate;
  const bool in_vectors = dim == kernel_.vector_dim;
  std::vector<Accumulator> accumulators;
  std::vector<llvm::Value*> trees;  // memory for the roots
  for (size_t i = begin + 1; i < end; ++i) {
    const Instruction& instruction = kernel_.code[i];
    if (!isReduction(instruction.opcode)) continue;
    llvm::Type* type = withLanes(llvmType(b_.getContext(), instruction.type), in_vectors ? 1 : lanes.count);
    accumulators.push_back({&instruction, i, type, identityOf(instruction, type)});
    trees.push_back(allocate(type, kMaxTrees));
  }
  llvm::Value* size = ends_[dim];
  if (const Instruction& loop = kernel_.code[begin]; hasBounds(loop)) {
    loop_begin_ = values_[loop.operands[0]];
    size = b_.CreateSub(values_[loop.operands[1]], loop_begin_);
  }
  llvm::BasicBlock *before = b_.GetInsertBlock(), *block = newBlock("block"), *several = newBlock("several"),
                   *join = newBlock("join"), *done = newBlock("done");
  b_.CreateBr(block);
  b_.SetInsertPoint(block);
  llvm::PHINode *first = b_.CreatePHI(b_.getInt64Ty(), 2), *num_trees = b_.CreatePHI(b_.getInt64Ty(), 2);
  first->addIncoming(word(0), before);
  num_trees->addIncoming(word(0), before);
  llvm::Value* next = b_.CreateNSWAdd(first, word(kBlock));
  llvm::Value* last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next, size);
  const Values values = in_vectors ? reduceBlockInVectors(begin, end, first, last, accumulators)
                                   : reduceBlockAcross(begin, end, first, last, lanes, accumulators);
  llvm::BasicBlock* single = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpSLE(size, word(kBlock)), done, several);

  // Joins trees of equal size: as many as the block's number has ones at its end.
  b_.SetInsertPoint(several);
  llvm::Value* number = b_.CreateLShr(first, word(10));
  llvm::Value* ones =
      b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt64Ty()}, {b_.CreateNot(number), b_.getFalse()});
  const auto joinWith = [&](llvm::Value* top, llvm::ArrayRef<llvm::Value*> right) {
    Values joined;
    for (size_t i = 0; i < accumulators.size(); ++i)
      joined.push_back(combine(accumulators[i], readSlot(trees[i], accumulators[i].type, top), right[i]));
    return joined;
  };
  const Values joined =
      emitCarried(word(0), ones, 1, values, [&](llvm::Value* i, llvm::ArrayRef<llvm::Value*> carried) {
        return joinWith(b_.CreateSub(b_.CreateSub(num_trees, word(1)), i), carried);
      }).second;
  llvm::Value* place = b_.CreateSub(num_trees, ones);
  for (size_t i = 0; i < accumulators.size(); ++i) writeSlot(trees[i], place, joined[i]);
  llvm::Value* trees_now = b_.CreateAdd(place, word(1));
  first->addIncoming(next, b_.GetInsertBlock());
  num_trees->addIncoming(trees_now, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, size), block, join);

  b_.SetInsertPoint(join);
  Values tops;
  for (size_t i = 0; i < accumulators.size(); ++i) tops.push_back(readSlot(trees[i], accumulators[i].type, place));
  const Values all = emitCarried(word(0), place, 1, tops, [&](llvm::Value* i, llvm::ArrayRef<llvm::Value*> carried) {
                       return joinWith(b_.CreateSub(b_.CreateSub(place, word(1)), i), carried);
                     }).second;
  llvm::BasicBlock* joined_all = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  for (size_t i = 0; i < accumulators.size(); ++i) {
    llvm::PHINode* result = b_.CreatePHI(accumulators[i].type, 2);
    result->addIncoming(values[i], single);
    result->addIncoming(all[i], joined_all);
    values_[accumulators[i].number] = result;
  }
  loop_begin_ = nullptr;
}

KernelEmitter::Values KernelEmitter::reduceBlockInVectors(
    size_t begin, size_t end, llvm::Value* first, llvm::Value* last, Accumulators accumulators) {
  const auto dim = kernel_.code[begin].immediate;
  const Lanes lanes{kLanes, nullptr};
  // Extrema of floats find NaNs beside the numbers: that is less work for each element than to propagate them. A
  // comparison finds those of two lanes, which are folded together.
  Values initial;
  for (const Accumulator& accumulator : accumulators)
    initial.push_back(b_.CreateVectorSplat(kLanes, accumulator.identity));
  llvm::Value* none = b_.CreateVectorSplat(kLanes / 2, b_.getFalse());
  for (const Accumulator& accumulator : accumulators) {
    if (findsNan(*accumulator.instruction)) initial.push_back(none);
  }
  llvm::Value* whole = b_.CreateNSWSub(last, word(kLanes - 1));
  auto [tail, sums] =
      emitCarried(first, whole, kLanes, initial, [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> carried) {
        setIndex(dim, index);
        emitRange(begin + 1, end, lanes);
        setIndex(dim, nullptr);
        Values next, nan;
        for (size_t i = 0; i < accumulators.size(); ++i) {
          llvm::Value* value = operand(accumulators[i].instruction->operands[0], lanes);
          if (!findsNan(*accumulators[i].instruction)) {
            next.push_back(combine(accumulators[i], carried[i], value));
            continue;
          }
          const bool is_max = accumulators[i].instruction->opcode == Opcode::Max;
          llvm::Value* wins = is_max ? b_.CreateFCmpOGT(value, carried[i]) : b_.CreateFCmpOLT(value, carried[i]);
          next.push_back(b_.CreateSelect(wins, value, carried[i]));
          const auto [low, high] = halvesOf(value);
          nan.push_back(b_.CreateOr(carried[accumulators.size() + nan.size()], b_.CreateFCmpUNO(low, high)));
        }
        next.append(nan);
        return next;
      });
  size_t next_nan = accumulators.size();
  for (size_t i = 0; i < accumulators.size(); ++i) {
    if (!findsNan(*accumulators[i].instruction)) continue;
    llvm::Value* nan = sums[next_nan++];
    llvm::SmallVector<int, kLanes> twice;
    for (unsigned lane = 0; lane < kLanes; ++lane) twice.push_back(static_cast<int>(lane % (kLanes / 2)));
    nan = b_.CreateShuffleVector(nan, twice);
    sums[i] = b_.CreateSelect(nan, llvm::ConstantFP::getNaN(sums[i]->getType()), sums[i]);
  }
  sums.truncate(accumulators.size());
  reduceTail(begin, end, tail, last, accumulators, sums);
  for (size_t i = 0; i < accumulators.size(); ++i) sums[i] = foldLanes(accumulators[i], sums[i]);
  return sums;
}

/// Adds the last elements of a block, fewer than there are lanes, to the lanes.
void KernelEmitter::reduceTail(
    size_t begin, size_t end, llvm::Value* first, llvm::Value* last, Accumulators accumulators, Values& sums) {
  const auto dim = kernel_.code[begin].immediate;
  if (level_ == CpuLevel::V4) {
    sums = emitCarried(first, last, kLanes, sums, [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> carried) {
             const Lanes lanes{kLanes, maskUntil(index, last, kLanes)};
             setIndex(dim, index);
             emitRange(begin + 1, end, lanes);
             setIndex(dim, nullptr);
             Values next;
             for (size_t i = 0; i < accumulators.size(); ++i) {
               llvm::Value* value = operand(accumulators[i].instruction->operands[0], lanes);
               next.push_back(b_.CreateSelect(lanes.mask, combine(accumulators[i], carried[i], value), carried[i]));
             }
             return next;
           }).second;
    return;
  }
  // Lanes in memory: as many elements as fill a register, then one after the other.
  std::vector<llvm::Value*> memory;
  for (size_t i = 0; i < accumulators.size(); ++i) {
    memory.push_back(allocate(sums[i]->getType(), 1));
    writeSlot(memory[i], word(0), sums[i]);
  }
  const auto accumulate = [&](llvm::Value* index, unsigned count) {
    const Lanes lanes{count, nullptr};
    setIndex(dim, index);
    emitRange(begin + 1, end, lanes);
    setIndex(dim, nullptr);
    llvm::Value* place = b_.CreateUDiv(b_.CreateSub(index, first), word(count));
    for (size_t i = 0; i < accumulators.size(); ++i) {
      llvm::Value* sum = readSlot(memory[i], withLanes(accumulators[i].type, count), place);
      llvm::Value* value = operand(accumulators[i].instruction->operands[0], lanes);
      writeSlot(memory[i], place, combine(accumulators[i], sum, value));
    }
  };
  constexpr unsigned kFewer = 8;
  llvm::Value* next = emitCounted(
      first, b_.CreateNSWSub(last, word(kFewer - 1)), kFewer, [&](llvm::Value* index) { accumulate(index, kFewer); });
  emitCounted(next, last, 1, [&](llvm::Value* index) { accumulate(index, 1); });
  for (size_t i = 0; i < accumulators.size(); ++i) sums[i] = readSlot(memory[i], sums[i]->getType(), word(0));
}

/// What is read by index, all of it before any is added up: the rows lie anywhere, and memory is slow.
void KernelEmitter::prefetchReads(size_t begin, size_t end, llvm::Value* first, llvm::Value* last, const Lanes& lanes) {
  constexpr unsigned kLine = 64;
  const auto dim = kernel_.code[begin].immediate;
  const auto read = std::find_if(
      kernel_.code.begin() + static_cast<std::ptrdiff_t>(begin), kernel_.code.end(),
      [](const Instruction& i) { return i.opcode == Opcode::Read; });
  const auto at = static_cast<size_t>(read - kernel_.code.begin());
  if (at >= end) return;
  const Buffer& source = kernel_.buffer(read->immediate);
  const unsigned bytes =
      source.steps[vector_dim_] == Step::Next ? lanes.count * static_cast<unsigned>(c10::elementSize(source.dtype)) : 1;
  emitCounted(first, last, 1, [&](llvm::Value* index) {
    setIndex(dim, index);
    emitRange(begin + 1, at, lanes);
    llvm::Value* address = b_.CreateGEP(b_.getInt8Ty(), addressOf(read->immediate), values_[read->operands[0]]);
    for (unsigned offset = 0; offset < bytes; offset += kLine) {
      b_.CreateIntrinsic(
          llvm::Intrinsic::prefetch, {b_.getPtrTy()},
          {b_.CreateConstGEP1_64(b_.getInt8Ty(), address, offset), b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
    }
    setIndex(dim, nullptr);
  });
}

/// How many lanes across are accumulated at once: as many as registers hold, with a body that is small.
unsigned KernelEmitter::lanesAtOnce(size_t begin, size_t end, Accumulators accumulators) const {
  unsigned bits = 0;
  for (const Accumulator& accumulator : accumulators)
    bits += static_cast<unsigned>(accumulator.type->getPrimitiveSizeInBits().getFixedValue());
  const unsigned registers = std::max(1U, bits / (level_ == CpuLevel::V4 ? 512 : 256));
  const unsigned fit = (level_ == CpuLevel::V4 ? 16 : 8) / registers;
  return end - begin <= 10 && fit >= 4 ? 4 : end - begin <= 20 && fit >= 2 ? 2 : 1;
}

/// All of a block that fills its lanes: some lanes after the other, each in registers.
void KernelEmitter::accumulateLanes(
    size_t begin, size_t end, llvm::Value* first, llvm::Value* last, const Lanes& lanes, Accumulators accumulators,
    llvm::ArrayRef<llvm::Value*> slots) {
  const auto dim = kernel_.code[begin].immediate;
  const unsigned at_once = lanesAtOnce(begin, end, accumulators);
  Values initial;
  for (unsigned k = 0; k < at_once; ++k) {
    for (const Accumulator& accumulator : accumulators) initial.push_back(accumulator.identity);
  }
  emitCounted(word(0), word(kLanes), at_once, [&](llvm::Value* lane) {
    const auto body = [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> carried) {
      Values next;
      for (unsigned k = 0; k < at_once; ++k) {
        setIndex(dim, b_.CreateNSWAdd(index, word(k)));
        emitRange(begin + 1, end, lanes);
        setIndex(dim, nullptr);
        for (const Accumulator& accumulator : accumulators)
          next.push_back(
              combine(accumulator, carried[next.size()], operand(accumulator.instruction->operands[0], lanes)));
      }
      return next;
    };
    const Values sums = emitCarried(b_.CreateNSWAdd(first, lane), last, kLanes, initial, body).second;
    for (size_t i = 0; i < sums.size(); ++i)
      writeSlot(slots[i % slots.size()], b_.CreateAdd(lane, word(static_cast<int64_t>(i / slots.size()))), sums[i]);
  });
}

KernelEmitter::Values KernelEmitter::reduceBlockAcross(
    size_t begin, size_t end, llvm::Value* first, llvm::Value* last, const Lanes& lanes, Accumulators accumulators) {
  const auto dim = kernel_.code[begin].immediate;
  llvm::Value* size = b_.CreateSub(last, first);
  llvm::Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, size, word(kLanes));
  std::vector<llvm::Value*> slots;
  for (const Accumulator& accumulator : accumulators) slots.push_back(allocate(accumulator.type, kLanes));
  const auto accumulate = [&](llvm::Value* index) {
    setIndex(dim, index);
    emitRange(begin + 1, end, lanes);
    setIndex(dim, nullptr);
    llvm::Value* lane = b_.CreateAnd(index, word(kLanes - 1));
    for (size_t i = 0; i < accumulators.size(); ++i) {
      llvm::Value* sum = readSlot(slots[i], accumulators[i].type, lane);
      llvm::Value* value = operand(accumulators[i].instruction->operands[0], lanes);
      writeSlot(slots[i], lane, combine(accumulators[i], sum, value));
    }
  };
  const auto tile = loop_begin_ || lanes.count == 1 ? std::nullopt : tileOf(begin, end, dim);
  if (loop_begin_) prefetchReads(begin, end, first, last, lanes);
  if (loop_begin_ || tile) {
    llvm::Value* num_slots = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, word(1));
    emitCounted(word(0), num_slots, 1, [&](llvm::Value* lane) {
      for (size_t i = 0; i < accumulators.size(); ++i) writeSlot(slots[i], lane, accumulators[i].identity);
    });
  } else {
    llvm::Value* full = b_.CreateAdd(first, b_.CreateAnd(size, word(-int64_t{kLanes})));
    accumulateLanes(begin, end, first, full, lanes, accumulators, slots);
    first = full;
  }
  if (tile) {
    emitCounted(first, last, tile->count, [&](llvm::Value* index) {
      llvm::Value* tile_end = endOfTile(*tile, index, last);
      emitTile(begin, end, lanes, *tile, index, tile_end, [&] { emitCounted(index, tile_end, 1, accumulate); });
    });
  } else {
    emitCounted(first, last, 1, accumulate);
  }
  // Lanes without elements hold the identity: they are left out.
  for (unsigned half = kLanes / 2; half > 0; half /= 2) {
    llvm::Value* filled = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(count, word(half)), word(half));
    emitCounted(word(0), filled, 1, [&](llvm::Value* lane) {
      for (size_t i = 0; i < accumulators.size(); ++i) {
        llvm::Value* low = readSlot(slots[i], accumulators[i].type, lane);
        llvm::Value* high = readSlot(slots[i], accumulators[i].type, b_.CreateAdd(lane, word(half)));
        writeSlot(slots[i], lane, combine(accumulators[i], low, high));
      }
    });
    count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, word(half));
  }
  Values sums;
  for (size_t i = 0; i < accumulators.size(); ++i) sums.push_back(readSlot(slots[i], accumulators[i].type, word(0)));
  return sums;
}

}  // namespace cresset::codegen
