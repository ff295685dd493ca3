// Kernels that are machine code already: those of single operators (operator_kernels.h), which the build compiles for
// each CpuLevel (tools/cresset-kernels.cpp) and links into a library of its own, libcresset_kernels. It is loaded when
// the first of them is looked for.
//
// Thread-safety: everything here may be called from any thread, at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cresset/codegen/kernel.h"

namespace cresset::codegen {

/// What the library finds a kernel by: a hash of its text.
struct KernelHash {
  uint64_t high = 0, low = 0;

  static KernelHash of(const Kernel& kernel);
  std::string toString() const;  // 32 hexadecimal digits
  auto operator<=>(const KernelHash&) const = default;
};

/// The machine code of the kernel for this processor; null if the library has none.
KernelFunction findAheadOfTime(const Kernel& kernel);

/// Why no kernel is found; empty if the library is there.
std::string whyNoneAheadOfTime();

struct AheadOfTimeKernel {
  KernelHash hash;
  KernelFunction v3, v4;
};
/// In the order of their hashes.
struct AheadOfTimeKernels {
  const AheadOfTimeKernel* kernels;
  size_t count;
};

}  // namespace cresset::codegen

/// What libcresset_kernels exports.
extern "C" cresset::codegen::AheadOfTimeKernels cresset_ahead_of_time_kernels();
