// Which writes of a graph can be removed: all to a tensor's memory, or none.
//
// A write to memory is found by all its readers if they have places in that memory (places.h): they are made to read
// the new value. Other readers (lists, what may be this memory or other, views that can't be reversed) must not stand
// on both sides of the write: either they are made after it, or they are not used any more.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/functionalization/holders.h"
#include "cresset/functionalization/places.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// What may share memory in the graph; if so promised, tensors that come in as different inputs do not.
std::unique_ptr<AliasDb> aliasesOfCalls(Graph& graph, bool inputs_are_distinct);

/// Whether the node may do anything: it calls what is not known.
bool runsUnknown(const Node& node);
/// Whether a call may give other sizes to what it writes to.
bool mayChangeSizes(const Operator& op);

/// Which tensors that an operator reads may have elements in memory that it writes; where they may not, it raises.
enum class Overlap : uint8_t {
  Allowed,
  PairsOnly,  // as WholeOnly, but only of lists, and of those what stands at the same place; other tensors are Allowed
  WholeOnly,  // the tensor that is written itself, or one in its place
  Refused,
};
Overlap overlapOf(const Operator& writer);

/// Whether the operator writes to all tensors of its lists, and to no others.
bool writesLists(const Operator& op);
/// Whether it is one of PyTorch's that writes to lists of tensors in place, to one element after the other.
bool isForEach(const Operator& op);
/// Whether a call for lists of tensors, which goes from one element to the next, writes to one memory twice, or may
/// read for one element what it has written for an earlier one.
bool entanglesElements(const Node& node, const TensorWritesOfNode& writes, const Places& places);

/// Memory that the graph writes to through operators.
struct WrittenMemory {
  const Value* root = nullptr;
  bool is_input = false;
  std::vector<Node*> writes;  // in the order of the graph
  /// Those that may give it other sizes: of a tensor that is no view, if the graph made it.
  std::vector<Node*> resizes;
  /// Why they stay; empty if they can go.
  std::string reason;
  /// Of an input: before which node of the outermost block the input must have its new value, as that node returns
  /// memory in a way that is not followed.
  Node* closed_before = nullptr;
  /// Of all that may be this memory (AliasDb::keys).
  std::vector<MemoryKey> keys;
};

class Writes {
 public:
  Writes(Graph& graph, const Places& places, bool inputs_are_distinct);

  /// In the order of their first write.
  const std::vector<std::unique_ptr<WrittenMemory>>& all() const { return memories_; }
  /// Null if the root's memory is not written, or the writes stay.
  const WrittenMemory* removable(const Value* root) const;
  /// Whether the node's writes go.
  bool isRemovable(const Node* node) const;
  /// What it writes to, in the order of its arguments.
  const std::vector<const Value*>& tensors(const Node* node) const { return by_node_.at(node).tensors; }
  /// Whether the write may give the tensor other sizes.
  bool mayResize(const Node* node) const { return resizing_.contains(node); }
  /// Whether the node, which writes to the memory, leaves it its place on the tape, as gradients are off there.
  bool isOffTape(const Node* node, const WrittenMemory& memory) const;
  /// Whether what was made at one node can be used at the other: they run in the same state, but that gradients may be
  /// off at the second.
  bool isUsableAt(const Node* made, const Node* used) const {
    return scopes_.isWithoutGradients(scopeOf(used), scopeOf(made));
  }
  /// Whether `read` may lie in memory where `written`, which the node writes to, lies too; `as_whole`: in its place.
  bool mayOverlap(const Value* written, const Value* read, bool as_whole) const;
  /// Writes to tensors that stay, with reasons.
  const std::map<uint32_t, std::pair<const Node*, std::string>>& left() const { return left_; }

 private:
  struct Span {
    uint32_t begin, end;  // of a node with blocks, around all that is in them
  };
  void number(Block* block);
  void collect(Block* block);
  void collect(Node* node);
  std::string whyNot(const TensorWritesOfNode& writes) const;
  std::string whyNoPlace(const Value* tensor) const;
  bool isMadeWhole(const Place& place) const;
  WrittenMemory& memoryOf(const Value* root);
  void leaveTogether();
  void checkRoots();
  void checkScopes(const Value* value);
  void checkTogether();
  uint32_t scopeOf(const Node* node) const;
  void checkOutArguments();
  void findKeys();
  void findOtherWriters(Block* block);
  void findOtherWrites(const Node* node, std::span<const Location> locations, const std::string& reason);
  void disturb(const Node* node, std::vector<WrittenMemory*>& memories, const std::string& reason);
  bool mayDisturb(const Node* node, const WrittenMemory& memory) const;
  void findHolders();
  void findHolders(Block* block);
  void findHolder(const Value* value);
  void checkHolders(WrittenMemory& memory);
  void checkPart(const Value* value);
  bool isReadAcross(const Value* value, std::span<Node* const> writes) const;
  uint32_t lastUse(const Value* value) const;
  void explain();
  void leave(WrittenMemory& memory, std::string reason) const {
    if (memory.reason.empty()) memory.reason = std::move(reason);
  }

  Graph& graph_;
  const Places& places_;
  std::unique_ptr<AliasDb> aliases_;
  std::unordered_map<const Node*, Span> spans_;
  uint32_t next_ = 0;
  bool has_guards_ = false;
  StateScopes scopes_;
  std::vector<std::unique_ptr<WrittenMemory>> memories_;
  std::unordered_map<const Value*, WrittenMemory*> by_root_;
  std::vector<WrittenMemory*> inputs_;
  /// Those of which nothing was found that stands against them.
  std::unordered_map<MemoryKey, std::vector<WrittenMemory*>> by_key_;
  Holders holders_;
  struct Written {
    std::vector<const Value*> tensors;
    std::vector<WrittenMemory*> memories;  // one for each
  };
  std::unordered_map<const Node*, Written> by_node_;
  std::unordered_set<const Node*> resizing_;
  std::map<uint32_t, std::pair<const Node*, std::string>> left_;  // by place in the graph
};

}  // namespace cresset
