// What code may do: rules belong to a program, and go with its code, by graphs (Graph::rules()), wherever that is
// copied to.
#pragma once

#include <memory>

#include "cresset/ir/graph.h"
#include "cresset/ops/limits.h"

namespace cresset {

class OperatorPolicy;

/// What the code of a program may do.
struct ProgramRules {
  /// Which operators and C++ classes it may use; null if any. The forks of a program with a policy run one after the
  /// other.
  std::shared_ptr<const OperatorPolicy> policy;
  /// Of each call from outside.
  Limits limits;

  bool any() const { return policy || limits.any(); }
};

/// Of all programs that the graph's nodes come from.
Limits limitsOf(const Graph& graph);
bool hasPolicy(const Graph& graph);
/// Throws UserError that points to the first node that one of the policies refuses.
void checkPolicies(Graph& graph);

/// The graph, and those within it, are code of a program with these rules from now on; null if it has none.
void addRules(Graph& graph, const std::shared_ptr<const ProgramRules>& rules);

}  // namespace cresset
