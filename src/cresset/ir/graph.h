// The intermediate representation: a Graph owns Blocks, Nodes and Values in SSA form.
//
//   Graph   one function body. A block with inputs and outputs.
//   Block   a list of nodes, executed in order, with inputs (the outputs of its `param` node) and outputs (the inputs
//           of its `return` node). prim::If and prim::Loop hold blocks.
//   Node    one operation: a kind, inputs, outputs, attributes, blocks.
//   Value   the result of one node, or an input of a block. In scope from its definition to the end of its block,
//           blocks nested in later nodes included.
//
// Costs: inserting, erasing and moving nodes, adding and removing uses are O(1) each (removing an input or output in
// the middle of a node shifts the later ones). Uses keep the order in which they were added.
//
// Ownership: the graph owns everything that was created in it until the graph itself dies; erased nodes and values
// stay as tombstones, so that a stale pointer is always safe to ask `isErased()` and every change through it
// raises UserError. Values and nodes of another graph are refused in the same way. A handle that must outlive its
// scope holds a std::shared_ptr<Graph> beside the pointer.
//
// Thread-safety: none while a graph is changed; concurrent reading is safe.
#pragma once

#include <ATen/core/interned_strings.h>
#include <ATen/core/jit_type_base.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cresset/ir/attribute.h"
#include "cresset/ir/storage.h"
#include "cresset/support/source.h"

namespace c10 {
struct IValue;
}

namespace cresset {

using c10::Symbol;
using c10::TypePtr;
namespace prim = c10::prim;
namespace aten = c10::aten;
namespace attr = c10::attr;

class Block;
class Graph;
class Node;
class Operator;       // ops/operator.h
struct ProgramRules;  // program/rules.h
class Value;

/// One input slot of a node. Linked into the use list of the value that it holds.
struct Use {
  Node* user = nullptr;
  size_t offset = 0;  // index in user->inputs()
  bool operator==(const Use&) const = default;
};

namespace detail {
struct Operand {
  Value* value = nullptr;
  Node* user = nullptr;
  uint32_t index = 0;
  Operand* prev = nullptr;  // in the value's use list
  Operand* next = nullptr;
};
}  // namespace detail

/// A view of the operands of a node as values.
class InputRange {
 public:
  class iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Value*;
    using difference_type = std::ptrdiff_t;
    using pointer = Value* const*;
    using reference = Value*;
    iterator() = default;
    explicit iterator(const detail::Operand* p) : p_(p) {}
    Value* operator*() const { return p_->value; }
    Value* operator[](difference_type n) const { return p_[n].value; }
    iterator& operator++() {
      ++p_;
      return *this;
    }
    iterator operator++(int) { return iterator(p_++); }
    iterator& operator--() {
      --p_;
      return *this;
    }
    iterator operator--(int) { return iterator(p_--); }
    iterator& operator+=(difference_type n) {
      p_ += n;
      return *this;
    }
    iterator& operator-=(difference_type n) {
      p_ -= n;
      return *this;
    }
    friend iterator operator+(iterator i, difference_type n) { return iterator(i.p_ + n); }
    friend iterator operator+(difference_type n, iterator i) { return iterator(i.p_ + n); }
    friend iterator operator-(iterator i, difference_type n) { return iterator(i.p_ - n); }
    friend difference_type operator-(iterator a, iterator b) { return a.p_ - b.p_; }
    auto operator<=>(const iterator&) const = default;

   private:
    const detail::Operand* p_ = nullptr;
  };
  InputRange(const detail::Operand* begin, size_t size) : begin_(begin), size_(size) {}
  iterator begin() const { return iterator(begin_); }
  iterator end() const { return iterator(begin_ + size_); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Value* operator[](size_t i) const { return begin_[i].value; }
  Value* at(size_t i) const;  // throws UserError past the end
  std::vector<Value*> vec() const { return {begin(), end()}; }

 private:
  const detail::Operand* begin_;
  size_t size_;
};

/// The uses of a value, in the order in which they were added. Adding or removing a use of the value other than the
/// one that the iterator stands on leaves the iterator valid.
class UseRange {
 public:
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Use;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Use;
    iterator() = default;
    explicit iterator(const detail::Operand* p) : p_(p) {}
    Use operator*() const { return {p_->user, p_->index}; }
    iterator& operator++() {
      p_ = p_->next;
      return *this;
    }
    iterator operator++(int) {
      auto old = *this;
      p_ = p_->next;
      return old;
    }
    bool operator==(const iterator&) const = default;

