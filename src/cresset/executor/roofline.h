// What kernels do, and how long this processor takes for that at least.
#pragma once

#include <cstdint>
#include <span>

#include "cresset/codegen/kernel.h"

namespace cresset {

/// What one call of a kernel reads, writes and computes.
struct KernelWork {
  double bytes = 0;  // of elements of its buffers, each once; of what is read by index, each time
  double flops = 0;  // operations on floats in its code, those of functions one by one
};
/// `sizes`: of its loops.
KernelWork workOf(const codegen::Kernel& kernel, std::span<const int64_t> sizes);

/// The time that the work takes at least.
struct TimeLimit {
  double nanoseconds = 0;
  bool by_memory = false;  // reading and writing takes longer than computing
};
/// In one thread. What the processor can do is measured when it is first asked for, in about a tenth of a second:
/// kernels that only read, from memory of sizes that lie in different caches, and one that only computes.
/// Nothing limits where kernels can't be compiled. Thread-safe.
TimeLimit timeLimit(const KernelWork& work);

}  // namespace cresset
