#pragma once

#include <llvm/IR/IRBuilder.h>

#include "cresset/codegen/compiler.h"
#include "cresset/codegen/kernel.h"

namespace cresset::codegen {

llvm::Type* llvmType(llvm::LLVMContext& context, at::ScalarType type);
/// What memory holds: bools are bytes, bfloat16 is 16 bits.
llvm::Type* memoryType(llvm::LLVMContext& context, at::ScalarType dtype);

llvm::Value* emitConstant(llvm::LLVMContext& context, const Instruction& constant);

/// x * 2^power for |x| between 2^-10 and 2, rounded once.
llvm::Value* emitScale(llvm::IRBuilder<>& builder, llvm::Value* x, llvm::Value* power, CpuLevel level);

/// All but `scale`, loads, stores and loops. `type` is that of the operands, which may be vectors.
llvm::Value* emitInstruction(
    llvm::IRBuilder<>& builder, const Instruction& instruction, at::ScalarType type,
    llvm::ArrayRef<llvm::Value*> operands);

/// From what memory holds to a register's value, and back.
llvm::Value* fromMemory(llvm::IRBuilder<>& builder, llvm::Value* value, at::ScalarType dtype);
llvm::Value* toMemory(llvm::IRBuilder<>& builder, llvm::Value* value, at::ScalarType dtype);

}  // namespace cresset::codegen
