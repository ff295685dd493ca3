// Facts about the values of a graph: dtype, rank, sizes, strides, device and requires_grad of its tensors, how they lie
// in memory and whether that is new, from the types of its inputs to all that is computed from them.
//
// What the results of an operator are like is said by the column FACTS of the operator table (analysis/fact_rule.h),
// overload by overload; of an operator without a rule nothing is known. Facts hold for all sizes: sizes are expressions
// over those of the graph's inputs, or of the value itself where no rule says more. So are strides, of those dimensions
// that have a second element. Values that are written to keep what writing can't change: dtype and device, mostly the
// rank and the layout.
//
// executor/fact_checks.h asserts facts while programs run.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/fact.h"
#include "cresset/ir/graph.h"

namespace cresset {

class AliasDb;

/// What holds while the graph runs.
struct TypeAssumptions {
  bool grad_mode = true;        // as it is when the graph is entered
  AutocastState autocast = {};  // operators may compute in other dtypes than those of their arguments
  bool usual_dispatch = true;   // no part of the dispatcher is left out
  bool operator==(const TypeAssumptions&) const = default;
};

/// What writes to a tensor may change besides its elements, and whether it requires a gradient.
enum class TensorWrites {
  Elements,  // nothing: all that write are operators such as `add_` and `copy_`
  Sizes,     // sizes and rank: `resize_`, `unsqueeze_`, a result that is given as an argument
  Anything,  // dtype, device and memory, too: set_data and set_ do, and what calls outside of the graph do is unknown
};
/// The most that something in the graph does.
TensorWrites tensorWrites(const Graph& graph);

/// What is known of the values of a graph. Of those of its subgraphs, only what is known of tensors.
struct GraphFacts {
  std::vector<TensorFacts> tensors;        // by Value::unique(); empty facts for values that are no tensors
  std::vector<std::vector<Size>> sizes;    // of tensors of known rank: a known Size per dimension
  std::vector<std::vector<Size>> strides;  // likewise
  std::vector<Size> ints;                  // of ints that are not constants: known
  std::unordered_map<const Graph*, std::vector<TensorFacts>> subgraphs;  // as `tensors`

  std::vector<TensorFacts>& tensorsOf(const Graph& graph) {
    if (subgraphs.empty()) return tensors;
    const auto found = subgraphs.find(&graph);
    return found == subgraphs.end() ? tensors : found->second;
  }
  const TensorFacts& of(const Value* value) const {
    return const_cast<GraphFacts*>(this)->tensorsOf(value->graph())[value->unique()];
  }
  /// Of a tensor of the graph itself; empty if the rank is not known, or sizes were not asked for.
  std::span<const Size> sizesOf(const Value* value) const { return at(sizes, value); }
  std::span<const Size> stridesOf(const Value* value) const { return at(strides, value); }
  bool operator==(const GraphFacts&) const = default;

 private:
  static std::span<const Size> at(const std::vector<std::vector<Size>>& all, const Value* value) {
    return value->unique() < all.size() ? std::span<const Size>(all[value->unique()]) : std::span<const Size>();
  }
};

/// All but sizes and strides. Types that are there already are believed. Whoever does not change the graph
/// asks factsOf (graph_analyses.h), which may have computed them before.
GraphFacts computeFacts(Graph& graph, const TypeAssumptions& assumptions);

/// The same, with sizes and strides. Takes about twice the time.
GraphFacts computeFactsAndSizes(Graph& graph, const TypeAssumptions& assumptions);
/// Of calls whose inputs have the sizes in the inputs' types: numbers, and one size for each symbol.
GraphFacts computeFactsOfSizedInputs(Graph& graph, const TypeAssumptions& assumptions);

}  // namespace cresset
