// Loops that sum products. The order is a function of the number of terms alone: term i belongs to lane i mod 8; a lane
// begins with +0 and takes its terms in order, each product added with one rounding; then lanes are folded: i and i +
// 4, i and i + 2, the last two.
//
// Vectors either go along the rows of a matrix, a vector per row of which lanes are those of the sum (several rows at
// once, whose sums become one vector), or across its columns, with a vector per lane.
#include <llvm/IR/Intrinsics.h>

#include "cresset/codegen/llvm/emit_instruction.h"
#include "cresset/codegen/llvm/kernel_emitter.h"

namespace cresset::codegen {

namespace {

/// What is folded to one: by halves, as lanes are.
template <class Add>
llvm::Value* foldHalves(llvm::ArrayRef<llvm::Value*> lanes, const Add& add) {
  llvm::SmallVector<llvm::Value*, kProductLanes> left(lanes);
  for (size_t half = lanes.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) left[i] = add(left[i], left[i + half]);
  }
  return left[0];
}

}  // namespace

bool KernelEmitter::computesProducts(size_t begin, size_t end) const {
  for (size_t i = begin; i < end; ++i) {
    if (kernel_.code[i].opcode == Opcode::Dot) return true;
  }
  return false;
}

void KernelEmitter::emitProducts(size_t begin, size_t end, const Lanes& lanes) {
  llvm::SmallVector<size_t, 4> products;
  for (size_t i = begin + 1; i < end; ++i) {
    if (kernel_.code[i].opcode == Opcode::Dot) products.push_back(i);
  }
  if (lanes.count == 1 || goesAlongRows(begin, end)) {
    emitAlongRows(begin, end, lanes.count, products);
  } else {
    emitAcrossColumns(begin, end, lanes, products);
  }
}

/// Whether what changes from lane to lane lies next to each other along the dimension that is summed over: and not from
/// lane to lane too, as windows do, of which the other operand is the same for all lanes.
bool KernelEmitter::goesAlongRows(size_t begin, size_t end) const {
  const auto dim = kernel_.code[begin].immediate;
  bool is_next_along_both = false, is_same_for_all = false;
  for (size_t i = begin + 1; i < end; ++i) {
    if (kernel_.code[i].opcode != Opcode::Load) continue;
    const std::vector<Step>& steps = kernel_.buffer(kernel_.code[i].immediate).steps;
    if (steps[vector_dim_] == Step::Any) return true;
    is_next_along_both |= steps[vector_dim_] == Step::Next && steps[dim] == Step::Next;
    is_same_for_all |= steps[vector_dim_] == Step::None;
  }
  return is_next_along_both && !is_same_for_all;
}

llvm::Value* KernelEmitter::multiplyAdd(const Instruction& product, llvm::Value* sum, const Lanes& lanes) {
  llvm::Value *a = operand(product.operands[0], lanes), *b = operand(product.operands[1], lanes);
  if (isFloating(product.type)) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
  return b_.CreateAdd(sum, b_.CreateMul(a, b));
}

void KernelEmitter::emitAlongRows(size_t begin, size_t end, unsigned num_rows, llvm::ArrayRef<size_t> products) {
  const auto dim = kernel_.code[begin].immediate;
  const size_t outer_dim = vector_dim_;
  llvm::Value* first_row = indices_[outer_dim];
  Values zeros;
  for (const size_t product : products) {
    llvm::Type* type = llvmType(b_.getContext(), kernel_.code[product].type);
    zeros.append(num_rows, llvm::Constant::getNullValue(llvm::FixedVectorType::get(type, kProductLanes)));
  }
  const auto addTerms = [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> sums, const Lanes& lanes) {
    Values next(sums);
    indices_[dim] = index;
    vector_dim_ = dim;
    product_begin_ = begin;
    for (row_ = 0; row_ < num_rows; ++row_) {
      indices_[outer_dim] = b_.CreateNSWAdd(first_row, word(row_));
      emitRange(begin + 1, end, lanes);
      for (size_t i = 0; i < products.size(); ++i) {
        llvm::Value*& sum = next[i * num_rows + row_];
        llvm::Value* added = multiplyAdd(kernel_.code[products[i]], sum, lanes);
        sum = lanes.mask ? b_.CreateSelect(lanes.mask, added, sum) : added;
      }
    }
    product_begin_ = SIZE_MAX;
    vector_dim_ = outer_dim;
    indices_[dim] = nullptr;
    indices_[outer_dim] = first_row;
    return next;
  };
  llvm::Value* size = ends_[dim];
  const auto [tail, whole] = emitCarried(
      word(0), b_.CreateNSWSub(size, word(kProductLanes - 1)), kProductLanes, zeros,
      [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> sums) {
        return addTerms(index, sums, {kProductLanes, nullptr});
      });
  const Values sums =
      emitCarried(tail, size, kProductLanes, whole, [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> carried) {
        return addTerms(index, carried, {kProductLanes, maskUntil(index, size, kProductLanes)});
      }).second;
  for (size_t i = 0; i < products.size(); ++i)
    values_[products[i]] = foldRows(llvm::ArrayRef(sums).slice(i * num_rows, num_rows));
}

