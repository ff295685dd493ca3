// Checks graphs.
//
// First the lists and scopes that every graph has (each node in its block's list, each operand in its value's use
// list, each value defined before its use), then the shapes of the structural nodes of docs/ir.md. Program order is
// visited with a stack of blocks; a value is in scope if it has been met and its block is still open.
#include "cresset/ir/verifier.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_set>

#include "cresset/ir/constants.h"
#include "cresset/ir/nesting.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/structure.h"
#include "cresset/ir/subgraph.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr size_t kLinesAround = 8;  // of the printed graph, in messages about large graphs

/// The lines around the complaint, if the text is long.
std::string excerpt(const std::string& text, const std::string& note) {
  size_t at = text.find(note);
  if (at == std::string::npos || std::count(text.begin(), text.end(), '\n') < 60) return text;
  size_t begin = at;
  for (size_t i = 0; i <= kLinesAround && begin > 0; ++i) {
    size_t previous = text.rfind('\n', begin - 1);
    begin = previous == std::string::npos ? 0 : previous;
  }
  size_t end = at;
  for (size_t i = 0; i <= kLinesAround && end < text.size(); ++i) end = std::min(text.find('\n', end + 1), text.size());
  return (begin > 0 ? "…" : "") + text.substr(begin, end - begin) + (end + 1 < text.size() ? "\n…\n" : "\n");
}

class Verifier {
 public:
  Verifier(const Graph& graph, std::unordered_set<const Graph*>& seen) : graph_(graph), seen_(seen) {
    defined_.resize(graph.numValues());
  }

  void run() {
    const Block* body = graph_.block();
    if (body->owningNode()) fail(body->returnNode(), "the graph's block belongs to a node");
    frames_.push_back({body, nullptr});
    while (!frames_.empty()) step();
  }

 private:
  struct Frame {
    const Block* block;
    const Node* next;  // null before the block has been entered
  };

  [[noreturn]] void fail(const Node* at, const std::string& complaint) const {
    PrintOptions options;
    options.note_at = at;
    options.note = "^ " + complaint;
    throw UserError(
        "The graph is not well formed: " + complaint + "\n" + excerpt(toString(graph_, options), options.note),
        at->sourceRange());
  }

  static std::string name(const Value* value) { return "%" + value->debugName(); }

  void step() {
    Frame frame = frames_.back();
    if (!frame.next) return enter(frame.block);
    const Node* node = frame.next;
    if (node->isReturn()) {
      checkInputs(node);
      for (const Value* value : opened_.back()) defined_[value->unique()] = false;
      opened_.pop_back();
      frames_.pop_back();
      return;
    }
    if (node->next()->prev() != node || node->owningBlock() != frame.block) fail(node, "the block's list is broken");
    frames_.back().next = node->next();
    checkInputs(node);
    checkLocalStructure(node);
    for (size_t i = node->blocks().size(); i-- > 0;) {
      const Block* block = node->blocks()[i];
      if (block->owningNode() != node) fail(node, "block" + std::to_string(i) + " belongs to another node");
      if (block->isErased()) fail(node, "block" + std::to_string(i) + " has been erased");
      frames_.push_back({block, nullptr});
    }
    // Outputs come into scope after the node's own blocks. They are defined now, in the frame of the block around it,
    // and a use from inside of the node is told apart by isInOwnBlocks.
    define(node);
    for (const auto& [attribute, value] : node->attributes()) {
      if (value.kind() == Attribute::Kind::Graph && !verifyNested(*value.asGraph()) && isSubgraph(*node))
        fail(node, "its subgraph is another node's, too");
      if (value.kind() == Attribute::Kind::Graphs)
        for (const auto& g : value.asGraphs()) verifyNested(*g);
    }
  }

  /// Whether the graph has not been met before.
  bool verifyNested(const Graph& graph) {
    if (!seen_.insert(&graph).second) return false;
    nested_.push_back(&graph);
    return true;
  }

  void enter(const Block* block) {
    opened_.emplace_back();
    frames_.back().next = block->returnNode()->next();
    const Node* params = block->paramNode();
    if (!params->inputs().empty()) fail(params, "the inputs of a block have operands");
    if (&block->graph() != &graph_) fail(params, "the block belongs to another graph");
    define(params);
  }

  void checkOwned(const Node* node, const Value* value) const {
    if (value->isErased()) fail(node, name(value) + " has been erased");
    if (&value->graph() != &graph_) fail(node, name(value) + " belongs to another graph");
  }

  void define(const Node* node) {
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      const Value* value = node->outputs()[i];
      checkOwned(node, value);
      if (value->node() != node || value->offset() != i) fail(node, name(value) + " doesn't know where it is defined");
      if (value->unique() >= defined_.size() || defined_[value->unique()])
        fail(node, name(value) + " is defined twice");
      defined_[value->unique()] = true;
      opened_.back().push_back(value);
      checkUses(value);
    }
  }

  void checkUses(const Value* value) {
    size_t count = 0;
    for (Use use : value->uses()) {
      ++count;
      if (use.user->isErased()) fail(value->node(), name(value) + " is used by an erased node");
      if (use.offset >= use.user->inputs().size() || use.user->inputs()[use.offset] != value) {
        fail(value->node(), name(value) + " has a use that is no operand");
      }
      if (!use.user->owningBlock()) {
        fail(
            value->node(),
            name(value) + " is used by a node that is in no block (" + use.user->kind().toQualString() + ")");
      }
    }
    if (count != value->uses().size()) fail(value->node(), "the use list of " + name(value) + " is broken");
  }

  void checkInputs(const Node* node) const {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Value* value = node->inputs()[i];
      if (!value) fail(node, "input " + std::to_string(i) + " is null");
      checkOwned(node, value);
      if (!defined_[value->unique()] || isInOwnBlocks(node, value)) {
        fail(node, name(value) + " is used where it is not in scope");
      }
    }
  }

  /// Whether `node` is inside of the node that defines `value`.
  static bool isInOwnBlocks(const Node* node, const Value* value) {
    const Node* definer = value->node();
    if (definer->blocks().empty()) return false;
    for (const Node* n = node; n; n = n->owningBlock() ? n->owningBlock()->owningNode() : nullptr) {
      if (n == definer) return true;
    }
    return false;
  }

  void checkLocalStructure(const Node* node) const {
    if (node->isErased()) fail(node, "the node has been erased");
    if (node->isParam()) fail(node, "prim::Param stands among the nodes of a block");
    if (auto complaint = complaintAbout(*node)) fail(node, *complaint);
  }

  const Graph& graph_;
  std::unordered_set<const Graph*>& seen_;
  std::vector<Frame> frames_;
  std::vector<std::vector<const Value*>> opened_;  // what each open block has defined so far
  std::vector<bool> defined_;                      // by unique(): in scope at this point of the traversal

 public:
  std::vector<const Graph*> nested_;
};

}  // namespace

void verify(const Graph& graph) {
  std::unordered_set<const Graph*> seen{&graph};
  std::vector<const Graph*> work{&graph};
  while (!work.empty()) {
    const Graph* next = work.back();
    work.pop_back();
    Verifier verifier(*next, seen);
    verifier.run();
    work.insert(work.end(), verifier.nested_.begin(), verifier.nested_.end());
  }
}

void verifyEdited(const Graph& graph) {
  constexpr size_t kMaxNesting = 4'000;
  verify(graph);
  if (nestingIn(graph) >= kMaxNesting)
    throw UserError(
        "The graph's blocks nest too deeply: at most " + std::to_string(kMaxNesting) + " levels are supported");
}

}  // namespace cresset
