// What is known of the values of a graph while facts are computed (facts.cpp). It may go to places at which less is
// known: a value that is written to keeps what writing can't change, and one that leaves a block is described by what
// is outside of it.
#pragma once

#include <memory>
#include <unordered_map>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/fact.h"
#include "cresset/analysis/facts.h"
#include "cresset/ir/graph.h"

namespace cresset {

bool isTensor(const Value* value);

class ValueFacts {
 public:
  ValueFacts(Graph& graph, bool with_sizes);

  const Graph& graph() const { return graph_; }
  AliasDb& memory() const { return *memory_; }
  bool withSizes() const { return with_sizes_; }
  /// Sizes are followed in the graph itself: variables are numbered by its values.
  bool hasSizes(const Value* value) const { return with_sizes_ && &value->graph() == &graph_; }
  bool isFollowed(const Value* value) const;

  TensorFacts get(const Value* value) const { return facts_.of(value); }
  /// What is known of a tensor, its sizes and strides included.
  Fact tensorFact(const Value* value) const;
  /// Of an int that is no constant.
  Size sizeOf(const Value* value) const { return hasSizes(value) ? facts_.ints[value->unique()] : Size(); }
  /// A fact of a value that leaves a block of `owner`, as those outside may say it: not by what is inside.
  Fact outside(Fact fact, const Node* owner) const;

  void set(Value* value, const TensorFacts& facts) { set(value, Fact::tensor(facts)); }
  void set(Value* value, const Fact& fact);
  /// Of an int; one that is not known is a variable of its own.
  void setInt(const Value* value, const Size& size);
  /// The node that returns the tensor has made its memory.
  void setNew(const Value* value);
  void addSubgraph(const Graph& subgraph) { facts_.subgraphs[&subgraph].resize(subgraph.numValues()); }

  GraphFacts take() { return std::move(facts_); }

 private:
  void setSizes(const Value* value, const Fact& fact, size_t rank);
  bool isInside(size_t value, const Node* owner) const;

  Graph& graph_;
  const std::shared_ptr<AliasDb> memory_;
  GraphFacts facts_;
  std::unordered_map<size_t, const Block*> blocks_;  // of values that have variables for sizes
  const bool with_sizes_;
  const TensorWrites writes_;
};

}  // namespace cresset
