// Unrolling: a loop whose number of iterations is a small constant becomes its body, as often as it runs.
//
// Lists and dicts that a loop fills, and values that differ between iterations, are then known to other passes. Loops
// whose condition may end them earlier stay.
#include <ATen/core/ivalue.h>

#include <unordered_map>

#include "cresset/ir/constants.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

constexpr int64_t kMaxIterations = 16;
constexpr int64_t kMaxNodes = 512;  // that one loop may become

int64_t countNodes(const Block* block) {
  int64_t count = 0;
  for (const Node* node : block->nodes()) {
    ++count;
    for (const Block* inner : node->blocks()) count += countNodes(inner);
  }
  return count;
}

/// How often the body runs; nothing if only the running program knows.
std::optional<int64_t> tripCountOf(const Node* loop) {
  const auto count = constantAs<int64_t>(loop->input(0));
  const auto first = constantAs<bool>(loop->input(1)), next = constantAs<bool>(loop->blocks()[0]->outputs()[0]);
  if (first && !*first) return 0;
  if (!first || !next) return std::nullopt;
  if (count && *count <= 0) return 0;
  if (!*next) return count ? std::optional<int64_t>(1) : std::nullopt;
  return count;
}

void unroll(Node* loop, int64_t trip_count) {
  Graph& graph = loop->graph();
  const InsertPointGuard guard(graph, loop);
  Block* body = loop->blocks()[0];
  std::vector<Value*> carried;
  for (size_t i = 2; i < loop->inputs().size(); ++i) carried.push_back(loop->input(i));
  for (int64_t iteration = 0; iteration < trip_count; ++iteration) {
    std::unordered_map<const Value*, Value*> copies;
    const auto copyOf = [&](Value* value) {
      const auto found = copies.find(value);
      return found == copies.end() ? value : found->second;
    };
    if (body->inputs()[0]->hasUses()) {
      Value* number = graph.insertConstant(iteration);
      number->node()->copyLocation(loop);
      copies[body->inputs()[0]] = number;
    }
    for (size_t i = 0; i < carried.size(); ++i) copies[body->inputs()[i + 1]] = carried[i];
    for (Node* node : body->nodes()) {
      Node* copy = graph.createClone(node, copyOf);
      copy->insertBefore(loop);
      for (size_t i = 0; i < node->outputs().size(); ++i) copies[node->output(i)] = copy->output(i);
    }
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = copyOf(body->outputs()[i + 1]);
  }
  for (size_t i = 0; i < carried.size(); ++i) loop->output(i)->replaceAllUsesWith(carried[i]);
  loop->destroy();
}

bool unrollIn(Block* block) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= unrollIn(inner);
    if (node->kind() != prim::Loop) continue;
    const auto trip_count = tripCountOf(node);
    if (!trip_count || *trip_count > kMaxIterations || *trip_count * countNodes(node->blocks()[0]) > kMaxNodes)
      continue;
    unroll(node, *trip_count);
    changed = true;
  }
  return changed;
}

}  // namespace

static bool unrollLoops(Graph& graph) {
  return unrollIn(graph.block());
}

CRESSET_PASS(unrollLoops, "unroll", All, "Replace loops of few iterations, whose number is constant, by their bodies")

}  // namespace cresset
