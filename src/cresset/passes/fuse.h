// Fusion groups: subgraphs that kernels compute (codegen/group.h). The pass "fuse" forms
// them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

/// As the pass, but products of matrices stay as they are: for a group whose products are too large for its kernel.
void formFusionGroupsWithoutProducts(Graph& graph);

/// Why operators before and after a group are not in it.
struct GroupNeighbors {
  std::vector<std::string> operators;  // of the group: "add"
  std::vector<std::string> reasons;    // "aten::mm after it: …"
};
/// Of the groups that the pass would form, in the order in which they stand. For reports; `graph` is changed.
std::vector<GroupNeighbors> neighborsOfGroups(Graph& graph);

/// Puts the operators of some of the sequence's items (codegen/sequence.h), groups that no kernel computes, in their
/// place, but for their products in smaller groups, and what comes between them into sequences of their own. Returns of
/// each group and join that is in a subgraph then, in order, the item that it was (a part of).
std::vector<size_t> splitSequence(Graph& sequence, std::span<const size_t> items);

/// Puts each node of a group's subgraph (codegen/group.h) into a subgraph of its own.
void outlineEachOperator(Graph& graph);

}  // namespace cresset
