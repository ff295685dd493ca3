#include "cresset/codegen/llvm/emit.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <stdexcept>

#include "cresset/codegen/llvm/emit_instruction.h"
#include "cresset/codegen/llvm/kernel_emitter.h"

namespace cresset::codegen {

KernelEmitter::KernelEmitter(llvm::Module& module, const Kernel& kernel, CpuLevel level, const std::string& name)
    : kernel_(kernel),
      level_(level),
      b_(module.getContext()),
      values_(kernel.code.size()),
      rare_(rareInstructions(kernel)),
      indices_(kernel.num_dims),
      vector_dim_(kernel.vector_dim) {
  llvm::Type *pointer = b_.getPtrTy(), *word = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, pointer, word, word}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("target-cpu", cpuName(level));
  const char* width = level == CpuLevel::V4 ? "512" : "256";
  function_->addFnAttr("prefer-vector-width", width);
  function_->addFnAttr("min-legal-vector-width", width);
  for (unsigned i = 0; i < 4; ++i) function_->addParamAttr(i, llvm::Attribute::NoCapture);
}

void KernelEmitter::run() {
  b_.SetInsertPoint(newBlock("entry"));
  readArguments();
  emitRange(0, kernel_.code.size(), {});
  b_.CreateRet(b_.getInt32(0));
  if (!failed_) return;
  b_.SetInsertPoint(failed_);
  b_.CreateRet(b_.getInt32(1));
}

llvm::Value* KernelEmitter::readAt(unsigned argument, llvm::Type* type, size_t index) {
  return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(type, function_->getArg(argument), index));
}

void KernelEmitter::readArguments() {
  for (size_t i = 0; i < numBuffers(); ++i) {
    bases_.push_back(readAt(0, b_.getPtrTy(), i));
    auto& strides = strides_.emplace_back();
    for (size_t d = 0; d < kernel_.num_dims; ++d) {
      const bool is_any = kernel_.buffer(i).steps[d] == Step::Any;  // never of scratch
      strides.push_back(is_any ? readAt(2, b_.getInt64Ty(), i * kernel_.num_dims + d) : nullptr);
    }
  }
  for (size_t d = 0; d < kernel_.num_dims; ++d)
    ends_.push_back(d == 0 ? function_->getArg(5) : readAt(1, b_.getInt64Ty(), d));
  for (size_t i = 0; i < kernel_.numbers.size(); ++i) {
    llvm::Value* bits = readAt(3, b_.getInt64Ty(), i);
    const at::ScalarType type = kernel_.numbers[i];
    numbers_.push_back(
        type == at::kDouble ? b_.CreateBitCast(bits, b_.getDoubleTy())
        : type == at::kBool ? b_.CreateICmpNE(bits, word(0))
                            : bits);
  }
}

size_t KernelEmitter::endOf(size_t loop) const {
  size_t depth = 0;
  for (size_t i = loop;; ++i) {
    depth += kernel_.code[i].opcode == Opcode::For;
    depth -= kernel_.code[i].opcode == Opcode::End;
    if (depth == 0) return i;
  }
}

void KernelEmitter::emitRange(size_t begin, size_t end, const Lanes& lanes) {
  for (size_t i = begin; i < end; ++i) {
    const Instruction& instruction = kernel_.code[i];
    if (instruction.opcode == Opcode::For) {
      const size_t last = endOf(i);
      emitLoop(i, last, lanes);
      i = last;
    } else if (instruction.opcode == Opcode::Carry) {
      emitCarry(i, lanes);
    } else if (!isReduction(instruction.opcode) && !(lanes.count > 1 && i < is_chain_.size() && is_chain_[i])) {
      // Reductions are the loop's, and what is carried.
      const bool is_skipped = instruction.opcode == Opcode::Previous || rare_[i] != kNotRare;
      if (!is_skipped) values_[i] = isMostly(instruction) ? emitMostly(i, lanes) : emit(instruction, lanes);
    }
  }
}