   private:
    const detail::Operand* p_ = nullptr;
  };
  UseRange(const detail::Operand* first, size_t size) : first_(first), size_(size) {}
  iterator begin() const { return iterator(first_); }
  iterator end() const { return iterator(nullptr); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Use front() const { return *begin(); }
  std::vector<Use> vec() const { return {begin(), end()}; }

 private:
  const detail::Operand* first_;
  size_t size_;
};

class Value {
 public:
  /// The node that defines this value; a block's param node for block inputs.
  Node* node() const { return node_; }
  /// Index among node()->outputs().
  size_t offset() const { return offset_; }
  Graph& graph() const { return *graph_; }
  /// The block in whose scope this value is: node()->owningBlock().
  Block* owningBlock() const;
  bool isErased() const { return erased_; }

  const TypePtr& type() const { return type_; }
  Value* setType(TypePtr type);

  /// Dense number, unique in the graph and never reused.
  uint32_t unique() const { return unique_; }
  bool hasDebugName() const { return name_ != nullptr; }
  /// The name without '%': the one that was set, or the number.
  std::string debugName() const;
  /// Sets the name. If another value has it, that one is renamed with a numbered suffix ("x" -> "x.1"), as TorchScript
  /// does: the last value of a variable has the plain name. "" clears it.
  /// Names are [A-Za-z_][A-Za-z0-9_.]*; anything else throws UserError.
  Value* setDebugName(std::string_view name);
  /// setDebugName(from->debugName() without its number), and the type: for values that replace `from`.
  Value* copyMetadata(const Value* from);

  UseRange uses() const { return {first_use_, use_count_}; }
  bool hasUses() const { return use_count_ != 0; }
  /// O(number of uses).
  void replaceAllUsesWith(Value* other);
  /// Replaces the uses by nodes after `node` (in its block, blocks nested in later nodes included).
  void replaceAllUsesAfterNodeWith(const Node* node, Value* other);

 private:
  friend class Graph;
  friend class Node;
  friend class Block;
  friend class detail::NameTable;

  void checkUsable(const char* action) const;
  std::string_view name() const { return {name_, name_length_}; }

  Graph* graph_ = nullptr;
  Node* node_ = nullptr;
  TypePtr type_;
  const char* name_ = nullptr;  // in the graph's arena; null if the value has no name
  detail::Operand* first_use_ = nullptr;
  detail::Operand* last_use_ = nullptr;
  uint32_t use_count_ = 0;
  uint32_t offset_ = 0;
  uint32_t unique_ = 0;
  uint32_t name_length_ : 31 = 0;
  uint32_t erased_ : 1 = false;

 public:  // for StableVector; only Graph can make one, through its private tag
  struct Tag {
    explicit Tag() = default;
  };
  explicit Value(Tag) {}
};

class Node {
 public:
  Symbol kind() const { return kind_; }
  Graph& graph() const { return *graph_; }
  /// The block whose list holds this node; null before insertion and after removal.
  Block* owningBlock() const { return block_; }
  bool isErased() const { return erased_; }
  /// The operator that this node calls, if it has been bound (ops::operatorOf binds on demand). Changing the kind or
  /// the number of inputs unbinds it.
  const Operator* boundOperator() const { return op_; }
  /// Throws UserError for the kinds that only a block's ends have (prim::Param, prim::Return).
  Node* setKind(Symbol kind);
  void bindOperator(const Operator* op);

  InputRange inputs() const { return {operands_, num_operands_}; }
  Value* input(size_t i) const { return inputs().at(i); }
  /// The only input. Throws UserError if there is not exactly one; likewise output().
  Value* input() const;
  std::span<Value* const> outputs() const { return {outputs_.begin(), outputs_.size()}; }
  Value* output(size_t i) const;
  Value* output() const;
  std::span<Block* const> blocks() const { return {blocks_.begin(), blocks_.size()}; }

  Value* addInput(Value* value);
  Value* insertInput(size_t i, Value* value);
  /// Returns the value that was there.
  Value* replaceInput(size_t i, Value* value);
  void replaceInputWith(Value* from, Value* to);
  void removeInput(size_t i);
  void removeAllInputs();
  /// New outputs have type Tensor until setType.
  Value* addOutput();
  Value* insertOutput(size_t i);
  /// Throws UserError if the output is in use.
  void eraseOutput(size_t i);
  Block* addBlock();
  /// Throws UserError if a value defined in the block is used outside of it (impossible in a valid graph).
  void eraseBlock(size_t i);

