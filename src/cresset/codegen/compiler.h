// From kernels to machine code. The compiler stands on LLVM and lives in a library of its own, libcresset_llvm, which
// is loaded when the first kernel is compiled: programs without kernels don't pay for it.
//
// Thread-safety: everything here may be called from any thread, at once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cresset/codegen/kernel.h"

namespace cresset::codegen {

/// Instruction sets that kernels are compiled for. The bits that they compute are the same.
enum class CpuLevel : uint8_t {
  V3,  // x86-64-v3: AVX2, FMA, F16C
  V4,  // x86-64-v4: AVX-512 without its instructions for half precision
};

/// The best that this machine runs; nothing if it has none of them.
std::optional<CpuLevel> cpuLevel();
std::string whyNoCpuLevel();

/// A kernel, and what its function is called.
struct NamedKernel {
  std::string name;
  Kernel kernel;
};

/// Memory that holds a kernel's code, freed with it.
class MachineCode {
 public:
  virtual ~MachineCode() = default;
  KernelFunction function() const { return function_; }
  size_t size() const { return size_; }  // of the function, in bytes

 protected:
  KernelFunction function_ = nullptr;
  size_t size_ = 0;
};

class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  /// Throws std::runtime_error if LLVM refuses the kernel, or the system refuses memory for code.
  virtual std::shared_ptr<const MachineCode> compile(const Kernel& kernel) const = 0;
  /// A relocatable object of their functions. Throws std::runtime_error if LLVM refuses one.
  virtual std::vector<char> object(std::span<const NamedKernel> kernels, CpuLevel level) const = 0;
  /// LLVM's IR, or assembly, of the kernel; for people.
  virtual std::string llvmText(const Kernel& kernel, CpuLevel level) const = 0;
  virtual std::string assembly(const Kernel& kernel, CpuLevel level) const = 0;
};

/// Null if kernels can't be compiled here; then `whyNoCompiler` says why.
const KernelCompiler* kernelCompiler();
std::string whyNoCompiler();

/// The same on processors that can't run what it compiles: for the build. Throws std::runtime_error.
const KernelCompiler& compilerOfObjects();

/// A library in the folder of libcresset, which is never unloaded. Null, and why, if it can't be opened.
void* openBesideCresset(const char* name, std::string& failure);

}  // namespace cresset::codegen

/// What libcresset_llvm exports.
extern "C" cresset::codegen::KernelCompiler* cresset_create_kernel_compiler(cresset::codegen::CpuLevel level);
