// Graphs and blocks: creation, insertion points, copies.
//
// Everything that a graph owns lives in StableVectors, which never move their elements; what is erased stays there as a
// tombstone until the graph dies, so that a stale pointer can be recognized. Copies visit nested blocks with a stack of
// their own, since blocks may nest as deep as a program with many early returns is long.
#include "cresset/ir/graph.h"
#include "cresset/ir/messages.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/support/error.h"

namespace cresset {

namespace {

// Graphs within attributes of nodes of graphs …: deeper than this is taken for a cycle.
constexpr int kMaxGraphNesting = 200;

const TypePtr& tensorType() {
  static const TypePtr type = c10::TensorType::get();
  return type;
}

}  // namespace

Graph::Graph(Tag) {
  block_ = newBlock(nullptr);
  insert_before_ = block_->returnNode();
}

Graph::~Graph() = default;

Node* Graph::newNode(Symbol kind) {
  Node& node = nodes_.emplace_back(Node::Tag());
  node.kind_ = kind;
  node.graph_ = this;
  return &node;
}

Value* Graph::newValue(Node* node, size_t offset) {
  if (next_unique_ == UINT32_MAX) throw UserError("A graph holds too many values.");
  Value& value = values_.emplace_back(Value::Tag());
  value.graph_ = this;
  value.node_ = node;
  value.offset_ = static_cast<uint32_t>(offset);
  value.unique_ = next_unique_++;
  value.type_ = tensorType();
  ++edits_.structure;
  return &value;
}

Block* Graph::newBlock(Node* owner) {
  Block& block = blocks_.emplace_back(Block::Tag());
  block.graph_ = this;
  block.owner_ = owner;
  block.param_ = newNode(prim::Param);
  block.return_ = newNode(prim::Return);
  block.param_->block_ = block.return_->block_ = &block;
  block.param_->order_ = -1;
  block.return_->order_ = INT64_MAX;
  block.return_->prev_ = block.return_->next_ = block.return_;
  ++edits_.structure;
  return &block;
}

void Graph::checkOwn(const Node* node, const char* action) const {
  if (!node || node->graph_ != this) throw UserError("Can't " + std::string(action) + " a node of another graph.");
  node->checkUsable(action);
}

Node* Graph::create(Symbol kind, size_t num_outputs) {
  if (kind == prim::Param || kind == prim::Return) throw UserError(messages::onlyEndsOfBlocks());
  Node* node = newNode(kind);
  ++live_nodes_;
  node->range_ = current_range_;
  node->inlined_ = current_call_;
  node->outputs_.reserve(arena_, num_outputs);
  for (size_t i = 0; i < num_outputs; ++i) node->outputs_.push_back(arena_, newValue(node, i));
  return node;
}

Node* Graph::create(Symbol kind, std::span<Value* const> inputs, size_t num_outputs) {
  for (const Value* value : inputs) {
    if (!value || value->graph_ != this) throw UserError("Can't connect a node to a value of another graph.");
    value->checkUsable("use");
  }
  Node* node = create(kind, num_outputs);
  node->reserveOperands(inputs.size());
  for (Value* value : inputs) node->addInput(value);
  return node;
}

Node* Graph::create(Symbol kind, std::initializer_list<Value*> inputs, size_t num_outputs) {
  return create(kind, std::span<Value* const>(inputs.begin(), inputs.size()), num_outputs);
}

void Graph::setInsertPoint(Block* block) {
  if (!block || block->graph_ != this) throw UserError("Can't insert into a block of another graph.");
  if (block->isErased()) throw UserError(messages::hasBeenErased("insert into", "block"));
  insert_before_ = block->return_;
}

void Graph::setInsertPoint(Node* before) {
  checkOwn(before, "insert before");
  if (!before->block_) throw UserError("Can't insert before a node that is in no block.");
  if (before->isParam()) throw UserError(messages::nothingBeforeInputs());
  insert_before_ = before;
}

/// Called while `node` still is in its list.
void Graph::leaveInsertPoint(Node* node) {
  if (insert_before_ == node) insert_before_ = node->next_;
}

void Graph::setLocation(SourceRange range, InlinedCallPtr call) {
  current_range_ = std::move(range);
  current_call_ = std::move(call);
}

Value* Graph::findValue(std::string_view debug_name) const {
  if (Value* found = names_.find(debug_name)) return found;
  if (debug_name.empty() || debug_name.size() > 10 || (debug_name[0] == '0' && debug_name.size() > 1)) return nullptr;
  uint64_t number = 0;
  for (char c : debug_name) {
    if (c < '0' || c > '9') return nullptr;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  // Numbers grow with the index unless text has assigned others.
  auto matches = [&](const Value& v) { return v.unique_ == number && !v.erased_ && !v.name_; };
  if (number < values_.size() && values_[number].unique_ == number) {
    return matches(values_[number]) ? &values_[number] : nullptr;
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    if (matches(values_[i])) return &values_[i];
  }
  return nullptr;
}

void Graph::assignNumbers(std::span<const std::pair<Value*, uint32_t>> numbers) {
  uint32_t past_highest = 0;
  for (const auto& [value, number] : numbers) {
    if (!value || value->graph_ != this || value->erased_) throw UserError("Can't number a value of another graph.");
    if (number == UINT32_MAX) throw UserError("A value's number is too large.");
    past_highest = std::max(past_highest, number + 1);
  }
  std::vector<bool> taken(past_highest);
  for (const auto& [value, number] : numbers) {
    if (taken[number]) throw UserError("Two values have the number " + std::to_string(number) + ".");
    taken[number] = true;
  }
  ++edits_.structure;
  next_unique_ = past_highest;
  for (size_t i = 0; i < values_.size(); ++i) values_[i].unique_ = UINT32_MAX;
  for (const auto& [value, number] : numbers) value->unique_ = number;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].unique_ == UINT32_MAX) values_[i].unique_ = next_unique_++;
  }
}

