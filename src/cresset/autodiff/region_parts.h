// What a differentiable region may be made of.
#pragma once

#include <vector>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/graph.h"

namespace cresset {

enum class RegionPart {
  Outside,
  Differentiable,  // gradients flow through it by rules
  Inert,           // no gradient flows through it, and it may stand anywhere
};

/// Whether the node returns a list of other things than numbers.
bool returnsList(const Node* node);

/// Of one graph. The analysis does not know regions that are made meanwhile.
class RegionParts {
 public:
  explicit RegionParts(Graph& graph);

  AliasDb& memory() { return *memory_; }
  RegionPart classify(Node* node);
  /// Whether it may be in a region, for the dtypes of what it takes and returns, too.
  bool isPart(Node* node);
  /// The node that unpacks the list that this node returns, if it follows at once, is the list's only user, and
  /// its elements have one known dtype.
  Node* unpackOf(const Node* node);
  /// Whether the group with the node would write to what it reads: what it keeps for gradients would be what it is at
  /// its end. Others may write to what the group reads or returns: they stand before or after it, and autograd's
  /// counters of versions see them.
  bool readsAndWrites(const std::vector<Node*>& group, Node* node);

 private:
  /// Branches and loops that only decide about numbers, or raise: a check of sizes, for one.
  bool isInertControl(Node* node);
  /// A write to a tensor that no gradient has to do with: a counter of batches.
  bool isInertWrite(Node* node, const Operator& op) const;

  const std::shared_ptr<AliasDb> memory_;
  bool replaces_data_;
};

}  // namespace cresset