  /// The neighbours in the block's list; the return node closes the circle, so `next` of the last node is the return
  /// node and `prev` of the first is the return node too. Use Block::nodes() to iterate.
  Node* next() const { return next_; }
  Node* prev() const { return prev_; }
  /// Whether this node comes before `other` in program order. Nodes in nested blocks compare by their ancestors in the
  /// nearest common block; a node is before the nodes in its own blocks. Amortized O(nesting depth).
  bool isBefore(const Node* other) const;
  bool isAfter(const Node* other) const { return other->isBefore(this); }
  /// Whether this node is `ancestor` or in a block of it, at any depth. Time grows with the depth of this node.
  bool isInside(const Node* ancestor) const;

  Node* insertBefore(Node* other);
  Node* insertAfter(Node* other);
  Node* moveBefore(Node* other);
  Node* moveAfter(Node* other);
  /// Removes from the block's list; the node can be inserted again.
  void removeFromList();
  /// Erases the node and everything in its blocks. Throws UserError if an output is in use.
  void destroy();

  const SourceRange& sourceRange() const { return range_; }
  Node* setSourceRange(SourceRange range) {
    range_ = std::move(range);
    return this;
  }
  const InlinedCallPtr& inlinedCall() const { return inlined_; }
  Node* setInlinedCall(InlinedCallPtr call) {
    inlined_ = std::move(call);
    return this;
  }
  /// Copies source range and inlined calls.
  Node* copyLocation(const Node* from);

  // Attributes, in the order in which they were first set.
  bool hasAttribute(Symbol name) const;
  /// Null if absent.
  const Attribute* findAttribute(Symbol name) const;
  /// Throws UserError if absent.
  const Attribute& attribute(Symbol name) const;
  Node* setAttribute(Symbol name, Attribute value);
  void removeAttribute(Symbol name);
  std::span<const std::pair<Symbol, Attribute>> attributes() const { return {attributes_.begin(), attributes_.size()}; }
  // Typed readers; throw UserError if absent or of another type.
  int64_t i(Symbol name) const { return attribute(name).asInt(); }
  double f(Symbol name) const { return attribute(name).asFloat(); }
  const std::string& s(Symbol name) const { return attribute(name).asString(); }
  const std::vector<int64_t>& is(Symbol name) const { return attribute(name).asInts(); }
  const std::shared_ptr<Graph>& g(Symbol name) const { return attribute(name).asGraph(); }
  const TypePtr& ty(Symbol name) const { return attribute(name).asType(); }
  const std::vector<TypePtr>& tys(Symbol name) const { return attribute(name).asTypes(); }

  bool isParam() const { return kind_ == prim::Param; }
  bool isReturn() const { return kind_ == prim::Return; }

  struct Tag {
    explicit Tag() = default;
  };
  explicit Node(Tag) {}
  ~Node() { attributes_.clear(); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

 private:
  friend class Graph;
  friend class Block;
  friend class Value;

  void checkUsable(const char* action) const;
  void checkMovable(const char* action) const;
  void checkOperand(const Value* value, const char* action) const;
  void checkTarget(const Node* other, const char* action) const;
  void checkInnerUses(const std::vector<Node*>& subtree) const;
  void leaveList();
  void linkUse(detail::Operand& operand);
  void unlinkUse(detail::Operand& operand);
  static void relocate(detail::Operand& from, detail::Operand& to);
  void reserveOperands(size_t n);
  void linkBefore(Node* other);
  void assignOrder();
  void spreadOrders();

  Symbol kind_ = prim::Param;
  bool erased_ = false;
  uint32_t num_operands_ = 0;
  uint32_t cap_operands_ = 0;
  Graph* graph_ = nullptr;
  Block* block_ = nullptr;
  const Operator* op_ = nullptr;
  detail::Operand* operands_ = nullptr;  // in the graph's arena
  detail::ArenaVector<Value*> outputs_;
  detail::ArenaVector<Block*> blocks_;
  detail::ArenaVector<std::pair<Symbol, Attribute>> attributes_;
  Node* prev_ = nullptr;
  Node* next_ = nullptr;
  static constexpr int64_t kUnordered = -2;  // of a node that has been linked and waits for its number
  int64_t order_ = 0;  // position in the block's list, with gaps; of param nodes less, of return nodes more than any
  SourceRange range_;
  InlinedCallPtr inlined_;
};

/// The nodes of a block, param and return nodes left out. Iterators stay valid unless the node under them is moved or
/// erased; `for (Node* n : block.nodesSafely())` allows that too.
class NodeRange {
 public:
  class iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = Node*;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Node*;
    iterator() = default;
    explicit iterator(Node* n) : n_(n) {}
    Node* operator*() const { return n_; }
    iterator& operator++() {
      n_ = n_->next();
      return *this;
    }
    iterator operator++(int) {
      auto old = *this;
      n_ = n_->next();
      return old;
    }
    iterator& operator--() {
      n_ = n_->prev();
      return *this;
    }
    bool operator==(const iterator&) const = default;

