#include "cresset/interpreter/liveness.h"

#include <algorithm>
#include <utility>

namespace cresset {

bool isConstantNode(const Node& node) {
  return node.kind() == prim::Constant || node.kind() == prim::Uninitialized;
}

Liveness::Liveness(Graph& graph) {
  const size_t n = graph.numValues();
  variable_.resize(n);
  for (size_t i = 0; i < n; ++i) variable_[i] = static_cast<uint32_t>(i);
  depth_.resize(n);
  constant_.resize(n);
  unused_.resize(n);
  live_.resize(n);
  mark_.resize(n);
  nodes_.reserve(graph.numNodes());
  scan(graph.block(), 0);
  visitBlock(0, 0, nullptr);
  for (const Value* input : graph.inputs()) {
    if (!live_[input->unique()]) blocks_[0].entry_drops.push_back(input->unique());
  }
}

/// Numbers the nodes of a block side by side, then those of the blocks inside.
uint32_t Liveness::scan(const Block* block, uint32_t depth) {
  const auto index = static_cast<uint32_t>(blocks_.size());
  blocks_.push_back({block});
  for (const Value* input : block->inputs()) depth_[input->unique()] = depth;
  const auto first = static_cast<uint32_t>(nodes_.size());
  for (Node* node : block->nodes()) {
    nodes_.push_back({node, static_cast<uint32_t>(last_use_.size())});
    last_use_.resize(last_use_.size() + node->inputs().size());
    for (const Value* output : node->outputs()) {
      depth_[output->unique()] = depth;
      if (isConstantNode(*node)) constant_[output->unique()] = 1;
    }
    if (node->kind() == prim::unchecked_cast) variable_[node->output()->unique()] = variable(node->input());
  }
  const auto last = static_cast<uint32_t>(nodes_.size());
  blocks_[index].first_node = first;
  blocks_[index].last_node = last;
  blocks_[index].first_flag = static_cast<uint32_t>(last_use_.size());
  last_use_.resize(last_use_.size() + block->outputs().size());
  for (uint32_t i = first; i < last; ++i) {
    const auto children = nodes_[i].node->blocks();
    for (size_t k = 0; k < children.size() && k < 2; ++k) {
      const uint32_t child = scan(children[k], depth + 1);
      nodes_[i].blocks[k] = child;
    }
  }
  return index;
}

void Liveness::makeLive(uint32_t variable) {
  live_[variable] = 1;
  trail_.push_back(variable);
}

void Liveness::use(const Value* value, uint32_t flag) {
  const uint32_t v = variable(value);
  if (live_[v] || constant_[v]) return;
  last_use_[flag] = 1;
  makeLive(v);
}

void Liveness::visitBlock(uint32_t index, uint32_t depth, const Node* if_node) {
  const InputRange outputs = blocks_[index].block->outputs();
  for (size_t k = outputs.size(); k-- > 0;) {
    if (if_node && isUnused(if_node->output(k))) continue;  // it is dead
    use(outputs[k], blocks_[index].first_flag + static_cast<uint32_t>(k));
  }
  for (uint32_t i = blocks_[index].last_node; i-- > blocks_[index].first_node;) visitNode(nodes_[i], depth);
}

void Liveness::visitNode(NodeInfo& info, uint32_t depth) {
  const Node& node = *info.node;
  if (isConstantNode(node) || node.kind() == prim::unchecked_cast) return;
  for (const Value* output : node.outputs()) unused_[output->unique()] = !live_[output->unique()];
  if (node.kind() == prim::If)
    visitIf(info, depth);
  else if (node.kind() == prim::Loop)
    visitLoop(info, depth);
  const InputRange inputs = node.inputs();
  for (size_t k = inputs.size(); k-- > 0;) use(inputs[k], info.first_flag + static_cast<uint32_t>(k));
}

std::vector<uint32_t> Liveness::outerSince(size_t mark, uint32_t depth) const {
  std::vector<uint32_t> result;
  for (size_t i = mark; i < trail_.size(); ++i) {
    if (depth_[trail_[i]] <= depth) result.push_back(trail_[i]);
  }
  return result;
}

void Liveness::visitIf(NodeInfo& info, uint32_t depth) {
  const size_t mark = trail_.size();
  visitBlock(info.blocks[0], depth + 1, info.node);
  std::vector<uint32_t> first = outerSince(mark, depth);
  for (size_t i = mark; i < trail_.size(); ++i) live_[trail_[i]] = 0;
  trail_.resize(mark);
  visitBlock(info.blocks[1], depth + 1, info.node);
  const std::vector<uint32_t> second = outerSince(mark, depth);
  trail_.resize(mark);

  for (uint32_t v : first) mark_[v] = 1;
  std::vector<uint32_t> deaths = first;
  for (uint32_t v : second) {
    if (mark_[v]) {
      mark_[v] = 2;
    } else {
      blocks_[info.blocks[0]].entry_drops.push_back(v);
      deaths.push_back(v);
    }
  }
  for (uint32_t v : first) {
    if (mark_[v] == 1) blocks_[info.blocks[1]].entry_drops.push_back(v);
    mark_[v] = 0;
  }
  for (uint32_t v : deaths) makeLive(v);
  info.deaths = static_cast<uint32_t>(deaths_.size());
  deaths_.push_back(std::move(deaths));
}

void Liveness::visitLoop(NodeInfo& info, uint32_t depth) {
  const uint32_t body = info.blocks[0];
  std::vector<uint32_t> outer;
  collectOuter(body, depth, outer);
  const size_t mark = trail_.size();  // visiting the body adds variables of the body only
  const auto phis = blocks_[body].block->inputs();
  live_[phis[0]->unique()] = 1;  // the trip count goes on after its last reader
  visitBlock(body, depth + 1, nullptr);
  trail_.resize(mark);
  for (size_t k = 1; k < phis.size(); ++k) {
    if (!live_[phis[k]->unique()]) blocks_[body].entry_drops.push_back(phis[k]->unique());
  }
  info.deaths = static_cast<uint32_t>(deaths_.size());
  deaths_.push_back(std::move(outer));
}

/// Makes live what `block` takes from outside: variables of depth up to `depth`.
void Liveness::collectOuter(uint32_t block, uint32_t depth, std::vector<uint32_t>& found) {
  auto take = [&](const InputRange& values) {
    for (const Value* value : values) {
      const uint32_t v = variable(value);
      if (depth_[v] > depth || live_[v] || constant_[v]) continue;
      makeLive(v);
      found.push_back(v);
    }
  };
  const BlockInfo& info = blocks_[block];
  for (uint32_t i = info.first_node; i < info.last_node; ++i) {
    const NodeInfo& node = nodes_[i];
    if (node.node->kind() == prim::unchecked_cast || isConstantNode(*node.node)) continue;
    take(node.node->inputs());
    for (uint32_t child : node.blocks) {
      if (child != kNone) collectOuter(child, depth, found);
    }
  }
  take(info.block->outputs());
}

}  // namespace cresset
