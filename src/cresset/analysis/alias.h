// What may share memory, and what may be moved: facts about one graph, for passes that change the order of nodes,
// remove them or put others in their place.
//
// Two values *alias* if a write to one may show in the other: tensors that share storage, one list under two names.
// They *contain* an alias if something reached from one (an element, an attribute) aliases something reached from the
// other. Answers are about all executions of the graph at once (no order, no paths), and err on the side of "may".
//
// A subgraph (ir/subgraph.h) is seen through, as a block is: its values can be asked about, too.
//
// What operators do comes from their schemas: `(a)` on an argument and a result says that they may share memory, `(a!)`
// that it is written to, and a result without annotation is fresh. Cresset's own rows only reach what their arguments
// reach. Calls that are not inlined, forks and operators of which nothing is known may do anything to what they can
// reach. Values from outside (inputs, attributes of inputs, constants) may all alias each other, as far as their types
// allow, unless setMemory says of inputs that they don't.
//
// The analysis takes time in proportion to the graph (points_to.h says why). It describes the graph as it was; moves
// made through it keep it true, other changes need a new one: graph_analyses.h keeps one until then. In a graph that
// writes to nothing, most questions have their answer without it (nothing has writers): who leaves the graph as it is
// while asking may let it wait for the first question that needs it.
//
// Thread-safety: none.
#pragma once

#include <ATen/core/alias_info.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/points_to.h"
#include "cresset/ir/graph.h"

namespace cresset {

class Operator;    // ops/operator.h
struct Structure;  // ir/structure.h

/// Tells the analysis that tensors from outside share no memory with each other: of those that `node` defines (inputs
/// of the graph, for `graph.block()->paramNode()`; elements, for prim::TupleUnpack), the i-th is in memory of this
/// number, -1 where nothing is known or it is no tensor. Tensors of different numbers in one graph share nothing; any
/// of them may share memory with all else from outside.
///
/// Of a prim::GetAttr: the attribute is a tensor, or a container of numbers or text, that nothing has but who reads the
/// attribute, nothing else from outside either; those of one number are the same. Without numbers: forgets them.
void setMemory(Node& node, const std::vector<int64_t>& numbers);

/// The operator that the node calls; null if it calls none, or one of which is not known what it does to memory: a
/// function of the host may do anything to what it can reach.
const Operator* knownOperator(const Node& node);

/// Whether what the operator returns there is in memory that nothing else has: made by the operator, shared with no
/// argument and with no other result.
bool returnsNewMemory(const Operator& op, size_t result);

/// See AliasDb::keys.
using MemoryKey = uint64_t;

class AliasDb {
 public:
  enum class When { AtOnce, WhenNeeded };
  /// WhenNeeded: the graph does not change as long as questions are asked.
  explicit AliasDb(Graph& graph, When when = When::AtOnce);
  ~AliasDb();
  /// If it waits for a question: waits no longer.
  void analyzeNow();

  bool mayAlias(const Value* a, const Value* b);
  bool mayAlias(std::span<Value* const> a, std::span<Value* const> b);
  bool mayContainAlias(const Value* a, const Value* b);
  bool mayContainAlias(std::span<Value* const> a, std::span<Value* const> b);
  /// Whether `value` may be the very memory that the node of `made` makes, as far as the graph shows: not by a way
  /// through what is outside of it, on which mayAlias has to suspect everything.
  bool mayBe(const Value* value, const Value* made);
  /// Whether the value may be memory that is held outside of the graph too.
  bool mayAliasWorld(const Value* value);
  /// Whether the value, or something reached from it, may be returned or kept outside of the graph.
  bool escapes(const Value* value);