   private:
    Node* n_ = nullptr;
  };
  explicit NodeRange(Node* sentinel) : sentinel_(sentinel) {}
  iterator begin() const { return iterator(sentinel_->next()); }
  iterator end() const { return iterator(sentinel_); }
  bool empty() const { return sentinel_->next() == sentinel_; }
  Node* front() const { return sentinel_->next(); }
  Node* back() const { return sentinel_->prev(); }

 private:
  Node* sentinel_;
};

/// Steps to the next node before handing out the current one, so that the current one may be moved or erased.
class SafeNodeRange {
 public:
  class iterator {
   public:
    explicit iterator(Node* n) : n_(n), next_(n->next()) {}
    Node* operator*() const { return n_; }
    iterator& operator++() {
      n_ = next_;
      next_ = n_->next();
      return *this;
    }
    bool operator==(const iterator& other) const { return n_ == other.n_; }

   private:
    Node* n_;
    Node* next_;
  };
  explicit SafeNodeRange(Node* sentinel) : sentinel_(sentinel) {}
  iterator begin() const { return iterator(sentinel_->next()); }
  iterator end() const { return iterator(sentinel_); }

 private:
  Node* sentinel_;
};

class Block {
 public:
  Graph& graph() const { return *graph_; }
  /// The node that holds this block; null for the graph's own block.
  Node* owningNode() const { return owner_; }
  bool isErased() const { return return_->isErased(); }

  std::span<Value* const> inputs() const { return param_->outputs(); }
  InputRange outputs() const { return return_->inputs(); }
  NodeRange nodes() const { return NodeRange(return_); }
  SafeNodeRange nodesSafely() const { return SafeNodeRange(return_); }
  Node* paramNode() const { return param_; }
  Node* returnNode() const { return return_; }

  Value* addInput(std::string_view name = "");
  Value* insertInput(size_t i, std::string_view name = "");
  /// Throws UserError if the input is in use.
  void eraseInput(size_t i);
  /// Adds `value` as the last output; returns its index.
  size_t registerOutput(Value* value);
  void insertOutput(size_t i, Value* value);
  void replaceOutput(size_t i, Value* value);
  void eraseOutput(size_t i);
  Node* appendNode(Node* node) { return node->insertBefore(return_); }
  Node* prependNode(Node* node) { return node->insertAfter(param_); }
  /// Copies inputs, nodes and outputs of `source` into this (empty) block. Values from outside `source` are mapped by
  /// `outer`, which is called for each of them.
  void cloneFrom(const Block* source, const std::function<Value*(Value*)>& outer);

  struct Tag {
    explicit Tag() = default;
  };
  explicit Block(Tag) {}

 private:
  friend class Graph;
  friend class Node;
  Graph* graph_ = nullptr;
  Node* owner_ = nullptr;
  Node* param_ = nullptr;
  Node* return_ = nullptr;
};

/// How often a graph was changed. Equal counts of one graph: nothing that an analysis may read has changed between.
struct EditCounts {
  uint64_t structure = 0;  // nodes, blocks, uses, attributes, types
  uint64_t tensors = 0;    // types of tensors that stay types of tensors
  bool operator==(const EditCounts&) const = default;
};

/// See the top of the file.
class Graph : public std::enable_shared_from_this<Graph> {
 public:
  static std::shared_ptr<Graph> make() { return std::make_shared<Graph>(Tag()); }
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Block* block() const { return block_; }
  std::span<Value* const> inputs() const { return block_->inputs(); }
  InputRange outputs() const { return block_->outputs(); }
  NodeRange nodes() const { return block_->nodes(); }
  SafeNodeRange nodesSafely() const { return block_->nodesSafely(); }
  Value* addInput(std::string_view name = "") { return block_->addInput(name); }
  size_t registerOutput(Value* value) { return block_->registerOutput(value); }

  /// A node that is in no block yet, located at the current location (see setLocation).
  Node* create(Symbol kind, size_t num_outputs = 1);
  Node* create(Symbol kind, std::span<Value* const> inputs, size_t num_outputs = 1);
  Node* create(Symbol kind, std::initializer_list<Value*> inputs, size_t num_outputs = 1);
  /// A copy of `node`, its attributes and blocks, in no block yet; inputs go through `map`.
  Node* createClone(const Node* node, const std::function<Value*(Value*)>& map, bool copy_blocks = true);