/// The sums of the lanes of each row: a number, or a vector with one per row. Halves of two rows fill a vector.
llvm::Value* KernelEmitter::foldRows(llvm::ArrayRef<llvm::Value*> rows) {
  const auto add = [&](llvm::Value* a, llvm::Value* b) {
    return a->getType()->isFPOrFPVectorTy() ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
  };
  if (rows.size() == 1) {
    llvm::Value* lanes = rows[0];
    for (unsigned width = kProductLanes; width > 1; width /= 2) {
      const auto [low, high] = halvesOf(lanes);
      lanes = add(low, high);
    }
    return b_.CreateExtractElement(lanes, uint64_t{0});
  }
  // Each vector holds `width` lanes of several rows in turn; a step joins two vectors and halves the width.
  llvm::SmallVector<llvm::Value*, kProductLanes> vectors(rows);
  for (int width = kProductLanes; width > 1; width /= 2) {
    llvm::SmallVector<llvm::Value*, kProductLanes> joined;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      llvm::SmallVector<int, kProductLanes> low, high;
      for (int at = 0; at < 2 * int(kProductLanes); at += width) {
        for (int lane = 0; lane < width / 2; ++lane) low.push_back(at + lane), high.push_back(at + lane + width / 2);
      }
      joined.push_back(
          add(b_.CreateShuffleVector(vectors[i], vectors[i + 1], low),
              b_.CreateShuffleVector(vectors[i], vectors[i + 1], high)));
    }
    vectors = std::move(joined);
  }
  return vectors[0];
}

void KernelEmitter::emitAcrossColumns(size_t begin, size_t end, const Lanes& lanes, llvm::ArrayRef<size_t> products) {
  const auto dim = kernel_.code[begin].immediate;
  Values zeros;
  for (const size_t product : products) {
    llvm::Type* type = llvmType(b_.getContext(), kernel_.code[product].type);
    zeros.append(kProductLanes, llvm::Constant::getNullValue(llvm::FixedVectorType::get(type, lanes.count)));
  }
  const auto addTerm = [&](llvm::Value* index, unsigned lane, Values& sums) {
    indices_[dim] = index;
    emitRange(begin + 1, end, lanes);
    for (size_t i = 0; i < products.size(); ++i) {
      llvm::Value*& sum = sums[i * kProductLanes + lane];
      sum = multiplyAdd(kernel_.code[products[i]], sum, lanes);
    }
    indices_[dim] = nullptr;
  };
  llvm::Value* size = ends_[dim];
  auto [tail, sums] = emitCarried(
      word(0), b_.CreateNSWSub(size, word(kProductLanes - 1)), kProductLanes, zeros,
      [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> carried) {
        Values next(carried);
        for (unsigned lane = 0; lane < kProductLanes; ++lane) addTerm(b_.CreateNSWAdd(index, word(lane)), lane, next);
        return next;
      });
  for (unsigned lane = 0; lane + 1 < kProductLanes; ++lane) {
    llvm::Value* index = b_.CreateNSWAdd(tail, word(lane));
    llvm::BasicBlock *before = b_.GetInsertBlock(), *there = newBlock("term"), *after = newBlock("after");
    b_.CreateCondBr(b_.CreateICmpSLT(index, size), there, after);
    b_.SetInsertPoint(there);
    Values next(sums);
    addTerm(index, lane, next);
    llvm::BasicBlock* last = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    for (size_t i = 0; i < products.size(); ++i) {
      const size_t at = i * kProductLanes + lane;
      llvm::PHINode* sum = b_.CreatePHI(sums[at]->getType(), 2);
      sum->addIncoming(sums[at], before);
      sum->addIncoming(next[at], last);
      sums[at] = sum;
    }
  }
  for (size_t i = 0; i < products.size(); ++i) {
    values_[products[i]] =
        foldHalves(llvm::ArrayRef(sums).slice(i * kProductLanes, kProductLanes), [&](llvm::Value* a, llvm::Value* b) {
          return a->getType()->isFPOrFPVectorTy() ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
        });
  }
}

}  // namespace cresset::codegen
