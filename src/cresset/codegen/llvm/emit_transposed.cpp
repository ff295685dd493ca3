// Loads and stores of vectors whose lanes lie apart, while each iteration of the loop around them goes to the next
// elements: as many iterations as fill a register of such elements are made together, and what they load and store is
// transposed in registers.
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

/// The first elements of all rows, then the second ones, and so on.
std::vector<llvm::Value*> interleave(llvm::IRBuilder<>& b, std::vector<std::vector<llvm::Value*>> rows) {
  for (size_t half = rows.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) rows[i] = alternate(b, rows[i], rows[i + half]);
  }
  return rows[0];
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

/// The lanes of the one, then those of the other, which has as many or fewer.
llvm::Value* join(llvm::IRBuilder<>& b, llvm::Value* left, llvm::Value* right) {
  const auto lanesOf = [](llvm::Value* v) {
    return static_cast<int>(llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements());
  };
  const int num_left = lanesOf(left), num_right = lanesOf(right);
  llvm::SmallVector<int, 32> widened, order;
  for (int i = 0; i < num_left; ++i) widened.push_back(i < num_right ? i : -1);
  for (int i = 0; i < num_left; ++i) order.push_back(i);
  for (int i = 0; i < num_right; ++i) order.push_back(num_left + i);
  if (num_right != num_left) right = b.CreateShuffleVector(right, widened);
  return b.CreateShuffleVector(left, right, order);
}

}  // namespace

bool KernelEmitter::isTransposed(const Instruction& instruction, size_t dim) const {
  const bool moves = instruction.opcode == Opcode::Store || instruction.opcode == Opcode::Load;
  if (dim == SIZE_MAX || !moves || kernel_.isScratch(instruction.immediate)) return false;
  const Buffer& buffer = kernel_.buffer(instruction.immediate);
  return buffer.steps[vector_dim_] == Step::Any && buffer.steps[dim] == Step::Next;
}

/// How many iterations are made together; 0 if nothing that the loop loads or stores is transposed.
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
    loadTransposed(begin, end, lanes, count);
    transposed_dim_ = dim;
    for (iteration_ = 0; iteration_ < count; ++iteration_) {
      indices_[dim] = b_.CreateNSWAdd(index, word(iteration_));
      emitEach();
    }
    transposed_dim_ = SIZE_MAX;
    loaded_.clear();
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

/// What the next iterations load, before the first of them.
void KernelEmitter::loadTransposed(size_t begin, size_t end, const Lanes& lanes, unsigned count) {
  const auto dim = kernel_.code[begin].immediate;
  for (size_t i = begin + 1; i < end; ++i) {
    const uint64_t number = kernel_.code[i].immediate;
    if (kernel_.code[i].opcode != Opcode::Load || !isTransposed(kernel_.code[i], dim) || loaded_.contains(number))
      continue;
    const at::ScalarType dtype = kernel_.buffer(number).dtype;
    const llvm::Align align(c10::elementSize(dtype));
    auto* type = llvm::FixedVectorType::get(memoryType(b_.getContext(), dtype), count);
    llvm::Value *address = addressOf(number), *stride = strides_[number][vector_dim_];
    std::vector<llvm::Value*>& loaded = loaded_[number];
    for (unsigned first = 0; first < lanes.count; first += count) {
      std::vector<std::vector<llvm::Value*>> rows;
      for (unsigned lane = first; lane < first + count; ++lane) {
        rows.push_back({loadRow(type, address, align, lanes, lane)});
        address = b_.CreateGEP(b_.getInt8Ty(), address, stride);
      }
      const std::vector<llvm::Value*> part = interleave(b_, std::move(rows));
      for (unsigned k = 0; k < count; ++k) {
        if (first == 0) {
          loaded.push_back(part[k]);
        } else {
          loaded[k] = join(b_, loaded[k], part[k]);
        }
      }
    }
  }
}

/// The next elements of one lane.
llvm::Value* KernelEmitter::loadRow(
    llvm::Type* type, llvm::Value* address, llvm::Align align, const Lanes& lanes, unsigned lane) {
  if (!lanes.mask) return b_.CreateAlignedLoad(type, address, align);
  const auto count = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
  llvm::Value* exists = b_.CreateVectorSplat(count, b_.CreateExtractElement(lanes.mask, uint64_t{lane}));
  return b_.CreateMaskedLoad(type, address, align, exists, llvm::Constant::getNullValue(type));
}

/// `values`: what iterations store, of each lane one element.
void KernelEmitter::storeTransposed(uint64_t number, llvm::ArrayRef<llvm::Value*> values, const Lanes& lanes) {
  const auto count = static_cast<unsigned>(values.size());
  std::vector<std::vector<llvm::Value*>> rows;
  for (llvm::Value* value : values) rows.push_back(split(b_, value, lanes.count, count));
  const std::vector<llvm::Value*> transposed = interleave(b_, std::move(rows));
  llvm::Value *address = addressOf(number), *stride = strides_[number][vector_dim_];
  const llvm::Align align(c10::elementSize(kernel_.buffer(number).dtype));
  for (unsigned lane = 0; lane < lanes.count; ++lane) {
    if (lanes.mask) {
      llvm::Value* exists = b_.CreateVectorSplat(count, b_.CreateExtractElement(lanes.mask, uint64_t{lane}));
      b_.CreateMaskedStore(transposed[lane], address, align, exists);
    } else {
      b_.CreateAlignedStore(transposed[lane], address, align);
    }
    address = b_.CreateGEP(b_.getInt8Ty(), address, stride);
  }
}

}  // namespace cresset::codegen
