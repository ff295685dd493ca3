// When kernels are compiled and how they are checked; fusion groups at run time.
#pragma once

#include <memory>
#include <string>

#include "cresset/interpreter/compiled_subgraph.h"
#include "cresset/ir/graph.h"

namespace cresset {

enum class KernelMode : uint8_t {
  Off,         // no groups are formed
  Background,  // a group runs unfused until its kernel is there
  Now,         // the first call with a layout that is new waits for its kernel
  Check,       // as Now; each call also runs unfused, and differences are errors: for tests
};

/// Of plans that are made from now on. At first what the environment's CRESSET_KERNELS says: off, background, now, check.
void setKernelMode(KernelMode mode);
KernelMode kernelMode();

/// Returns when all kernels that were asked for are compiled.
void waitForCompilation();

struct KernelCounts {
  size_t compiled = 0, launches = 0, unfused = 0;
};
/// In this process; for tests and reports.
KernelCounts kernelCounts();

/// A group that formFusionGroups has made.
std::shared_ptr<const CompiledSubgraph> compileFused(const Graph& subgraph);

}  // namespace cresset
