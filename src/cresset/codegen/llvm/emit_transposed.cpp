// Stores of vectors whose lanes lie apart, while each iteration of the loop around them stores the next elements: as
// many iterations as fill a register of such elements are made together, and what they store is transposed in
// registers.
#include <algorithm>
#include <utility>

#include "cresset/codegen/llvm/emit_instruction.h"
#include "cresset/codegen/llvm/kernel_emitter.h"

namespace cresset::codegen {

namespace {

/// a0 b0 a1 b1 …, in registers of as many elements as each of theirs.
std::vector<llvm::Value*> alternate(
    llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::Value*> left, llvm::ArrayRef<llvm::Value*> right) {
  const auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(left[0]->getType())->getNumElements());
  std::vector<llvm::Value*> alternating;
  for (size_t i = 0; i < left.size(); ++i) {
    for (const int half : {0, lanes / 2}) {
      llvm::SmallVector<int, 16> order;
      for (int k = half; k < half + lanes / 2; ++k) order.append({k, lanes + k});
      alternating.push_back(b.CreateShuffleVector(left[i], right[i], order));
    }
  }
  return alternating;
}

std::vector<llvm::Value*> split(llvm::IRBuilder<>& b, llvm::Value* vector, unsigned lanes, unsigned into) {
  std::vector<llvm::Value*> parts;
  for (unsigned first = 0; first < lanes; first += into) {
    llvm::SmallVector<int, 16> order;
    for (unsigned k = 0; k < into; ++k) order.push_back(static_cast<int>(first + k));
    parts.push_back(b.CreateShuffleVector(vector, order));
  }
  return parts;
}

}  // namespace

bool KernelEmitter::isTransposed(const Instruction& instruction, size_t dim) const {
  if (dim == SIZE_MAX || instruction.opcode != Opcode::Store || kernel_.isScratch(instruction.immediate)) return false;
  const Buffer& buffer = kernel_.buffer(instruction.immediate);
  return buffer.steps[vector_dim_] == Step::Any && buffer.steps[dim] == Step::Next;
}

/// How many iterations are made together; 0 if nothing that the loop stores is transposed.
unsigned KernelEmitter::iterationsToTranspose(size_t begin, size_t end, const Lanes& lanes) const {
  constexpr size_t kLargest = 24;  // instructions
  const auto dim = kernel_.code[begin].immediate;
  unsigned widest = 0;
  for (size_t i = begin + 1; i < end; ++i) {
    const Instruction& instruction = kernel_.code[i];
    if (instruction.opcode == Opcode::For || instruction.opcode == Opcode::Index) return 0;
    if (isTransposed(instruction, dim))
      widest = std::max(widest, static_cast<unsigned>(c10::elementSize(kernel_.buffer(instruction.immediate).dtype)));
  }
  if (widest == 0 || lanes.count == 1 || end - begin > kLargest) return 0;
  const unsigned count = (level_ == CpuLevel::V4 ? 64 : 32) / std::max(widest, 4U);
  return lanes.count % count == 0 ? count : 0;
}

void KernelEmitter::emitTransposed(size_t begin, size_t end, const Lanes& lanes, unsigned count) {
  const auto dim = kernel_.code[begin].immediate;
  const auto emitEach = [&] { emitRange(begin + 1, end, lanes); };
  llvm::Value* whole = b_.CreateNSWSub(ends_[dim], word(count - 1));
  llvm::Value* next = emitIterations(begin, end, word(0), whole, count, [&](llvm::Value* index) {
    transposed_dim_ = dim;
    for (unsigned k = 0; k < count; ++k) {
      indices_[dim] = b_.CreateNSWAdd(index, word(k));
      emitEach();
    }
    transposed_dim_ = SIZE_MAX;
    indices_[dim] = index;
    const std::vector<Staged> staged = std::exchange(staged_, {});
    for (size_t i = 0; i < staged.size() / count; ++i) {
      std::vector<llvm::Value*> values;
      for (unsigned k = 0; k < count; ++k) values.push_back(staged[i + k * staged.size() / count].value);
      storeTransposed(staged[i].buffer, values, lanes);
    }
  });
  emitIterations(begin, end, next, ends_[dim], 1, [&](llvm::Value*) { emitEach(); });
}

/// `values`: what iterations store, of each lane one element.
void KernelEmitter::storeTransposed(uint64_t number, llvm::ArrayRef<llvm::Value*> values, const Lanes& lanes) {
  const auto count = static_cast<unsigned>(values.size());
  std::vector<std::vector<llvm::Value*>> rows;
  for (llvm::Value* value : values) rows.push_back(split(b_, value, lanes.count, count));
  for (size_t half = count / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) rows[i] = alternate(b_, rows[i], rows[i + half]);
  }
  llvm::Value *address = addressOf(number), *stride = strides_[number][vector_dim_];
  const llvm::Align align(c10::elementSize(kernel_.buffer(number).dtype));
  for (unsigned lane = 0; lane < lanes.count; ++lane) {
    if (lanes.mask) {
      llvm::Value* exists = b_.CreateVectorSplat(count, b_.CreateExtractElement(lanes.mask, uint64_t{lane}));
      b_.CreateMaskedStore(rows[0][lane], address, align, exists);
    } else {
      b_.CreateAlignedStore(rows[0][lane], address, align);
    }
    address = b_.CreateGEP(b_.getInt8Ty(), address, stride);
  }
}

}  // namespace cresset::codegen
