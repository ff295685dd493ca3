// What explain tells of calls of kernels.
#pragma once

#include <string>
#include <vector>

#include "cresset/interpreter/compiled_subgraph.h"

namespace cresset {

/// What is known of the calls of a fused subgraph or a sequence.
struct LaunchReport {
  /// Of the groups and joins in it, in order; of each the lines that people read: "40 calls of 64x1024, 1024: 0.5 MB,
  /// 0.3 Mflop, 12 us, at least 9.1 us by memory". Times are those of calls that were ready, in one thread.
  std::vector<std::vector<std::string>> items;
};
/// Of what compileFused made; empty for anything else. Measures what the processor can do, once.
LaunchReport reportLaunches(const CompiledSubgraph& subgraph);

}  // namespace cresset