void KernelEmitter::emitLoop(size_t begin, size_t end, const Lanes& lanes) {
  const auto dim = kernel_.code[begin].immediate;
  for (size_t i = begin + 1; i < end; ++i) {
    if (kernel_.code[i].opcode == Opcode::For) break;
    if (kernel_.code[i].opcode == Opcode::Dot) return emitProducts(begin, end, lanes);
    if (isReduction(kernel_.code[i].opcode)) return emitReduction(begin, end, lanes);
  }
  const bool scans = computesScans(begin, end);
  if (scans && dim == kernel_.vector_dim) return emitScanInVectors(begin, end);
  if (scans) beginScans(begin, end, lanes);
  if (hasBounds(kernel_.code[begin])) throw std::runtime_error("only reductions have bounds in a kernel");
  if (dim == kernel_.vector_dim) return emitVectorLoop(begin, end);
  if (const auto tile = lanes.count > 1 ? tileOf(begin, end, dim) : std::nullopt)
    return emitTransposed(begin, end, lanes, *tile);
  if (kernel_.num_reduced == 0 && dim + 1 == kernel_.vector_dim) {
    size_t inner = begin + 1;
    while (kernel_.code[inner].opcode != Opcode::For) ++inner;
    if (const auto tile = tileOf(inner, endOf(inner), dim)) return emitTiles(begin, inner, *tile);
  }
  llvm::Value* start = dim == 0 ? function_->getArg(4) : word(0);
  emitIterations(begin, end, start, ends_[dim], 1, [&](llvm::Value*) { emitRange(begin + 1, end, lanes); });
}

/// Several vectors at a time where the body is small.
void KernelEmitter::emitVectorLoop(size_t begin, size_t end) {
  const unsigned lanes = computesProducts(begin, end) ? kProductLanes : lanesOf(begin + 1, end);
  const unsigned unrolled = computesProducts(begin, end) ? lanes
                            : end - begin <= 12          ? 4 * lanes
                            : end - begin <= 160         ? 2 * lanes
                                                         : lanes;
  emitVectors(begin, unrolled, [&](const Lanes& all) { emitRange(begin + 1, end, all); });
}

void KernelEmitter::emitVectors(size_t begin, unsigned unrolled, Body body) {
  const size_t end = endOf(begin);
  const auto dim = kernel_.code[begin].immediate;
  llvm::Value* start = dim == 0 ? function_->getArg(4) : word(0);
  const bool computes_products = computesProducts(begin, end);
  const unsigned lanes = computes_products ? kProductLanes : lanesOf(begin + 1, end);
  llvm::Value* next = emitFor(dim, start, unrolled, body);
  if (level_ == CpuLevel::V4 && !computes_products) {
    emitMasked(dim, next, lanes, body);
  } else {
    if (unrolled != lanes) next = emitFor(dim, next, lanes, body);
    emitFor(dim, next, 1, body);
  }
}

unsigned KernelEmitter::lanesOf(size_t begin, size_t end) const {
  unsigned widest = 1;
  std::vector<bool> varies(end);  // from lane to lane
  for (size_t i = begin; i < end; ++i) {
    const Instruction& instruction = kernel_.code[i];
    const uint64_t buffer = instruction.immediate;
    if (instruction.opcode == Opcode::Load || instruction.opcode == Opcode::Read)
      varies[i] = kernel_.isScratch(buffer) || kernel_.buffer(buffer).steps[vector_dim_] != Step::None;
    if (instruction.opcode == Opcode::Place) varies[i] = kernel_.reducesVectors();
    if (instruction.opcode == Opcode::Previous) varies[i] = true;
    for (size_t k = 0; k < numOperands(instruction.opcode); ++k)
      varies[i] = varies[i] || varies[instruction.operands[k]];
    if (varies[i] || instruction.opcode == Opcode::Store || instruction.opcode == Opcode::AddTo)
      widest = std::max(widest, static_cast<unsigned>(c10::elementSize(instruction.type)));
  }
  return (level_ == CpuLevel::V4 ? 64 : 32) / std::max(widest, 4U);
}

llvm::Value* KernelEmitter::emitFor(size_t dim, llvm::Value* start, unsigned lanes, Body body) {
  llvm::Value* last = lanes == 1 ? ends_[dim] : b_.CreateSub(ends_[dim], word(lanes - 1));
  return emitWhile(dim, start, last, lanes, [&](llvm::Value*) { body(Lanes{lanes, nullptr}); });
}

