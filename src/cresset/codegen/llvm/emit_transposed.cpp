// Loads and stores of vectors whose lanes lie apart, while each iteration of a loop around them goes to the next
// elements: a tile of so many iterations that they fill lines of the cache is brought to memory of its own, transposed
// in registers, so that each line is read or written whole and once. The loop over the iterations of the tile reads and
// writes that memory in vectors.
#include <algorithm>

#include "cresset/codegen/llvm/emit_instruction.h"
#include "cresset/codegen/llvm/kernel_emitter.h"

namespace cresset::codegen {

namespace {

constexpr unsigned kLine = 64;  // bytes

/// Of each unit of so many elements: a0 b0 a1 b1 …, in registers of as many elements as each of theirs.
std::vector<llvm::Value*> alternate(
    llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::Value*> left, llvm::ArrayRef<llvm::Value*> right, int unit) {
  const auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(left[0]->getType())->getNumElements());
  std::vector<llvm::Value*> alternating;
  for (size_t i = 0; i < left.size(); ++i) {
    for (const int half : {0, unit / 2}) {
      llvm::SmallVector<int, 16> order;
      for (int first = half; first < lanes; first += unit) {
        for (int k = first; k < first + unit / 2; ++k) order.append({k, lanes + k});
      }
      alternating.push_back(b.CreateShuffleVector(left[i], right[i], order));
    }
  }
  return alternating;
}

/// The first elements of all rows, then the second ones, and so on; there are as many rows as elements in each. First
/// within units of 128 bits, which processors do fastest, then whole units.
std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& b, std::vector<llvm::Value*> rows) {
  const auto count = static_cast<int>(rows.size());
  const int unit = std::min(count, 128 / static_cast<int>(rows[0]->getType()->getScalarSizeInBits()));
  for (int first = 0; first < count; first += unit) {
    std::vector<std::vector<llvm::Value*>> parts;
    for (int i = 0; i < unit; ++i) parts.push_back({rows[first + i]});
    for (int half = unit / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) parts[i] = alternate(b, parts[i], parts[i + half], unit);
    }
    std::copy(parts[0].begin(), parts[0].end(), rows.begin() + first);
  }
  for (int by = unit; by < count; by *= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (int k = 0; k < count; ++k) {
      low.push_back((k & by) == 0 ? k : count + k - by);
      high.push_back((k & by) == 0 ? k + by : count + k);
    }
    for (int i = 0; i < count; ++i) {
      if ((i & by) != 0) continue;
      llvm::Value *left = rows[i], *right = rows[i + by];
      rows[i] = b.CreateShuffleVector(left, right, low);
      rows[i + by] = b.CreateShuffleVector(left, right, high);
    }
  }
  return rows;
}

}  // namespace

bool KernelEmitter::isTransposed(const Instruction& instruction, size_t dim) const {
  const bool moves = instruction.opcode == Opcode::Store || instruction.opcode == Opcode::Load;
  if (!moves || kernel_.isScratch(instruction.immediate)) return false;
  const Buffer& buffer = kernel_.buffer(instruction.immediate);
  return buffer.steps[vector_dim_] == Step::Any && buffer.steps[dim] == Step::Next;
}

std::optional<KernelEmitter::Tile> KernelEmitter::tileOf(size_t begin, size_t end, size_t dim) const {
  unsigned widest = 0;
  for (size_t i = begin + 1; i < end; ++i) {
    const Instruction& instruction = kernel_.code[i];
    if (instruction.opcode == Opcode::For) return std::nullopt;
    if (isTransposed(instruction, dim))
      widest = std::max(widest, static_cast<unsigned>(c10::elementSize(kernel_.buffer(instruction.immediate).dtype)));
  }
  if (widest == 0) return std::nullopt;
  widest = std::max(widest, 4U);
  return Tile{dim, kLine / widest, (level_ == CpuLevel::V4 ? 64 : 32) / widest, nullptr, {}};
}