  /// Whether some node of the graph, or something outside of it that a node lets run, may write to the value's memory.
  bool hasWriters(const Value* value);
  /// Whether some node changes elements of what is reached from the value although its schema denies it (column UPDATES
  /// of the operator table: statistics). That is no writer: dtype, sizes and gradients stay. Two reads around such a
  /// node differ all the same.
  bool hasUpdates(const Value* value);
  bool readsUpdated(const Node* node);
  /// Whether anything that the node takes, or returns, has writers.
  bool hasInputWriters(const Node* node);
  bool hasOutputWriters(const Node* node);
  bool hasWriters(const Node* node) { return hasInputWriters(node) || hasOutputWriters(node); }
  /// Whether something that the node, or a node in its blocks, reads may be written to by some node of the graph.
  bool readsWritten(const Node* node);
  /// Whether the node, or a node in its blocks, writes to memory.
  bool isMutable(const Node* node);
  /// Whether it writes to the memory of one of these, or to what is reached from them.
  bool writesToAlias(const Node* node, std::span<Value* const> values);
  /// Whether the node does something that others can tell apart from its results: writes to memory from outside,
  /// prints, draws random numbers, calls what is unknown.
  bool hasSideEffects(const Node* node);

  /// Whether executing the two in the other order could be told apart: one writes what the other reads or writes, both
  /// have effects that keep their order, or one may raise an exception and the other has effects that would show then.
  /// Two that may both raise do not conflict: who moves one past the other has to ask for that, too (mayRaise).
  bool conflict(const Node* a, const Node* b);

  /// Moves `node` to directly after (before) `place`, in the same block, together with the nodes in between that depend
  /// on it (on which it depends). False, and nothing moves, if that would change what the graph does.
  bool moveAfterTopologicallyValid(Node* node, Node* place);
  bool moveBeforeTopologicallyValid(Node* node, Node* place);
  bool couldMoveAfterTopologically(Node* node, Node* place);
  bool couldMoveBeforeTopologically(Node* node, Node* place);

  // Memory itself, for passes that follow what of it is needed. Locations that may be the same memory are equal, or
  // both have escaped.
  /// What is reached from the value, its own memory included; sorted.
  std::vector<Location> reached(const Value* value);
  /// Memory that the node, or a node in its blocks, writes to; objects whose attributes it sets included.
  std::vector<Location> written(const Node* node);

  /// For passes that would ask about all pairs: two locations may be the same memory if and only if a key of the one is
  /// a partner of the other. Few locations have more than two of each.
  std::vector<MemoryKey> keys(Location location);
  std::vector<MemoryKey> partners(Location location);
  /// Whether the node, or a node in its blocks, may write to whatever has escaped.
  bool writesAnything(const Node* node) { return changes(node).anything; }

  /// One line per value and per writing node.
  std::string toString();
  /// What it says otherwise than `other`, an analysis of the same graph; empty if nothing.
  std::string differenceFrom(AliasDb& other);
  /// For when only types of tensors have changed: which nodes may raise has to be found again.
  void forgetEffects() { effects_.clear(); }

  /// How many steps the analysis took, for tests of how it grows; 0 while none was needed.
  size_t numSteps() const { return memory_.numSteps(); }

 private:
  /// What executing a node changes, in memory and beyond.
  struct Changes {
    std::vector<Location> writes;   // sorted
    std::vector<Location> updates;  // of an operator: those of `writes` of which its schema says nothing
    /// Slots of objects that are written, instead of the whole object.
    std::vector<std::pair<Location, Field>> slot_writes;
    bool anything = false;  // may read and write whatever has escaped
    bool ordered = false;   // keeps its place among its like: prints, warnings, random numbers, calls
  };
  /// And what it depends on. Most questions are about changes, and most nodes change nothing: so this is found apart.
  struct Effects : Changes {
    std::vector<Location> reads;
    std::vector<std::pair<Location, Field>> slot_reads;
    bool raises = false;  // may throw
  };

  /// Locations, and the classes of those that may be memory of other locations, from outside.
  struct LocationSet {
    std::unordered_set<Location> locations;
    std::unordered_set<ClassId> worlds, escaped;
  };
  void add(LocationSet& set, Location location);
  bool mayMeet(const LocationSet& set, Location location);