void KernelEmitter::emitMasked(size_t dim, llvm::Value* start, unsigned lanes, Body body) {
  emitWhile(dim, start, ends_[dim], lanes, [&](llvm::Value* index) {
    body(Lanes{lanes, maskUntil(index, ends_[dim], lanes)});
  });
}

llvm::Value* KernelEmitter::maskUntil(llvm::Value* index, llvm::Value* end, unsigned lanes) {
  return b_.CreateICmpULT(numberedLanes(lanes), b_.CreateVectorSplat(lanes, b_.CreateSub(end, index)));
}

llvm::Value* KernelEmitter::numberedLanes(unsigned lanes) {
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers.push_back(b_.getInt64(i));
  return llvm::ConstantVector::get(numbers);
}

llvm::Value* KernelEmitter::emitWhile(size_t dim, llvm::Value* start, llvm::Value* end, unsigned by, Index body) {
  llvm::Value* after = emitCounted(start, end, by, [&](llvm::Value* index) {
    indices_[dim] = index;
    body(index);
    indices_[dim] = nullptr;
  });
  return after;
}

llvm::Value* KernelEmitter::emitCounted(llvm::Value* start, llvm::Value* end, unsigned by, Index body) {
  return emitCarried(
             start, end, by, {},
             [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*>) {
               body(index);
               return Values();
             })
      .first;
}

