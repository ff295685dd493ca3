// When kernels are compiled and how they are checked; fusion groups at run time.
#pragma once

#include <memory>
#include <string>

#include "cresset/interpreter/compiled_subgraph.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// Returns when all kernels that were asked for are compiled.
void waitForCompilation();

struct KernelCounts {
  size_t compiled = 0, launches = 0, unfused = 0;
  size_t alone = 0;  // of single operators, built ahead of time
};
/// In this process; for tests and reports.
KernelCounts kernelCounts();

/// A subgraph that formFusionGroups or formSequences has made.
std::shared_ptr<const CompiledSubgraph> compileFused(const Node& subgraph);

}  // namespace cresset
