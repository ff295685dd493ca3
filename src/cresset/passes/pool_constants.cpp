// Leaves one prim::Constant per value and puts it at the start of the graph, so that each is computed, printed and
// counted once, and nodes that differ only in which copy of a constant they take become equal.
//
// Only immutable values are pooled: numbers, bools, strings, None, devices and functions. Lists, dicts,
// objects and tensors keep a node of their own for each place that makes one. Two constants are the same if their types
// are and, for floats, if their bits are: 0.0 and -0.0 differ, and a nan is itself.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <bit>
#include <string_view>
#include <unordered_map>

#include "cresset/ir/subgraph.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

size_t combine(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2));
}

/// The attribute that holds the constant; null for None.
const Attribute* heldBy(const Node* node) {
  return node->attributes().empty() ? nullptr : &node->attributes()[0].second;
}

bool isDevice(const Attribute& attribute) {
  return attribute.kind() == Attribute::Kind::Value && attribute.asValue().isDevice();
}

bool canPool(const Node* node) {
  if (node->kind() != prim::Constant || node->outputs().size() != 1 || node->attributes().size() > 1) return false;
  const Attribute* held = heldBy(node);
  if (!held) return true;
  switch (held->kind()) {
    case Attribute::Kind::Int:
    case Attribute::Kind::Float:
    case Attribute::Kind::Complex:
    case Attribute::Kind::String:
      return true;
    default:
      return isDevice(*held);
  }
}

size_t hashOf(const Node* node) {
  size_t hash = static_cast<size_t>(node->output()->type()->kind());
  const Attribute* held = heldBy(node);
  if (!held) return hash;
  switch (held->kind()) {
    case Attribute::Kind::Int:
      return combine(hash, std::hash<int64_t>()(held->asInt()));
    case Attribute::Kind::Float:
      return combine(hash, std::bit_cast<uint64_t>(held->asFloat()));
    case Attribute::Kind::String:
      return combine(hash, std::hash<std::string_view>()(held->asString()));
    default:
      return hash;
  }
}

bool sameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool isSame(const Node* a, const Node* b) {
  if (*a->output()->type() != *b->output()->type()) return false;
  const Attribute* x = heldBy(a);
  const Attribute* y = heldBy(b);
  if (!x || !y) return x == y;
  if (x->kind() != y->kind()) return false;
  switch (x->kind()) {
    case Attribute::Kind::Int:
      return x->asInt() == y->asInt();
    case Attribute::Kind::Float:
      return sameBits(x->asFloat(), y->asFloat());
    case Attribute::Kind::Complex:
      return sameBits(x->asComplex().real(), y->asComplex().real()) &&
             sameBits(x->asComplex().imag(), y->asComplex().imag());
    case Attribute::Kind::String:
      return x->asString() == y->asString();
    default:
      return x->asValue().toDevice() == y->asValue().toDevice();
  }
}

class Pool {
 public:
  explicit Pool(Graph& graph) : graph_(graph) {}

  bool run(Block* block) {
    bool changed = false;
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) changed |= run(inner);
      if (isSubgraph(*node)) changed |= poolConstants(*node->g(attr::Subgraph));  // it holds constants of its own
      if (canPool(node)) {
        changed |= take(node);
      } else if (block == graph_.block()) {
        at_start_ = false;
      }
    }
    return changed;
  }

 private:
  bool take(Node* node) {
    const size_t hash = hashOf(node);
    const auto [begin, end] = kept_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (!isSame(it->second, node)) continue;
      node->output()->replaceAllUsesWith(it->second->output());
      node->destroy();
      return true;
    }
    kept_.emplace(hash, node);
    // Constants that the graph starts with stay, so that a second run finds nothing to do.
    if (at_start_ && node->owningBlock() == graph_.block()) return false;
    node->moveBefore(graph_.nodes().front());
    return true;
  }

  Graph& graph_;
  std::unordered_multimap<size_t, Node*> kept_;
  bool at_start_ = true;  // only constants have been met so far
};

}  // namespace

bool poolConstants(Graph& graph) {
  return Pool(graph).run(graph.block());
}

CRESSET_PASS(poolConstants, "pool-constants", All, "Leave one prim::Constant per value, at the start of the graph")

}  // namespace cresset