std::pair<llvm::Value*, KernelEmitter::Values> KernelEmitter::emitCarried(
    llvm::Value* start, llvm::Value* end, unsigned by, llvm::ArrayRef<llvm::Value*> initial, CarriedBody body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock *head = newBlock("head"), *inside = newBlock("body"), *after = newBlock("after");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(start, before);
  Values carried;
  for (llvm::Value* value : initial) {
    llvm::PHINode* phi = b_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    carried.push_back(phi);
  }
  b_.CreateCondBr(b_.CreateICmpSLT(index, end), inside, after);
  b_.SetInsertPoint(inside);
  const Values next = body(index, carried);
  index->addIncoming(b_.CreateNSWAdd(index, word(by)), b_.GetInsertBlock());
  for (size_t i = 0; i < carried.size(); ++i)
    llvm::cast<llvm::PHINode>(carried[i])->addIncoming(next[i], b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(after);
  return {index, carried};
}

llvm::Value* KernelEmitter::operand(Register value, const Lanes& lanes) {
  llvm::Value* found = values_[value];
  if (value < product_begin_ && product_begin_ != SIZE_MAX && found->getType()->isVectorTy())
    found = b_.CreateExtractElement(found, uint64_t{row_});
  return lanes.count > 1 && !found->getType()->isVectorTy() ? b_.CreateVectorSplat(lanes.count, found) : found;
}

llvm::Value* KernelEmitter::emit(const Instruction& instruction, const Lanes& lanes) {
  switch (instruction.opcode) {
    case Opcode::Constant:
      return emitConstant(b_.getContext(), instruction);
    case Opcode::Number:
      return numbers_[instruction.immediate];
    case Opcode::Count:
      return ends_.back();
    case Opcode::Place:
      return placeOf(lanes);
    case Opcode::Load:
      return load(instruction.immediate, nullptr, lanes);
    case Opcode::Where: {
      llvm::Type* word = b_.getInt64Ty();
      const auto number = instruction.immediate;
      return b_.CreateSub(b_.CreatePtrToInt(addressOf(number), word), b_.CreatePtrToInt(bases_[number], word));
    }
    case Opcode::Read:
      return load(instruction.immediate, values_[instruction.operands[0]], lanes);
    case Opcode::Store:
      store(instruction, lanes);
      return nullptr;
    case Opcode::AddTo:
      addTo(instruction, lanes);
      return nullptr;
    default:
      break;
  }
  const size_t count = numOperands(instruction.opcode);
  // What is the same for all lanes is computed once.
  Lanes own = lanes;
  const auto isScalar = [&](Register value) { return !values_[value]->getType()->isVectorTy(); };
  if (std::all_of(instruction.operands.begin(), instruction.operands.begin() + count, isScalar)) own = Lanes{};
  llvm::SmallVector<llvm::Value*, 3> operands;
  for (size_t i = 0; i < count; ++i) operands.push_back(operand(instruction.operands[i], own));
  if (instruction.opcode == Opcode::Index) return checkIndex(operands[0], operands[1], own);
  return compute(instruction, operands);
}

/// A `select` that jumps over what is rarely needed.
llvm::Value* KernelEmitter::emitMostly(size_t number, const Lanes& lanes) {
  const Instruction& select = kernel_.code[number];
  const auto first = std::find(rare_.begin(), rare_.end(), number);
  if (first == rare_.end()) return emit(select, lanes);
  llvm::Value *condition = operand(select.operands[0], lanes), *then = operand(select.operands[1], lanes);
  llvm::Value* holds = condition;
  if (lanes.mask) holds = b_.CreateOr(holds, b_.CreateNot(lanes.mask));
  if (lanes.count > 1) holds = b_.CreateAndReduce(holds);
  llvm::BasicBlock *before = b_.GetInsertBlock(), *rare = newBlock("rare"), *after = newBlock("chosen");
  b_.CreateCondBr(holds, after, rare, llvm::MDBuilder(b_.getContext()).createLikelyBranchWeights());
  b_.SetInsertPoint(rare);
  for (auto i = static_cast<size_t>(first - rare_.begin()); i < number; ++i) {
    if (rare_[i] == number)
      values_[i] = isMostly(kernel_.code[i]) ? emitMostly(i, lanes) : emit(kernel_.code[i], lanes);
  }
  llvm::Value* otherwise = b_.CreateSelect(condition, then, operand(select.operands[2], lanes));
  llvm::BasicBlock* last = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* chosen = b_.CreatePHI(then->getType(), 2);
  chosen->addIncoming(then, before);
  chosen->addIncoming(otherwise, last);
  return chosen;
}

llvm::Value* KernelEmitter::compute(const Instruction& instruction, llvm::ArrayRef<llvm::Value*> operands) {
  if (instruction.opcode == Opcode::Scale) return emitScale(b_, operands[0], operands[1], level_);
  return emitInstruction(b_, instruction, kernel_.code[instruction.operands[0]].type, operands);
}

/// Of an element among those that are reduced to one.
llvm::Value* KernelEmitter::placeOf(const Lanes& lanes) {
  llvm::Value* first = indices_.back();
  if (lanes.count == 1 || !kernel_.reducesVectors()) return first;
  return b_.CreateAdd(b_.CreateVectorSplat(lanes.count, first), numberedLanes(lanes.count));
}

/// Of the first lane.
llvm::Value* KernelEmitter::addressOf(uint64_t number) {
  const Buffer& buffer = kernel_.buffer(number);
  llvm::Value* address = bases_[number];
  if (kernel_.isScratch(number) && !kernel_.reducesVectors())
    return b_.CreateGEP(
        memoryType(b_.getContext(), buffer.dtype), address, b_.CreateMul(indices_.back(), word(kScratchRow)));
  for (size_t d = 0; d < kernel_.num_dims; ++d) {
    if (!indices_[d]) continue;  // a loop that is not open
    if (buffer.steps[d] == Step::Next) {
      address = b_.CreateGEP(memoryType(b_.getContext(), buffer.dtype), address, indices_[d]);
    } else if (buffer.steps[d] == Step::Any) {
      address = b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateMul(indices_[d], strides_[number][d]));
    }
  }
  return address;
}

llvm::Value* KernelEmitter::addressesOf(uint64_t number, llvm::Value* first, const Lanes& lanes) {
  const auto element = static_cast<int64_t>(c10::elementSize(kernel_.buffer(number).dtype));
  llvm::Value* by = strides_[number][vector_dim_] ? strides_[number][vector_dim_] : word(element);
  llvm::Value* stride = b_.CreateVectorSplat(lanes.count, by);
  return b_.CreateGEP(b_.getInt8Ty(), first, b_.CreateMul(numberedLanes(lanes.count), stride));
}

