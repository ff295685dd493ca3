// Nodes: operands, outputs, blocks and attributes; erasure.
//
// Operands are an array whose slots are entries of their values' use lists. Growing the array or shifting slots
// relinks the entries in place, so that a use list keeps its order. Erasure leaves a tombstone in the graph: the node
// keeps its place in memory but no operands, outputs, attributes or blocks.
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/ir/graph.h"
#include "cresset/ir/messages.h"
#include "cresset/support/error.h"

namespace cresset {

void Node::checkUsable(const char* action) const {
  if (erased_) throw UserError(messages::hasBeenErased(action, "node"));
}

void Node::checkOperand(const Value* value, const char* action) const {
  checkUsable(action);
  if (isParam()) throw UserError("The inputs of a block take no operands.");
  if (!value) throw UserError("Can't " + std::string(action) + " a node to a null value.");
  if (value->graph_ != graph_) {
    throw UserError(
        "Can't " + std::string(action) + " a node to %" + value->debugName() + ": it is a value of another graph.");
  }
  value->checkUsable("use");
}

Node* Node::setKind(Symbol kind) {
  checkMovable("change the kind of");
  if (kind == prim::Param || kind == prim::Return) throw UserError(messages::onlyEndsOfBlocks());
  kind_ = kind;
  op_ = nullptr;
  ++graph_->edits_.structure;
  return this;
}

Value* Node::input() const {
  if (num_operands_ != 1)
    throw UserError("The node has " + std::to_string(num_operands_) + " inputs, not one.", range_);
  return operands_[0].value;
}

Value* Node::output() const {
  if (outputs_.size() != 1)
    throw UserError("The node has " + std::to_string(outputs_.size()) + " outputs, not one.", range_);
  return outputs_[0];
}

Value* Node::output(size_t i) const {
  if (i >= outputs_.size()) {
    throw UserError(
        "Output " + std::to_string(i) + " of a node with " + std::to_string(outputs_.size()) + " outputs.", range_);
  }
  return outputs_[i];
}

// ---- operands

void Node::linkUse(detail::Operand& operand) {
  Value* value = operand.value;
  operand.prev = value->last_use_;
  operand.next = nullptr;
  (value->last_use_ ? value->last_use_->next : value->first_use_) = &operand;
  value->last_use_ = &operand;
  ++value->use_count_;
  ++graph_->edits_.structure;
}

void Node::unlinkUse(detail::Operand& operand) {
  Value* value = operand.value;
  (operand.prev ? operand.prev->next : value->first_use_) = operand.next;
  (operand.next ? operand.next->prev : value->last_use_) = operand.prev;
  operand.prev = operand.next = nullptr;
  --value->use_count_;
  ++graph_->edits_.structure;
}

/// `to` takes the place of `from` in the use list.
void Node::relocate(detail::Operand& from, detail::Operand& to) {
  uint32_t index = to.index;
  to = from;
  to.index = index;
  (to.prev ? to.prev->next : to.value->first_use_) = &to;
  (to.next ? to.next->prev : to.value->last_use_) = &to;
  from.value = nullptr;
  from.prev = from.next = nullptr;
}

void Node::reserveOperands(size_t n) {
  if (n <= cap_operands_) return;
  if (n > UINT32_MAX) throw UserError("Too many inputs for one node.");
  size_t capacity = std::min<size_t>(std::max(n, 2 * size_t{cap_operands_}), UINT32_MAX);
  auto* grown = static_cast<detail::Operand*>(graph_->arena_.allocate(capacity * sizeof(detail::Operand)));
  for (uint32_t i = 0; i < capacity; ++i) new (&grown[i]) detail::Operand{.user = this, .index = i};
  for (uint32_t i = 0; i < num_operands_; ++i) relocate(operands_[i], grown[i]);
  operands_ = grown;
  cap_operands_ = static_cast<uint32_t>(capacity);
}

Value* Node::addInput(Value* value) {
  return insertInput(num_operands_, value);
}

Value* Node::insertInput(size_t i, Value* value) {
  checkOperand(value, "connect");
  if (i > num_operands_)
    throw UserError("Can't insert input " + std::to_string(i) + " of " + std::to_string(num_operands_) + ".");
  if (num_operands_ == cap_operands_) reserveOperands(size_t{num_operands_} + 1);
  for (size_t k = num_operands_; k > i; --k) relocate(operands_[k - 1], operands_[k]);
  ++num_operands_;
  operands_[i].value = value;
  linkUse(operands_[i]);
  op_ = nullptr;
  return value;
}

Value* Node::replaceInput(size_t i, Value* value) {
  checkOperand(value, "connect");
  Value* old = inputs().at(i);
  if (old == value) return old;
  unlinkUse(operands_[i]);
  operands_[i].value = value;
  linkUse(operands_[i]);
  return old;
}

void Node::replaceInputWith(Value* from, Value* to) {
  checkOperand(from, "connect");
  checkOperand(to, "connect");
  for (size_t i = 0; i < num_operands_; ++i) {
    if (operands_[i].value == from) replaceInput(i, to);
  }
}

void Node::removeInput(size_t i) {
  checkUsable("remove an input of");
  inputs().at(i);
  unlinkUse(operands_[i]);
  operands_[i].value = nullptr;
  for (size_t k = i + 1; k < num_operands_; ++k) relocate(operands_[k], operands_[k - 1]);
  --num_operands_;
  op_ = nullptr;
}

void Node::removeAllInputs() {
  checkUsable("remove the inputs of");
  while (num_operands_ > 0) {
    unlinkUse(operands_[--num_operands_]);
    operands_[num_operands_].value = nullptr;
  }
  op_ = nullptr;
}

// ---- outputs

Value* Node::addOutput() {
  return insertOutput(outputs_.size());
}

Value* Node::insertOutput(size_t i) {
  checkUsable("add an output to");
  if (isReturn()) throw UserError("The outputs of a block define no values.");
  if (i > outputs_.size())
    throw UserError("Can't insert output " + std::to_string(i) + " of " + std::to_string(outputs_.size()) + ".");
  Value* value = graph_->newValue(this, i);
  outputs_.insert(graph_->arena_, i, value);
  for (size_t k = i + 1; k < outputs_.size(); ++k) outputs_[k]->offset_ = static_cast<uint32_t>(k);
  return value;
}

void Node::eraseOutput(size_t i) {
  checkUsable("erase an output of");
  Value* value = output(i);
  if (value->hasUses()) throw UserError("Can't erase %" + value->debugName() + ": it is in use.", range_);
  ++graph_->edits_.structure;
  value->setDebugName("");
  value->erased_ = true;
  outputs_.erase(i);
  for (size_t k = i; k < outputs_.size(); ++k) outputs_[k]->offset_ = static_cast<uint32_t>(k);
}

// ---- blocks

Block* Node::addBlock() {
  checkMovable("add a block to");
  blocks_.push_back(graph_->arena_, graph_->newBlock(this));
  return blocks_.back();
}

namespace {

/// The nodes of these blocks and of the blocks within them, ends included.
std::vector<Node*> nodesWithin(std::span<Block* const> roots) {
  std::vector<Node*> out;
  std::vector<Block*> work(roots.begin(), roots.end());
  while (!work.empty()) {
    Block* block = work.back();
    work.pop_back();
    out.push_back(block->paramNode());
    for (Node* node : block->nodes()) {
      out.push_back(node);
      work.insert(work.end(), node->blocks().begin(), node->blocks().end());
    }
    out.push_back(block->returnNode());
  }
  return out;
}

}  // namespace

/// Throws if a value that `subtree` defines has a use outside of this node's blocks.
void Node::checkInnerUses(const std::vector<Node*>& subtree) const {
  for (const Node* node : subtree) {
    for (const Value* value : node->outputs_) {
      for (Use use : value->uses()) {
        if (use.user == this || !use.user->isInside(this)) {
          throw UserError(messages::usedOutside(value->debugName()), use.user->range_);
        }
      }
    }
  }
}

/// Turns the node into a tombstone. Its uses of values end; its outputs must have no uses left.
void Graph::bury(Node* node) {
  ++edits_.structure;
  node->removeAllInputs();
  for (Value* value : node->outputs_) {
    value->setDebugName("");
    value->erased_ = true;
  }
  node->outputs_.clear();
  node->blocks_.clear();
  node->attributes_.clear();
  node->range_ = {};
  node->inlined_ = nullptr;
  if (!node->isParam() && !node->isReturn()) --live_nodes_;
  node->erased_ = true;
  node->block_ = nullptr;
  // A stale handle to a block sees an empty list.
  node->prev_ = node->next_ = node->isReturn() ? node : nullptr;
}

void Node::eraseBlock(size_t i) {
  checkUsable("erase a block of");
  if (i >= blocks_.size())
    throw UserError("Block " + std::to_string(i) + " of a node with " + std::to_string(blocks_.size()) + " blocks.");
  std::vector<Node*> subtree = nodesWithin(blocks().subspan(i, 1));
  for (const Node* node : subtree) {
    for (const Value* value : node->outputs_) {
      for (Use use : value->uses()) {
        const Node* user = use.user;
        while (user && user->block_ != blocks_[i]) user = user->block_ ? user->block_->owner_ : nullptr;
        if (!user) throw UserError(messages::usedOutside(value->debugName()), use.user->range_);
      }
    }
  }
  for (Node* node : subtree) node->removeAllInputs();
  for (Node* node : subtree) graph_->bury(node);
  blocks_.erase(i);
  if (graph_->insert_before_->isErased()) graph_->insert_before_ = block_ ? next_ : graph_->block_->returnNode();
}

void Node::destroy() {
  checkMovable("erase");
  for (const Value* value : outputs_) {
    if (value->hasUses()) {
      throw UserError("Can't erase the node that defines %" + value->debugName() + ": it is in use.", range_);
    }
  }
  Graph& graph = *graph_;
  Node* after = block_ ? next_ : graph.block_->returnNode();
  if (!blocks_.empty()) {
    std::vector<Node*> subtree = nodesWithin(blocks());
    checkInnerUses(subtree);
    for (Node* node : subtree) node->removeAllInputs();
    for (Node* node : subtree) graph.bury(node);
  }
  if (block_) leaveList();
  graph.bury(this);
  if (graph.insert_before_->isErased()) graph.insert_before_ = after;
}

// ---- location and attributes

Node* Node::copyLocation(const Node* from) {
  checkUsable("set the location of");
  if (!from) throw UserError("Can't copy the location of a null node.");
  range_ = from->range_;
  inlined_ = from->inlined_;
  return this;
}

bool Node::hasAttribute(Symbol name) const {
  return findAttribute(name) != nullptr;
}

const Attribute* Node::findAttribute(Symbol name) const {
  for (const auto& [key, value] : attributes_) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Attribute& Node::attribute(Symbol name) const {
  if (const Attribute* found = findAttribute(name)) return *found;
  throw UserError(std::string(kind_.toQualString()) + " has no attribute '" + name.toUnqualString() + "'.", range_);
}

namespace {
/// They are searched one by one.
constexpr size_t kMaxAttributes = 4096;
}  // namespace

Node* Node::setAttribute(Symbol name, Attribute value) {
  checkUsable("set an attribute of");
  if (!name.is_attr())
    throw UserError(std::string("Attribute names are of the namespace attr, not ") + name.toQualString() + ".");
  if (value.kind() == Attribute::Kind::Graph && value.asGraph().get() == graph_) {
    throw UserError("A graph can't be an attribute of a node of its own.", range_);
  }
  if (value.kind() == Attribute::Kind::Graph) graph_->addRules(value.asGraph()->rules_);
  if (value.kind() == Attribute::Kind::Graphs) {
    for (const auto& graph : value.asGraphs()) graph_->addRules(graph->rules_);
  }
  ++graph_->edits_.structure;
  for (auto& [key, old] : attributes_) {
    if (key != name) continue;
    old = std::move(value);
    return this;
  }
  if (attributes_.size() >= kMaxAttributes)
    throw UserError("A node has at most " + std::to_string(kMaxAttributes) + " attributes.", range_);
  attributes_.push_back(graph_->arena_, {name, std::move(value)});
  return this;
}

void Node::removeAttribute(Symbol name) {
  checkUsable("remove an attribute of");
  attribute(name);
  ++graph_->edits_.structure;
  for (size_t i = attributes_.size(); i-- > 0;) {
    if (attributes_[i].first == name) attributes_.erase(i);
  }
}

}  // namespace cresset