  // The insertion point: new nodes go before a node, or at the end of a block.
  Node* insertNode(Node* node) { return node->insertBefore(insert_before_); }
  Node* insertPoint() const { return insert_before_; }
  void setInsertPoint(Block* block);
  void setInsertPoint(Node* before);
  Block* insertBlock() const { return insert_before_->owningBlock(); }

  /// The source range and inlined calls that created nodes get.
  void setLocation(SourceRange range, InlinedCallPtr call = nullptr);
  const SourceRange& currentRange() const { return current_range_; }

  /// Inserts prim::Constant of this value and of its type (or of `type`). Throws UserError if the value can't be a
  /// constant (Generator, Stream, …). ir/constants.h reads constants back.
  Value* insertConstant(const c10::IValue& value, TypePtr type = TypePtr());

  std::shared_ptr<Graph> copy() const;
  size_t numNodes() const { return live_nodes_; }
  size_t numValues() const { return next_unique_; }  // upper bound of Value::unique()
  /// Assigns these values these numbers, which must differ from each other, and all others higher ones. For readers of
  /// text, where `%7` is the value that prints as `%7`.
  void assignNumbers(std::span<const std::pair<Value*, uint32_t>> numbers);
  /// The value of this name (without '%'); null if there is none.
  Value* findValue(std::string_view debug_name) const;

  /// What the programs may do that nodes come from; empty if anything. Copies of nodes, and graphs that become
  /// attributes of nodes, bring along those of their graphs.
  using Rules = std::vector<std::shared_ptr<const ProgramRules>>;
  const Rules& rules() const { return rules_; }
  void setRules(Rules rules) { rules_ = std::move(rules); }
  void addRules(const Rules& rules);

  /// Graphs in attributes of nodes have counts of their own. Names of values, and where nodes come from, don't count.
  const EditCounts& edits() const { return edits_; }
  /// What others keep beside the graph (analysis/graph_analyses.h); copies of the graph begin without it.
  struct Attachment {
    virtual ~Attachment() = default;
  };
  Attachment* attachment() const { return attachment_.get(); }
  void attach(std::unique_ptr<Attachment> attachment) { attachment_ = std::move(attachment); }

  struct Tag {
    explicit Tag() = default;
  };
  explicit Graph(Tag);

 private:
  friend class Block;
  friend class Node;
  friend class Value;
  void checkOwn(const Node* node, const char* action) const;
  void cloneContents(
      const Block* source, Block* target, const std::function<Value*(Value*)>& outer, bool keep_numbers, int depth);
  static Attribute cloneAttribute(const Attribute& attribute, int depth);
  std::shared_ptr<Graph> copyNested(int depth) const;
  void leaveInsertPoint(Node* node);
  void bury(Node* node);
  Value* newValue(Node* node, size_t offset);
  Block* newBlock(Node* owner);
  Node* newNode(Symbol kind);

  const char* keepName(std::string_view name);

  detail::Arena arena_;  // before what lives in it
  detail::StableVector<Node> nodes_;
  detail::StableVector<Value> values_;
  detail::StableVector<Block> blocks_;
  detail::NameTable names_;
  std::unordered_map<std::string, size_t> name_suffixes_;  // next number to try per stem
  Block* block_ = nullptr;
  Node* insert_before_ = nullptr;
  SourceRange current_range_;
  InlinedCallPtr current_call_;
  size_t live_nodes_ = 0;
  uint32_t next_unique_ = 0;
  EditCounts edits_;
  Rules rules_;
  std::unique_ptr<Attachment> attachment_;
};

inline void Node::bindOperator(const Operator* op) {
  // The first binding remembers what was so before: readers on other threads may do it, too.
  if (op_ && op_ != op) ++graph_->edits_.structure;
  op_ = op;
}

/// Restores the insertion point on scope exit. If the node before which it was has been erased or taken out meanwhile,
/// the insertion point becomes the end of the graph.
class InsertPointGuard {
 public:
  InsertPointGuard(Graph& graph, Block* block) : graph_(graph), saved_(graph.insertPoint()) {
    graph.setInsertPoint(block);
  }
  InsertPointGuard(Graph& graph, Node* before) : graph_(graph), saved_(graph.insertPoint()) {
    graph.setInsertPoint(before);
  }
  ~InsertPointGuard() {
    if (saved_->owningBlock()) {
      graph_.setInsertPoint(saved_);
    } else {
      graph_.setInsertPoint(graph_.block());
    }
  }
  InsertPointGuard(const InsertPointGuard&) = delete;
  InsertPointGuard& operator=(const InsertPointGuard&) = delete;

 private:
  Graph& graph_;
  Node* saved_;
};

}  // namespace cresset