llvm::Value* KernelEmitter::checkIndex(llvm::Value* index, llvm::Value* size, const Lanes& lanes) {
  llvm::Value* is_wrong = b_.CreateICmpUGE(index, size);  // below 0 too
  if (lanes.mask) is_wrong = b_.CreateAnd(is_wrong, lanes.mask);
  if (lanes.count > 1) is_wrong = b_.CreateOrReduce(is_wrong);
  if (!failed_) failed_ = newBlock("failed");
  llvm::BasicBlock* next = newBlock("checked");
  b_.CreateCondBr(is_wrong, failed_, next, llvm::MDBuilder(b_.getContext()).createUnlikelyBranchWeights());
  b_.SetInsertPoint(next);
  return index;
}

llvm::Value* KernelEmitter::load(uint64_t number, llvm::Value* offset, const Lanes& lanes) {
  const Buffer& buffer = kernel_.buffer(number);
  const at::ScalarType dtype = buffer.dtype;
  const llvm::Align align(c10::elementSize(dtype));
  llvm::Type* element = memoryType(b_.getContext(), dtype);
  if (!offset && isInTile(number)) {
    auto* vector = llvm::FixedVectorType::get(element, lanes.count);
    return fromMemory(b_, b_.CreateAlignedLoad(vector, placeInTile(number, vector), align), dtype);
  }
  const Step step = kernel_.isScratch(number) ? Step::Next : buffer.steps[vector_dim_];
  llvm::Value* address = addressOf(number);
  const bool is_own = offset && offset->getType()->isVectorTy();  // each lane has one
  if (offset && !is_own) address = b_.CreateGEP(b_.getInt8Ty(), address, offset);
  if (lanes.count == 1 || (step == Step::None && !is_own))
    return fromMemory(b_, b_.CreateAlignedLoad(element, address, align), dtype);
  auto* type = llvm::FixedVectorType::get(element, lanes.count);
  llvm::Value* loaded = nullptr;
  if (step == Step::Any || is_own) {
    llvm::Value* addresses = step == Step::None ? address : addressesOf(number, address, lanes);
    if (is_own) addresses = b_.CreateGEP(b_.getInt8Ty(), addresses, offset);
    loaded = b_.CreateMaskedGather(type, addresses, align, lanes.mask, llvm::Constant::getNullValue(type));
  } else if (lanes.mask) {
    loaded = b_.CreateMaskedLoad(type, address, align, lanes.mask, llvm::Constant::getNullValue(type));
  } else {
    loaded = b_.CreateAlignedLoad(type, address, align);
  }
  return fromMemory(b_, loaded, dtype);
}

void KernelEmitter::store(const Instruction& instruction, const Lanes& lanes) {
  const uint64_t number = instruction.immediate;
  const Buffer& buffer = kernel_.buffer(number);
  const llvm::Align align(c10::elementSize(buffer.dtype));
  const Step step = kernel_.isScratch(number) ? Step::Next : buffer.steps[vector_dim_];
  llvm::Value* address = addressOf(number);
  llvm::Value* value = toMemory(b_, operand(instruction.operands[0], lanes), buffer.dtype);
  if (isInTile(number)) {
    b_.CreateAlignedStore(value, placeInTile(number, value->getType()), align);
  } else if (lanes.count == 1 || (step == Step::Next && !lanes.mask)) {
    b_.CreateAlignedStore(value, address, align);
  } else if (step == Step::Any) {
    b_.CreateMaskedScatter(value, addressesOf(number, address, lanes), align, lanes.mask);
  } else {
    b_.CreateMaskedStore(value, address, align, lanes.mask);
  }
}

