#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <span>
#include <string>

#include "cresset/codegen/compiler.h"

namespace cresset::codegen {

/// A module with one function of this name, a KernelFunction. Verified; throws std::runtime_error if LLVM refuses it.
std::unique_ptr<llvm::Module> emitModule(
    llvm::LLVMContext& context, const Kernel& kernel, CpuLevel level, const std::string& name);

/// A module with a function for each.
std::unique_ptr<llvm::Module> emitModule(
    llvm::LLVMContext& context, std::span<const NamedKernel> kernels, CpuLevel level);

/// What LLVM calls the level.
const char* cpuName(CpuLevel level);

}  // namespace cresset::codegen
