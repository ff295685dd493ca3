// The rest of a program after a place in it, as a graph: what deoptimization goes on with, and what a loop that turned
// hot is optimized as.
//
// The graph copies what comes after the place in its block, then what comes after the block's owner, with the remaining
// iterations of loops, and so outwards. Its inputs are the values that it needs. Time and size are in proportion to the
// program.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

struct RestOfProgram {
  std::shared_ptr<Graph> graph;
  std::vector<Value*> taken;  // values of the program, in the order of the graph's inputs
};

/// What comes after `place`, which may be the parameters of a loop's body: then it is the rest from the start of an
/// iteration on. `first` are the first inputs in any case.
RestOfProgram restOfProgram(const Node* place, std::span<Value* const> first = {});

}  // namespace cresset
