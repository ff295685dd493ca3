// Kernels by their text: equal groups share code. Compiled beside the program, or at once.
//
// Thread-safe. Code is freed with its last user.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "cresset/codegen/compiler.h"

namespace cresset {

/// A kernel that may still have to be compiled, unless the build did that.
class SharedKernel {
 public:
  explicit SharedKernel(codegen::Kernel kernel);

  /// Null until it is compiled, and if that failed.
  codegen::KernelFunction function() const { return function_.load(std::memory_order_acquire); }
  const codegen::Kernel& kernel() const { return kernel_; }
  /// Why it has no code; empty while that is unknown.
  std::string failure() const;

  /// In the calling thread; does nothing if it is done.
  void compile();

 private:
  const codegen::Kernel kernel_;
  std::atomic<codegen::KernelFunction> function_;
  std::shared_ptr<const codegen::MachineCode> code_;
  mutable std::mutex mutex_;
  bool done_;
  std::string failure_;
};

/// The one for this kernel; `now` compiles it before it is returned, else a thread does.
std::shared_ptr<SharedKernel> sharedKernel(codegen::Kernel kernel, bool now);

/// Returns when nothing is left to compile.
void waitForKernels();

size_t numCompiledKernels();

}  // namespace cresset