void KernelEmitter::emitTile(
    size_t begin, size_t end, const Lanes& lanes, Tile tile, llvm::Value* first, llvm::Value* last,
    llvm::function_ref<void()> iterate) {
  if (lanes.count == 1) return iterate();
  tile.first = first;
  tile.square = std::min(tile.square, lanes.count);
  std::vector<uint64_t> loaded, stored;
  for (size_t i = begin + 1; i < end; ++i) {
    const uint64_t number = kernel_.code[i].immediate;
    if (!isTransposed(kernel_.code[i], tile.dim) || tile.memory.contains(number)) continue;
    llvm::Type* element = memoryType(b_.getContext(), kernel_.buffer(number).dtype);
    tile.memory[number] = allocate(llvm::FixedVectorType::get(element, lanes.count), tile.count);
    (kernel_.code[i].opcode == Opcode::Load ? loaded : stored).push_back(number);
  }
  llvm::Value* size = b_.CreateSub(last, first);
  moveTile(tile, loaded, /*loads=*/true, lanes, size);
  tile_ = &tile;
  iterate();
  tile_ = nullptr;
  moveTile(tile, stored, /*loads=*/false, lanes, size);
}

llvm::Value* KernelEmitter::placeInTile(uint64_t number, llvm::Type* vector) {
  return b_.CreateGEP(vector, tile_->memory.at(number), b_.CreateSub(indices_[tile_->dim], tile_->first));
}

void KernelEmitter::moveTile(
    const Tile& tile, llvm::ArrayRef<uint64_t> buffers, bool loads, const Lanes& lanes, llvm::Value* size) {
  if (buffers.empty()) return;
  llvm::BasicBlock *whole = newBlock("whole"), *part = newBlock("part"), *after = newBlock("moved");
  indices_[tile.dim] = tile.first;
  b_.CreateCondBr(b_.CreateICmpEQ(size, word(tile.count)), whole, part);
  b_.SetInsertPoint(whole);
  for (const uint64_t number : buffers) moveWholeTile(tile, number, loads, lanes);
  b_.CreateBr(after);
  b_.SetInsertPoint(part);
  for (const uint64_t number : buffers) moveElements(tile, number, loads, lanes, size);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  indices_[tile.dim] = nullptr;
}

void KernelEmitter::moveWholeTile(const Tile& tile, uint64_t number, bool loads, const Lanes& lanes) {
  const at::ScalarType dtype = kernel_.buffer(number).dtype;
  const llvm::Align align(c10::elementSize(dtype));
  llvm::Type* element = memoryType(b_.getContext(), dtype);
  auto* row = llvm::FixedVectorType::get(element, tile.square);
  llvm::Value *address = addressOf(number), *stride = strides_[number][vector_dim_];
  for (unsigned first = 0; first < lanes.count; first += tile.square) {
    Values addresses, exists;  // of lanes
    for (unsigned i = 0; i < tile.square; ++i) {
      addresses.push_back(address);
      address = b_.CreateGEP(b_.getInt8Ty(), address, stride);
      llvm::Value* one = lanes.mask ? b_.CreateExtractElement(lanes.mask, uint64_t{first + i}) : b_.getTrue();
      exists.push_back(b_.CreateVectorSplat(tile.square, one));
    }
    for (unsigned k = 0; k < tile.count; k += tile.square) {
      const auto inTile = [&](unsigned i) {
        return b_.CreateConstGEP1_64(element, tile.memory.at(number), uint64_t{k + i} * lanes.count + first);
      };
      const auto inBuffer = [&](unsigned i) { return b_.CreateConstGEP1_64(element, addresses[i], k); };
      std::vector<llvm::Value*> rows(tile.square);
      for (unsigned i = 0; i < tile.square; ++i) {
        if (loads && lanes.mask) {
          rows[i] = b_.CreateMaskedLoad(row, inBuffer(i), align, exists[i], llvm::Constant::getNullValue(row));
        } else {
          rows[i] = b_.CreateAlignedLoad(row, loads ? inBuffer(i) : inTile(i), align);
        }
      }
      const std::vector<llvm::Value*> transposed = transpose(b_, std::move(rows));
      for (unsigned i = 0; i < tile.square; ++i) {
        if (!loads && lanes.mask) {
          b_.CreateMaskedStore(transposed[i], inBuffer(i), align, exists[i]);
        } else {
          b_.CreateAlignedStore(transposed[i], loads ? inTile(i) : inBuffer(i), align);
        }
      }
    }
  }
}

