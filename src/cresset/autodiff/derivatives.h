// Derivative rules: how the gradient of each argument of an operator comes from the gradients of its results.
//
// The rules are data (GRADIENT and DECOMPOSITION in ops/table): expressions in the script language over the operator's
// arguments, its results and their gradients, with the formulas that PyTorch's own autograd uses, so that gradients
// have the same bits. They are compiled when they are first needed.
//
// Thread-safety: all of this may be called from any thread; the graphs must not be changed.
#pragma once

#include <memory>
#include <vector>

#include "cresset/ops/operator.h"

namespace cresset {

/// Whether there is a rule for some argument of the operator.
bool hasDerivative(const Operator& op);

/// Whether the rules hold for the node's arguments: some are for tensors of known or certain ranks.
bool rulesHold(const Operator& op, const Node& node);

/// How many of its results have gradients, the first ones; the others never require one.
size_t resultsWithGradients(const Operator& op);

/// How the gradients of some of an operator's arguments are computed: those that one formula computes together.
struct GradientRule {
  /// Its inputs are the operator's arguments, its results, a gradient per result and, if it is for several arguments, a
  /// list of bools: which of their gradients are wanted. Its outputs are the gradients, in the order of `arguments`;
  /// one that is not wanted may be None or undefined.
  std::shared_ptr<const Graph> graph;
  std::vector<size_t> arguments;
};

/// Whether there is a rule for the argument: if not, it is none that has a gradient (a mask, indices).
bool hasGradient(const Operator& op, size_t argument);

/// The rule for the argument; null if there is none. Arguments that share a formula have one rule, which is evaluated
/// once for all of them. Lives as long as the process.
const GradientRule* gradientOf(const Operator& op, size_t argument);

/// What the operator does by operators that have derivatives, as a graph from its arguments to its results; null if
/// there is no such form for the node's arguments. `for_kernels`: only forms that kernels compute better.
std::shared_ptr<const Graph> decompositionOf(const Operator& op, const Node& node, bool for_kernels = false);

/// Whether a rule needs the elements of one of the operator's arguments or, after them, results; not only its sizes.
bool ruleKeeps(const Graph& rule, size_t operand);

/// Whether autograd may keep an argument of the node or, after them, a result, for a backward pass, which fails if the
/// tensor was written to meanwhile.
bool mayBeKept(Node* node, size_t operand);
/// The same, if the node were a call of `op`, whose arguments and results are like the node's: of its in-place reuse.
bool mayBeKeptBy(const Operator& op, const Node* node, size_t operand);

/// What is wrong with the table: a message per rule that names no operator or does not compile.
std::vector<std::string> derivativesThatDoNotCompile();

/// Full names of the operators with rules, sorted.
std::vector<std::string> differentiableOperators();

}  // namespace cresset