/// In vectors where all lanes have one offset, and elements that follow each other. Else two may add to one element: in
/// their order.
void KernelEmitter::addTo(const Instruction& instruction, const Lanes& lanes) {
  const uint64_t number = instruction.immediate;
  const Buffer& buffer = kernel_.buffer(number);
  llvm::Value *offset = values_[instruction.operands[0]], *added = operand(instruction.operands[1], lanes);
  const bool is_own = offset->getType()->isVectorTy();
  llvm::Value* address = addressOf(number);
  if (lanes.count == 1) return addLane(instruction, b_.CreateGEP(b_.getInt8Ty(), address, offset), added);
  const Step step = buffer.steps[vector_dim_];
  if (!is_own && step == Step::Next) {
    const llvm::Align align(c10::elementSize(buffer.dtype));
    auto* type = llvm::FixedVectorType::get(memoryType(b_.getContext(), buffer.dtype), lanes.count);
    address = b_.CreateGEP(b_.getInt8Ty(), address, offset);
    llvm::Value* before =
        lanes.mask ? b_.CreateMaskedLoad(type, address, align, lanes.mask, llvm::Constant::getNullValue(type))
                   : static_cast<llvm::Value*>(b_.CreateAlignedLoad(type, address, align));
    llvm::Value* sum = emitInstruction(
        b_, {Opcode::Add, instruction.type}, instruction.type, {fromMemory(b_, before, buffer.dtype), added});
    llvm::Value* value = toMemory(b_, sum, buffer.dtype);
    if (lanes.mask) {
      b_.CreateMaskedStore(value, address, align, lanes.mask);
    } else {
      b_.CreateAlignedStore(value, address, align);
    }
    return;
  }
  llvm::Value* stride = strides_[number][vector_dim_] ? strides_[number][vector_dim_]
                                                      : word(static_cast<int64_t>(c10::elementSize(buffer.dtype)));
  for (unsigned lane = 0; lane < lanes.count; ++lane) {
    llvm::Value* bytes = is_own ? b_.CreateExtractElement(offset, uint64_t{lane}) : offset;
    if (step != Step::None) bytes = b_.CreateAdd(bytes, b_.CreateMul(stride, word(lane)));
    llvm::BasicBlock* next = nullptr;
    if (lanes.mask) {
      llvm::BasicBlock* exists = newBlock("lane");
      next = newBlock("next");
      b_.CreateCondBr(b_.CreateExtractElement(lanes.mask, uint64_t{lane}), exists, next);
      b_.SetInsertPoint(exists);
    }
    addLane(instruction, b_.CreateGEP(b_.getInt8Ty(), address, bytes), b_.CreateExtractElement(added, uint64_t{lane}));
    if (!next) continue;
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  }
}

void KernelEmitter::addLane(const Instruction& instruction, llvm::Value* address, llvm::Value* added) {
  const at::ScalarType dtype = kernel_.buffer(instruction.immediate).dtype;
  const llvm::Align align(c10::elementSize(dtype));
  llvm::Value* before = b_.CreateAlignedLoad(memoryType(b_.getContext(), dtype), address, align);
  llvm::Value* sum =
      emitInstruction(b_, {Opcode::Add, instruction.type}, instruction.type, {fromMemory(b_, before, dtype), added});
  b_.CreateAlignedStore(toMemory(b_, sum, dtype), address, align);
}

const char* cpuName(CpuLevel level) {
  return level == CpuLevel::V4 ? "x86-64-v4" : "x86-64-v3";
}

namespace {

void verify(const llvm::Module& module) {
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (llvm::verifyModule(module, &out)) throw std::runtime_error("LLVM refuses a kernel: " + problem);
}

}  // namespace

std::unique_ptr<llvm::Module> emitModule(
    llvm::LLVMContext& context, const Kernel& kernel, CpuLevel level, const std::string& name) {
  auto module = std::make_unique<llvm::Module>(name, context);
  KernelEmitter(*module, kernel, level, name).run();
  verify(*module);
  return module;
}

std::unique_ptr<llvm::Module> emitModule(
    llvm::LLVMContext& context, std::span<const NamedKernel> kernels, CpuLevel level) {
  auto module = std::make_unique<llvm::Module>("kernels", context);
  for (const NamedKernel& named : kernels) KernelEmitter(*module, named.kernel, level, named.name).run();
  for (llvm::Function& function : *module) {
    if (!function.isDeclaration()) function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  verify(*module);
  return module;
}

}  // namespace cresset::codegen