/// Of the last tile of a loop, which has fewer iterations.
void KernelEmitter::moveElements(const Tile& tile, uint64_t number, bool loads, const Lanes& lanes, llvm::Value* size) {
  const at::ScalarType dtype = kernel_.buffer(number).dtype;
  const llvm::Align align(c10::elementSize(dtype));
  llvm::Type* element = memoryType(b_.getContext(), dtype);
  llvm::Value *address = addressOf(number), *stride = strides_[number][vector_dim_], *count = word(lanes.count);
  if (lanes.mask) {
    llvm::Value* bits = b_.CreateBitCast(lanes.mask, b_.getIntNTy(lanes.count));
    count = b_.CreateZExt(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), b_.getInt64Ty());
  }
  emitCounted(word(0), count, 1, [&](llvm::Value* lane) {
    llvm::Value* own = b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateMul(lane, stride));
    emitCounted(word(0), size, 1, [&](llvm::Value* k) {
      llvm::Value* there = b_.CreateGEP(element, own, k);
      llvm::Value* here =
          b_.CreateGEP(element, tile.memory.at(number), b_.CreateNSWAdd(b_.CreateMul(k, word(lanes.count)), lane));
      b_.CreateAlignedStore(b_.CreateAlignedLoad(element, loads ? there : here, align), loads ? here : there, align);
    });
  });
}

void KernelEmitter::emitTransposed(size_t begin, size_t end, const Lanes& lanes, const Tile& tile) {
  emitIterations(begin, end, word(0), ends_[tile.dim], tile.count, [&](llvm::Value* first) {
    llvm::Value* last = endOfTile(tile, first, ends_[tile.dim]);
    emitTile(begin, end, lanes, tile, first, last, [&] {
      emitIterations(begin, end, first, last, 1, [&](llvm::Value*) { emitRange(begin + 1, end, lanes); });
    });
  });
}

llvm::Value* KernelEmitter::endOfTile(const Tile& tile, llvm::Value* first, llvm::Value* end) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateNSWAdd(first, word(tile.count)), end);
}

/// Tiles of rows, the loop that becomes vectors within. What rows compute for all of their elements is kept in memory.
void KernelEmitter::emitTiles(size_t begin, size_t inner, const Tile& tile) {
  const size_t dim = tile.dim, inner_end = endOf(inner);
  struct Kept {
    size_t number;  // of the instruction
    llvm::Type* type;
    llvm::Value* memory;
  };
  std::vector<Kept> kept;
  llvm::Value* start = dim == 0 ? function_->getArg(4) : word(0);
  emitWhile(dim, start, ends_[dim], tile.count, [&](llvm::Value* first) {
    llvm::Value* last = endOfTile(tile, first, ends_[dim]);
    if (inner > begin + 1) {
      emitWhile(dim, first, last, 1, [&](llvm::Value* index) {
        emitRange(begin + 1, inner, {});
        for (size_t i = begin + 1; i < inner; ++i) {
          if (!values_[i]) continue;
          kept.push_back({i, values_[i]->getType(), allocate(values_[i]->getType(), tile.count)});
          writeSlot(kept.back().memory, b_.CreateSub(index, first), values_[i]);
        }
      });
    }
    const unsigned lanes = lanesOf(inner + 1, inner_end);
    emitVectors(inner, inner_end - inner > 160 ? lanes : std::max(lanes, tile.count), [&](const Lanes& all) {
      emitTile(inner, inner_end, all, tile, first, last, [&] {
        emitWhile(dim, first, last, 1, [&](llvm::Value* index) {
          for (const Kept& one : kept) values_[one.number] = readSlot(one.memory, one.type, b_.CreateSub(index, first));
          emitRange(inner + 1, inner_end, all);
        });
      });
    });
  });
}

}  // namespace cresset::codegen