  Variable variableOf(const Value* value);
  /// Where the variable of a value of the graph, or of a subgraph that has been analyzed, is kept; null of others.
  Variable* placeOf(const Value* value);
  void analyze();
  void analyze(Block* block);
  void analyzeNode(Node* node);
  void analyzeStructural(Node* node, const Structure& structure);
  void analyzeHolder(Node* node);
  void analyzeElements(Node* node);
  void analyzeSlice(Node* node);
  void analyzeBodies(Node* node);
  void analyzeLoop(Node* node);
  void analyzeSubgraph(Node* node);
  void analyzeRow(Node* node, const Operator& op);
  void analyzeOperator(Node* node, const Operator& op);
  void analyzeUnknown(Node* node);
  void makeFresh(Value* value);
  /// Where a location comes from, for toString: what a value is, or what it holds at some depth.
  struct Site {
    const Value* value;
    int depth = 0;
    Site inside() const { return {value, depth + 1}; }
  };
  /// A location of each of the type's classes.
  void addFresh(Variable to, const c10::TypePtr& type, Site site);
  /// Containers that a row makes inside of the container that it returns: the tuples of `d.items()`, the inner lists of
  /// `x.tolist()`. What they hold was reached from the row's arguments.
  void addFreshInside(Variable holder, const c10::TypePtr& type, Variable reached, Site site);
  /// Lets `to` be the arguments that share an alias set with `info`, or the elements of lists that do. False if none
  /// does.
  bool shareWithArguments(const Node* node, const Operator& op, const c10::AliasInfo& info, Variable to);
  /// The slot of the attribute that prim::GetAttr or prim::SetAttr names.
  static Field attributeSlot(const Node* node);
  Variable define(Value* value);
  /// What setMemory has said of the value's memory; false if nothing.
  bool giveKnownMemory(const Value* value);
  const Changes& changes(const Node* node);
  const Effects& effects(const Node* node);
  void collectChanges(const Node* node, Changes& into);
  void collectReads(const Node* node, Effects& into);
  void collectOperatorReads(const Node* node, const Operator& op, Effects& into);
  void addLocations(std::vector<Location>& to, const Value* value);
  void addReached(std::vector<Location>& to, const Value* value);
  bool showsOutside(const Changes& changes);
  static bool mayWriteIn(const Block* block);
  void findWriters();
  void findWriters(Block* block);
  /// Whether nothing in the graph writes to anything.
  bool writesNothing();
  bool isSlotWritten(Location object, Field slot);
  bool isWritten(Location location);
  const std::unordered_set<Location>& returned();
  bool tryMove(Node* node, Node* place, bool after, bool do_it);
  void describe(const Block* block, std::string& text);
  std::string differenceFrom(AliasDb& other, const Block* block);
  /// The same for two analyses of one graph: what is outside of the graph is numbered in the order of questions, and is
  /// named by its class here.
  std::vector<std::string> namesForComparison(const std::vector<Location>& locations);
  std::string describeLocations(const std::vector<Location>& locations);

  Graph& graph_;
  PointsTo memory_;
  std::vector<Variable> variables_;  // by Value::unique()
  /// Of what stands in the graph's subgraphs.
  std::unordered_map<const Graph*, std::vector<Variable>> inner_variables_;
  std::map<std::pair<int64_t, ClassId>, Location> known_memory_;  // by setMemory's numbers
  std::unordered_map<const Node*, Changes> changes_;              // of nodes that may change something
  std::unordered_map<const Node*, Effects> effects_;
  std::vector<std::pair<Location, Site>> sites_;
  LocationSet written_, updated_;
  std::unordered_set<Location> written_wholes_;
  std::unordered_map<Field, std::unordered_set<Location>> written_slots_;
  std::vector<const Value*> bailout_inputs_;              // what the unoptimized program goes on with
  std::optional<std::unordered_set<Location>> returned_;  // what is reached from the graph's outputs and from these
  bool analyzed_ = false;
  bool anything_written_ = false;
  bool writers_known_ = false;
};

}  // namespace cresset