// ---- blocks

Value* Block::addInput(std::string_view name) {
  return insertInput(param_->outputs().size(), name);
}

Value* Block::insertInput(size_t i, std::string_view name) {
  Value* value = param_->insertOutput(i);
  if (!name.empty()) value->setDebugName(name);
  return value;
}

void Block::eraseInput(size_t i) {
  param_->eraseOutput(i);
}

size_t Block::registerOutput(Value* value) {
  return_->addInput(value);
  return outputs().size() - 1;
}

void Block::insertOutput(size_t i, Value* value) {
  return_->insertInput(i, value);
}

void Block::replaceOutput(size_t i, Value* value) {
  return_->replaceInput(i, value);
}

void Block::eraseOutput(size_t i) {
  return_->removeInput(i);
}

void Graph::addRules(const Rules& rules) {
  for (const auto& each : rules) {
    if (std::find(rules_.begin(), rules_.end(), each) == rules_.end()) rules_.push_back(each);
  }
}

// ---- copies

Attribute Graph::cloneAttribute(const Attribute& attribute, int depth) {
  // A graph within an attribute is mutable, so two nodes must not share it; everything else is immutable.
  if (attribute.kind() == Attribute::Kind::Graph) return attribute.asGraph()->copyNested(depth + 1);
  if (attribute.kind() == Attribute::Kind::Graphs) {
    std::vector<std::shared_ptr<Graph>> graphs;
    for (const auto& graph : attribute.asGraphs()) graphs.push_back(graph->copyNested(depth + 1));
    return graphs;
  }
  return attribute;
}

