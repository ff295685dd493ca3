// Where values die: for each operand whether it is the last use on its path, and what must be dropped where paths part.
//
// One traversal backwards over the structured program, with the set of live variables. An If's branches are visited
// from the same set; what only one of them uses dies at the start of the other. A Loop runs its body again, so what the
// body takes from outside lives until the loop is left. Costs: linear in nodes and uses, times block nesting.
//
// Variables are numbered by Value::unique(). The result of an unchecked_cast is the same variable as its input.
#pragma once

#include <cstdint>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

class Liveness {
 public:
  static constexpr uint32_t kNone = ~0u;

  struct NodeInfo {
    Node* node;
    uint32_t first_flag;  // of its inputs
    uint32_t blocks[2] = {kNone, kNone};
    uint32_t deaths = kNone;  // index into deaths()
  };
  struct BlockInfo {
    const Block* block;
    uint32_t first_node = 0, last_node = 0;  // half-open range of nodes()
    uint32_t first_flag = 0;                 // of its outputs
    std::vector<uint32_t> entry_drops;       // variables that are dead when the block is entered
  };

  /// Block 0 is the graph's own.
  explicit Liveness(Graph& graph);

  const std::vector<NodeInfo>& nodes() const { return nodes_; }
  const std::vector<BlockInfo>& blocks() const { return blocks_; }
  /// If: variables from outside that die in it. Loop: those that must be dropped after it.
  const std::vector<uint32_t>& deaths(const NodeInfo& info) const {
    return info.deaths == kNone ? no_deaths_ : deaths_[info.deaths];
  }
  bool isLastUse(uint32_t flag) const { return last_use_[flag] != 0; }
  bool isUnused(const Value* output) const { return unused_[output->unique()] != 0; }
  uint32_t variable(const Value* value) const { return variable_[value->unique()]; }
  uint32_t depth(uint32_t variable) const { return depth_[variable]; }
  /// Constants have no register and never die.
  bool isConstant(uint32_t variable) const { return constant_[variable] != 0; }

 private:
  uint32_t scan(const Block* block, uint32_t depth);
  void visitBlock(uint32_t index, uint32_t depth, const Node* if_node);
  void visitNode(NodeInfo& info, uint32_t depth);
  void visitIf(NodeInfo& info, uint32_t depth);
  void visitLoop(NodeInfo& info, uint32_t depth);
  void use(const Value* value, uint32_t flag);
  void makeLive(uint32_t variable);
  void collectOuter(uint32_t block, uint32_t depth, std::vector<uint32_t>& found);
  std::vector<uint32_t> outerSince(size_t mark, uint32_t depth) const;

  std::vector<NodeInfo> nodes_;
  std::vector<BlockInfo> blocks_;
  std::vector<std::vector<uint32_t>> deaths_;
  std::vector<uint32_t> no_deaths_;
  std::vector<uint32_t> variable_, depth_;
  std::vector<uint8_t> constant_, unused_, live_, mark_, last_use_;
  std::vector<uint32_t> trail_;  // variables in the order in which they became live
};

/// prim::Constant and prim::Uninitialized: operands without a register.
bool isConstantNode(const Node& node);

}  // namespace cresset
