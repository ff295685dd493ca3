// The list of nodes in a block, and the order numbers that make isBefore cheap.
//
// Each node in a list has a number, growing along the list, with gaps. A new node takes the middle of its gap. When a
// gap is used up, the smallest aligned window of numbers around it that is sparse enough is spread out evenly again;
// windows may be denser the smaller they are (the list-labelling scheme of Bender et al.), which makes insertion
// amortized O(log n) at worst, wherever nodes are inserted, and O(1) when they are appended.
#include <algorithm>
#include <limits>

#include "cresset/ir/graph.h"
#include "cresset/ir/messages.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr int kOrderBits = 62;
constexpr int64_t kFirstOrder = 0;  // exclusive bounds of the numbers of listed nodes
constexpr int64_t kLastOrder = int64_t{1} << kOrderBits;
constexpr int64_t kAppendGap = int64_t{1} << 32;
constexpr double kSparser = 1.4;  // by how much a window must be sparser than its half

}  // namespace

/// The node has just been linked between prev_ and next_.
void Node::assignOrder() {
  for (;;) {
    bool first = prev_->isReturn();
    bool last = next_->isReturn();
    int64_t low = first ? kFirstOrder : prev_->order_;
    int64_t high = last ? kLastOrder : next_->order_;
    int64_t half = (high - low) / 2;
    if (half > 0) {
      // At either end there is room for 2^29 steps of the usual gap; halving would use it up in 60 steps.
      if (last && !first) {
        order_ = low + std::min(half, kAppendGap);
      } else if (first && !last) {
        order_ = high - std::min(half, kAppendGap);
      } else {
        order_ = low + half;
      }
      return;
    }
    prev_->isReturn() ? next_->spreadOrders() : prev_->spreadOrders();
  }
}

/// Makes room around this node, a neighbour of the new one; the new node has no number yet and is passed over.
void Node::spreadOrders() {
  Node* fresh = nullptr;
  Node* begin = this;
  Node* end = this;  // inclusive
  int64_t count = 1;
  // The node without a number is next to this one; it must not count as a member of any window.
  auto before = [&](Node* n) {
    n = n->prev_;
    return n == fresh ? n->prev_ : n;
  };
  auto after = [&](Node* n) {
    n = n->next_;
    return n == fresh ? n->next_ : n;
  };
  if (!next_->isReturn() && next_->order_ == kUnordered) fresh = next_;
  if (!prev_->isReturn() && prev_->order_ == kUnordered) fresh = prev_;
  double density = 1;
  for (int bits = 1; bits <= kOrderBits; ++bits) {
    int64_t low = order_ >> bits << bits;
    int64_t high = low + (int64_t{1} << bits);  // exclusive
    for (Node* n = before(begin); !n->isReturn() && n->order_ >= low; n = before(n)) begin = n, ++count;
    for (Node* n = after(end); !n->isReturn() && n->order_ < high; n = after(n)) end = n, ++count;
    density /= kSparser;
    int64_t step = (high - low) / (count + 1);
    if (step < 4 || static_cast<double>(count) > density * static_cast<double>(high - low)) continue;
    int64_t order = low;
    for (Node* n = begin;; n = after(n)) {
      n->order_ = order += step;
      if (n == end) return;
    }
  }
  throw UserError("A block holds too many nodes.");
}

void Node::linkBefore(Node* other) {
  ++graph_->edits_.structure;
  block_ = other->block_;
  next_ = other;
  prev_ = other->prev_;
  prev_->next_ = this;
  next_->prev_ = this;
  order_ = kUnordered;
  assignOrder();
}

void Node::leaveList() {
  ++graph_->edits_.structure;
  graph_->leaveInsertPoint(this);
  prev_->next_ = next_;
  next_->prev_ = prev_;
  prev_ = next_ = nullptr;
  block_ = nullptr;
}

bool Node::isInside(const Node* ancestor) const {
  for (const Node* n = this; n; n = n->block_ ? n->block_->owningNode() : nullptr) {
    if (n == ancestor) return true;
  }
  return false;
}

bool Node::isBefore(const Node* other) const {
  if (!other || other->graph_ != graph_) throw UserError("Nodes of different graphs have no order.");
  checkUsable("ask for the position of");
  other->checkUsable("ask for the position of");
  auto depthOf = [](const Node* n) {
    int depth = 0;
    for (; n; n = n->block_ ? n->block_->owningNode() : nullptr) ++depth;
    return depth;
  };
  auto parent = [](const Node* n) { return n->block_ ? n->block_->owningNode() : nullptr; };
  const Node* a = this;
  const Node* b = other;
  int depth_a = depthOf(a);
  int depth_b = depthOf(b);
  for (int i = depth_a; i > depth_b; --i) a = parent(a);
  for (int i = depth_b; i > depth_a; --i) b = parent(b);
  if (a == b) return depth_a < depth_b;
  while (a->block_ != b->block_) {
    const Node* owner = parent(a);
    if (owner && owner == parent(b)) {  // two blocks of one node: in their order
      for (const Block* block : owner->blocks_) {
        if (block == a->block_) return true;
        if (block == b->block_) return false;
      }
    }
    a = owner;
    b = parent(b);
    if (!a || !b) break;
  }
  if (!a || !b || !a->block_) throw UserError("Nodes that are in no common block have no order.");
  return a->order_ < b->order_;
}

void Node::checkMovable(const char* action) const {
  checkUsable(action);
  if (isParam() || isReturn()) throw UserError("Can't " + std::string(action) + " the end of a block.");
}

void Node::checkTarget(const Node* other, const char* action) const {
  checkMovable(action);
  if (!other || other->graph_ != graph_) {
    throw UserError("Can't " + std::string(action) + " a node next to a node of another graph.");
  }
  other->checkUsable("insert next to");
  if (!other->block_) throw UserError("Can't " + std::string(action) + " a node next to one that is in no block.");
  if (!blocks_.empty() && other != this && other->isInside(this)) {
    throw UserError("Can't " + std::string(action) + " a node within its own blocks.");
  }
}

Node* Node::insertBefore(Node* other) {
  checkTarget(other, "insert");
  if (block_) throw UserError(messages::isInBlock());
  if (other->isParam()) throw UserError(messages::nothingBeforeInputs());
  linkBefore(other);
  return this;
}

Node* Node::insertAfter(Node* other) {
  checkTarget(other, "insert");
  if (block_) throw UserError(messages::isInBlock());
  if (other->isReturn()) throw UserError(messages::nothingAfterOutputs());
  linkBefore(other->isParam() ? other->block_->returnNode()->next_ : other->next_);
  return this;
}

Node* Node::moveBefore(Node* other) {
  checkTarget(other, "move");
  if (other->isParam()) throw UserError(messages::nothingBeforeInputs());
  if (other == this) return this;
  if (block_) leaveList();
  linkBefore(other);
  return this;
}

Node* Node::moveAfter(Node* other) {
  checkTarget(other, "move");
  if (other->isReturn()) throw UserError(messages::nothingAfterOutputs());
  if (other == this) return this;
  if (block_) leaveList();
  linkBefore(other->isParam() ? other->block_->returnNode()->next_ : other->next_);
  return this;
}

void Node::removeFromList() {
  checkMovable("remove");
  if (!block_) throw UserError("The node is in no block.");
  leaveList();
}

}  // namespace cresset
