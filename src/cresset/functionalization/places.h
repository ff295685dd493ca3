// Where in memory the tensors of a graph are: each is the whole of its own memory, or is reached from such a one by
// views that have inverses.
//
// A value has a place only if it has that one on all ways through the graph: what a branch returns has one if both
// branches return it, what a loop carries if each iteration passes on what it got. What an operator
// returns of its arguments has the place of that.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

struct Place {
  enum class Kind {
    Root,     // memory of its own: made by an operator or by all branches, or an input of the graph
    View,     // what the node `view` makes of `parent`
    List,     // the same of an operator that returns several views
    Element,  // of the list `parent`
  };
  Kind kind = Kind::Root;
  const Value* root = nullptr;    // in whose memory it is
  const Place* parent = nullptr;  // null for a root
  Node* view = nullptr;           // of a view or list
  int64_t index = 0;              // of an element; from the end of the list if it is negative
  uint32_t depth = 0;             // how many views there are between it and the root
  Value* position = nullptr;      // of an element whose index only the running program knows: that index
};

/// Views of more views have no place: each write costs its depth.
constexpr uint32_t kMaxViewDepth = 100;

class Places {
 public:
  explicit Places(Graph& graph);

  /// Null if the value is no tensor, or may be at several places.
  const Place* of(const Value* value) const;  // of an Optional: that of the tensor, if it is one
  /// Whether the value is where its node has put it, and not another name for an older value.
  bool isOwn(const Value* value) const { return !same_.contains(value); }

 private:
  void findSame(Block* block);
  void findSameIn(Node* node);
  const Value* canonical(const Value* value) const;
  const Value* returnedBy(const Node& branches, size_t i) const;
  void visit(Block* block);
  void visit(Node* node);
  void join(const Node* node);
  void add(const Value* value, Place place);

  const bool sizes_change_;                              // something in the graph changes sizes of tensors
  const bool lists_change_;                              // … or may change lists of numbers that come in
  std::unordered_map<const Value*, const Value*> same_;  // what has another name
  std::unordered_map<const Value*, const Place*> places_;
  std::deque<Place> all_;
};

/// What a node's call may write to that the graph has.
struct TensorWritesOfNode {
  const Operator* op = nullptr;       // null if the node writes to no tensor by itself
  std::vector<const Value*> tensors;  // in the order of the arguments; of lists their elements
  bool is_known = true;               // false: it writes to what holds tensors that are not known
};
TensorWritesOfNode writesOfNode(const Node& node);

}  // namespace cresset
