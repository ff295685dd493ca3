// Common subexpression elimination: a node that computes what another, which runs before it on every way, has computed
// is replaced by that one's results. In nested blocks too.
//
// Two such nodes must run in one state of the thread (grad mode, autocast), read memory that nothing writes to, draw no
// random numbers and have no effects. If their results are memory, then sharing must not show: nothing writes to it, at
// most one of the two leaves the graph, and if one does, where callers may write to it, autograd keeps nothing of the
// other for a backward pass. And no gradient may flow into them: gradients of merged values are summed before, not
// after, they go through the operator, which changes bits.
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/gradients.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/analysis/repeatable.h"
#include "cresset/ir/same_graph.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2));
}

size_t hashOfNode(const Node* node) {
  size_t hash = node->kind();
  for (const Value* input : node->inputs()) hash = mix(hash, input->unique());
  return mix(hash, node->attributes().size());
}

bool computesSame(const Node* a, const Node* b) {
  if (a->kind() != b->kind() || a->inputs().size() != b->inputs().size() ||
      a->outputs().size() != b->outputs().size() || a->attributes().size() != b->attributes().size())
    return false;
  for (size_t i = 0; i < a->inputs().size(); ++i) {
    if (a->inputs()[i] != b->inputs()[i]) return false;
  }
  for (size_t i = 0; i < a->outputs().size(); ++i) {
    if (*a->outputs()[i]->type() != *b->outputs()[i]->type()) return false;
  }
  return std::all_of(a->attributes().begin(), a->attributes().end(), [&](const auto& attribute) {
    const Attribute* other = b->findAttribute(attribute.first);
    return other && sameAttribute(attribute.second, *other);
  });
}

class Merger {
 public:
  explicit Merger(Graph& graph) : graph_(graph), scopes_(graph) { findCompared(graph.block()); }

  bool run(Block* block) {
    std::vector<size_t> added;  // hashes that this block put into the table
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) run(inner);
      if (!isCandidate(node)) continue;
      const size_t hash = hashOfNode(node);
      auto& nodes = seen_[hash];
      const auto found = std::find_if(nodes.rbegin(), nodes.rend(), [&](Node* earlier) {
        return scopes_.of(earlier) == scopes_.of(node) && computesSame(earlier, node);
      });
      if (found == nodes.rend()) {
        nodes.push_back(node);
        added.push_back(hash);
      } else if (isUntouched(*found)) {
        if (isUntouched(node) && mayShareResults(*found, node)) merge(*found, node);
      } else if ((*found)->owningBlock() == block) {
        *found = node;  // later nodes can't have the other's results
      } else {
        nodes.push_back(node);
        added.push_back(hash);
      }
    }
    for (size_t hash : added) seen_[hash].pop_back();
    return changed_;
  }

 private:
  bool isCandidate(const Node* node) {
    if (!node->blocks().empty() || node->outputs().empty()) return false;
    if (isStructural(node->kind())) return isRepeatable(*node);  // constants have a pool of their own
    const Operator* op = operatorOf(*node);
    if (!op || op->isMutable() || op->hasSideEffects() || !op->isDeterministic()) return false;
    // Autograd sees a computation, not only a value that is returned unchanged.
    return std::none_of(node->outputs().begin(), node->outputs().end(), [&](const Value* output) {
      return mayRequireGrad(output->type());
    });
  }

  /// The analysis of the graph as it was, made when two nodes compute the same.
  AliasDb& memory() {
    if (!memory_) memory_ = aliasesOf(graph_);
    return *memory_;
  }

  /// Whether nothing writes to what the node takes and returns, and nothing tells its results from equal ones.
  bool isUntouched(Node* node) {
    if (memory().isMutable(node) || memory().hasSideEffects(node) || memory().readsWritten(node) ||
        memory().readsUpdated(node))
      return false;
    return std::none_of(node->outputs().begin(), node->outputs().end(), [&](Value* output) {
      return memory().hasWriters(output) || isCompared(output);
    });
  }

  /// `a is b` distinguishes two tensors or lists of equal elements.
  void findCompared(Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) findCompared(inner);
      if (!hasTrait(*node, Trait::ComparesIdentity)) continue;
      const auto inputs = node->inputs();
      if (std::none_of(inputs.begin(), inputs.end(), [](const Value* input) {
            return input->type()->kind() == c10::TypeKind::NoneType;
          }))
        compared_.insert(compared_.end(), inputs.begin(), inputs.end());
    }
  }

  bool isCompared(Value* value) {
    return std::any_of(
        compared_.begin(), compared_.end(), [&](Value* other) { return memory().mayAlias(value, other); });
  }

  bool leaves(const Value* value) { return leaving_.contains(value) || memory().escapes(value); }

  /// Whether autograd may keep the tensor, or a view of it, for a backward pass.
  static bool mayBeKept(const Value* value, int depth = 0) {
    constexpr int kMaxDepth = 8;
    if (!mayHoldTensors(*value->type())) return false;
    if (depth > kMaxDepth) return true;
    const auto uses = value->uses();
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      if (use.user->isReturn() && !use.user->owningBlock()->owningNode()) return false;  // it leaves
      const auto outputs = use.user->outputs();
      const Operator* op = isStructural(use.user->kind()) ? nullptr : operatorOf(*use.user);
      if (!op) return use.user->kind() != prim::ListConstruct || mayBeKept(outputs[0], depth + 1);
      return std::any_of(outputs.begin(), outputs.end(), [&](const Value* output) {
        return mayHoldTensors(*output->type()) &&
               (mayRequireGrad(output->type()) || (!op->isPure() && mayBeKept(output, depth + 1)));
      });
    });
  }

  bool mayShareResults(const Node* kept, const Node* other) {
    if (returnsExistingValue(*kept)) return true;  // the same one each time
    for (size_t i = 0; i < kept->outputs().size(); ++i) {
      const Value *one = kept->outputs()[i], *two = other->outputs()[i];
      const bool one_leaves = leaves(one), two_leaves = leaves(two);
      if ((one_leaves && two_leaves) || (one_leaves && mayBeKept(two)) || (two_leaves && mayBeKept(one))) return false;
    }
    return true;
  }

  void merge(Node* kept, Node* other) {
    for (size_t i = 0; i < kept->outputs().size(); ++i) {
      if (leaves(other->output(i))) leaving_.insert(kept->output(i));
      other->output(i)->replaceAllUsesWith(kept->output(i));
    }
    other->destroy();
    changed_ = true;
  }

  Graph& graph_;
  std::shared_ptr<AliasDb> memory_;
  StateScopes scopes_;
  std::unordered_map<size_t, std::vector<Node*>> seen_;
  std::vector<Value*> compared_;
  std::unordered_set<const Value*> leaving_;  // stand for values that leave the graph
  bool changed_ = false;
};

}  // namespace

bool mergeCommonSubexpressions(Graph& graph) {
  return Merger(graph).run(graph.block());
}

CRESSET_PASS(mergeCommonSubexpressions, "cse", All, "Compute equal things once")

}  // namespace cresset
