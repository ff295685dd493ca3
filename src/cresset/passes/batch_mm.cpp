// Products of matrices that are computed together: a sum of products is one product of the factors side by side, and
// the products of one matrix with several are parts of one product with all of them.
//
// Whether factors have the same sizes is looked at when they are there (prim::MMTreeReduce, prim::MMBatchSide): if not,
// they are multiplied one after the other, as the program has them. Sums come out in another order, so bits change, and
// no pipeline runs it: kernels of today's libraries gain little by it.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

/// Fewer products are not worth the concatenation.
constexpr size_t kMinTerms = 4, kMinProductsOfOne = 8;
/// Longer sums stay, and more products of one matrix are computed in several parts, so that the cost is linear.
constexpr size_t kMaxTerms = 128;

class Batcher {
 public:
  explicit Batcher(Graph& graph) : graph_(graph), scopes_(graph) {}

  bool run(Block* block) {
    analyze();
    batchSums(block);
    analyze();
    batchSides(block);
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) run(inner);
    }
    return changed_;
  }

 private:
  void analyze() {
    memory_ = aliasesOf(graph_);
    made_.clear();
  }

  /// A product of matrices that nothing writes to.
  bool isProduct(const Node* node) {
    return node->kind() == aten::mm && node->inputs().size() == 2 && !made_.contains(node->input(0)) &&
           !made_.contains(node->input(1)) && !memory_->hasWriters(node);
  }

  /// `a + b` of two tensors.
  static bool isSum(const Node* node) {
    return node->kind() == aten::add && node->inputs().size() == 3 &&
           node->input(0)->type()->kind() == c10::TypeKind::TensorType &&
           node->input(1)->type()->kind() == c10::TypeKind::TensorType && constantAs<int64_t>(node->input(2)) == 1;
  }

  /// The products that `root` is the sum of, added from the first on: the operands of each sum are a product and a
  /// product or sum, in either order. All of them may be computed where it is. Empty if it is of others, too.
  std::vector<Node*> termsOf(Node* root) {
    std::vector<Node*> terms;
    for (Node* sum = root; isSum(sum);) {
      if (terms.size() == kMaxTerms) return {};
      Node* operands[] = {sum->input(0)->node(), sum->input(1)->node()};
      for (Node* operand : operands) {
        if (operand->outputs().size() != 1 || operand->owningBlock() != root->owningBlock() ||
            operand->output()->uses().size() != 1 || scopes_.of(operand) != scopes_.of(root))
          return {};
      }
      if (isSum(operands[1])) std::swap(operands[0], operands[1]);
      terms.push_back(operands[1]);
      if (!isSum(operands[0])) terms.push_back(operands[0]);
      sum = operands[0];
    }
    for (Node* term : terms) {
      if (!isProduct(term) || !memory_->couldMoveBeforeTopologically(term, root)) return {};
    }
    std::reverse(terms.begin(), terms.end());
    return terms;
  }

  void batchSums(Block* block) {
    std::vector<Node*> roots;  // none of which is part of another one
    for (Node* node : block->nodes()) {
      if (isSum(node) && !isPartOfSum(node)) roots.push_back(node);
    }
    for (Node* root : roots) {
      const std::vector<Node*> terms = termsOf(root);
      if (terms.size() >= kMinTerms) replaceSum(root, terms);
    }
  }

  /// Whether the sum is only an operand of another one.
  static bool isPartOfSum(const Node* node) {
    const auto uses = node->output()->uses();
    return uses.size() == 1 && isSum(uses.front().user) && uses.front().user->owningBlock() == node->owningBlock();
  }

  void replaceSum(Node* root, const std::vector<Node*>& terms) {
    std::vector<Value*> factors;
    for (const size_t side : {size_t(0), size_t(1)}) {
      for (Node* term : terms) factors.push_back(term->input(side));
    }
    Node* sum = graph_.create(prim::MMTreeReduce, factors);
    sum->insertBefore(root)->copyLocation(root);
    sum->output()->copyMetadata(root->output());
    root->output()->replaceAllUsesWith(sum->output());
    made_.insert(sum->output());
    destroySum(root);
    changed_ = true;
  }

  static void destroySum(Node* root) {
    std::vector<Node*> todo = {root};
    while (!todo.empty()) {
      Node* node = todo.back();
      todo.pop_back();
      const std::vector<Value*> operands = node->inputs().vec();
      const bool is_sum = isSum(node);
      node->destroy();
      for (size_t i = 0; is_sum && i < 2; ++i) {
        if (!operands[i]->hasUses()) todo.push_back(operands[i]->node());
      }
    }
  }

  void batchSides(Block* block) {
    std::unordered_set<const Value*> tried[2];
    std::vector<Node*> products;
    for (Node* node : block->nodes()) {
      if (node->kind() == aten::mm && node->inputs().size() == 2) products.push_back(node);
    }
    for (Node* node : products) {
      if (node->isErased()) continue;
      for (const size_t side : {size_t(0), size_t(1)}) {
        Value* common = node->input(side);
        if (tried[side].insert(common).second && batchSide(common, side, block)) break;
      }
    }
  }

  bool batchSide(Value* common, size_t side, Block* block) {
    std::vector<Node*> products;
    for (const Use& use : common->uses()) {
      if (use.offset == side && use.user->owningBlock() == block && isProduct(use.user)) products.push_back(use.user);
    }
    std::sort(products.begin(), products.end(), [](const Node* a, const Node* b) { return a->isBefore(b); });
    bool changed = false;
    for (size_t begin = 0; begin + kMinProductsOfOne <= products.size(); begin += kMaxTerms) {
      const size_t end = std::min(begin + kMaxTerms, products.size());
      changed |= batchPart(
          {products.begin() + static_cast<ptrdiff_t>(begin), products.begin() + static_cast<ptrdiff_t>(end)}, common,
          side, block);
    }
    return changed;
  }

  /// Computes the products, in the order of the program, where the first one is.
  bool batchPart(const std::vector<Node*>& products, Value* common, size_t side, Block* block) {
    Node* const first = products.front();
    std::vector<Node*> together = {first};
    for (Node* product : products) {
      const Node* other = product->input(1 - side)->node();
      const bool is_there = other->owningBlock() != block || other->isParam() || other->isBefore(first);
      if (product != first && is_there && scopes_.of(product) == scopes_.of(first) &&
          memory_->couldMoveBeforeTopologically(product, first))
        together.push_back(product);
    }
    if (together.size() < kMinProductsOfOne) return false;
    std::vector<Value*> inputs = {common, insertConstantBefore(first, side == 0)};
    for (Node* product : together) inputs.push_back(product->input(1 - side));
    Node* batch = graph_.create(prim::MMBatchSide, inputs);
    batch->insertBefore(first)->copyLocation(first);
    batch->output()->setType(c10::ListType::ofTensors());
    Node* unpacked = graph_.create(prim::ListUnpack, {batch->output()}, together.size());
    unpacked->insertBefore(first)->copyLocation(first);
    for (size_t i = 0; i < together.size(); ++i) {
      unpacked->output(i)->copyMetadata(together[i]->output());
      together[i]->output()->replaceAllUsesWith(unpacked->output(i));
      made_.insert(unpacked->output(i));
    }
    for (Node* product : together) product->destroy();
    return changed_ = true;
  }

  Graph& graph_;
  std::shared_ptr<AliasDb> memory_;
  std::unordered_set<const Value*> made_;  // since memory_ was
  const StateScopes scopes_;
  bool changed_ = false;
};

}  // namespace

static bool batchProducts(Graph& graph) {
  return Batcher(graph).run(graph.block());
}

CRESSET_PASS(
    batchProducts, "batch-mm", Derivatives, "Compute products of matrices together that are summed, or share a factor")

}  // namespace cresset
