// The commands `plan`, `gradient`, `guards` and `facts`: what the optimizer makes of the calls of a test.
#pragma once

#include <span>
#include <string>

#include "cresset/passes/pass.h"
#include "filetest_file.h"

namespace cresset::tools {

/// The graph that each call runs after it has run twice: the first plan watches what guards stand before, the second
/// promises it.
std::string printPlans(const TestFile& test);
/// Of those, the differentiable regions: the forward graph, what it keeps for the backward pass, and the backward
/// graph.
std::string printGradients(const TestFile& test);
/// What explain tells of each function after all its calls, in order: signatures, guards, how gradients are computed.
std::string printGuards(const TestFile& test);
/// The facts of every tensor in the functions that are called, with the types of the arguments; or in the graph of a
/// .ir file, with the types that stand there. After the passes.
std::string printFacts(const TestFile& test, std::span<const PassInfo* const> passes);

}  // namespace cresset::tools