/// Copies inputs, nodes and outputs of `source` into `target`, an empty block of this graph. Values that `source`
/// doesn't define go through `outer`.
void Graph::cloneContents(
    const Block* source, Block* target, const std::function<Value*(Value*)>& outer, bool keep_numbers, int depth) {
  if (source->graph_ != this) addRules(source->graph_->rules_);
  // A copy of the whole graph maps by number, which is faster by far; a copy of a block must not cost a graph's size.
  std::vector<Value*> by_number(keep_numbers ? source->graph_->next_unique_ : 0);
  std::unordered_map<const Value*, Value*> map;
  auto mapped = [&](Value* value) {
    if (keep_numbers) {
      Value* copy = value->graph_ == source->graph_ ? by_number[value->unique_] : nullptr;
      return copy ? copy : outer(value);
    }
    auto found = map.find(value);
    return found == map.end() ? outer(value) : found->second;
  };
  auto define = [&](const Value* from, Value* to) {
    if (keep_numbers) {
      by_number[from->unique_] = to;
    } else {
      map.emplace(from, to);
    }
    to->type_ = from->type_;
    if (keep_numbers) to->unique_ = from->unique_;
    if (from->name_) to->setDebugName(from->name());
  };
  auto copyInto = [&](const Node* from, Node* to) {
    to->reserveOperands(from->num_operands_);
    for (Value* value : from->inputs()) to->addInput(mapped(value));
    to->copyLocation(from);
    for (const auto& [name, value] : from->attributes_) to->setAttribute(name, cloneAttribute(value, depth));
  };
  struct Frame {
    const Block* source;
    Block* target;
    Node* next;  // the node of `source` to copy next; null before its inputs have been copied
  };
  std::vector<Frame> frames{{source, target, nullptr}};
  while (!frames.empty()) {
    auto [from_block, to_block, from] = frames.back();
    if (!from) {
      for (const Value* input : from_block->inputs()) define(input, to_block->addInput());
      frames.back().next = from_block->return_->next_;
    } else if (from->isReturn()) {
      copyInto(from, to_block->return_);
      frames.pop_back();
    } else {
      frames.back().next = from->next_;
      Node* to = create(from->kind_, from->outputs_.size());
      copyInto(from, to);
      to->op_ = from->op_;
      for (size_t i = 0; i < from->outputs_.size(); ++i) define(from->outputs_[i], to->outputs_[i]);
      to_block->appendNode(to);
      for (size_t i = 0; i < from->blocks_.size(); ++i) to->addBlock();
      for (size_t i = from->blocks_.size(); i-- > 0;) frames.push_back({from->blocks_[i], to->blocks_[i], nullptr});
    }
  }
}

void Block::cloneFrom(const Block* source, const std::function<Value*(Value*)>& outer) {
  if (!source || source->isErased() || isErased()) throw UserError(messages::hasBeenErased("copy", "block"));
  if (!nodes().empty() || !inputs().empty() || !outputs().empty())
    throw UserError("Can't copy into a block that isn't empty.");
  for (const Block* b = this; b; b = b->owner_ ? b->owner_->block_ : nullptr) {
    if (b == source) throw UserError("Can't copy a block into itself.");
  }
  graph_->cloneContents(source, this, outer, false, 0);
}

Node* Graph::createClone(const Node* node, const std::function<Value*(Value*)>& map, bool copy_blocks) {
  if (!node) throw UserError("Can't copy a null node.");
  node->checkMovable("copy");
  if (node->graph_ != this) addRules(node->graph_->rules_);
  Node* copy = create(node->kind_, node->outputs_.size());
  try {
    copy->reserveOperands(node->num_operands_);
    for (Value* value : node->inputs()) copy->addInput(map(value));
    copy->copyLocation(node);
    for (const auto& [name, value] : node->attributes_) copy->setAttribute(name, cloneAttribute(value, 0));
    if (copy_blocks) {
      for (const Block* block : node->blocks_) cloneContents(block, copy->addBlock(), map, false, 0);
    }
  } catch (...) {
    copy->destroy();  // what has been copied so far must not keep uses of values alive
    throw;
  }
  for (size_t i = 0; i < node->outputs_.size(); ++i) {
    copy->outputs_[i]->type_ = node->outputs_[i]->type_;
    if (node->outputs_[i]->name_) copy->outputs_[i]->setDebugName(node->outputs_[i]->name());
  }
  if (copy_blocks || node->blocks_.empty()) copy->op_ = node->op_;
  return copy;
}

std::shared_ptr<Graph> Graph::copy() const {
  return copyNested(0);
}

std::shared_ptr<Graph> Graph::copyNested(int depth) const {
  if (depth > kMaxGraphNesting) throw UserError("Graphs nest too deeply within the attributes of nodes.");
  auto copy = Graph::make();
  copy->names_.reserve(names_.size());
  auto outer = [](Value* value) -> Value* {
    throw UserError("Can't copy the graph: %" + value->debugName() + " is used where it is not in scope.");
  };
  copy->cloneContents(block_, copy->block_, outer, true, depth);
  const Node* inputs = block_->paramNode();
  for (const auto& [name, value] : inputs->attributes()) copy->block_->paramNode()->setAttribute(name, value);
  copy->next_unique_ = next_unique_;
  copy->name_suffixes_ = name_suffixes_;
  copy->current_range_ = current_range_;
  copy->current_call_ = current_call_;
  return copy;
}

}  // namespace cresset
