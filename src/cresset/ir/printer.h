// Graphs as text. The form is TorchScript's; parseGraph(print(g)) is the same graph.
//
// Where TorchScript's own listings lose something, the text here says more: a graph in an attribute called other than
// Subgraph stands as a section too (`f=prim::x_0`); an empty list attribute of other than ints names its kind
// (`[]float`, `[]str`, …); bytes that aren't ASCII are printed so that they read back; a tensor that is not a single
// element as its type says stands in the constant table; named tuples show their names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cresset/ir/graph.h"

namespace c10 {
struct IValue;
}

namespace cresset {

/// Constants that text can't hold (tensors of more than one element, objects, …), printed as `CONSTANTS.c0`.
using ConstantTable = std::vector<c10::IValue>;

struct PrintOptions {
  bool source_ranges = true;           // `# model.py:7:4` after each node that has a range
  ConstantTable* constants = nullptr;  // filled by the printer; without it such constants print as <Tensor>, <Object> …
  const Node* note_at = nullptr;       // a node, or an end of a block, that gets `note` on the line under it
  std::string note;
  /// Gets, for each node that is printed, where in the text it starts.
  std::vector<std::pair<size_t, const Node*>>* offsets = nullptr;
};

std::string toString(const Graph& graph, PrintOptions options = {});
/// One node, its blocks included.
std::string toString(const Node& node, PrintOptions options = {});
std::string toString(const Block& block, PrintOptions options = {});
/// As IR text writes types: "int[]", "Tensor?", "Dict(str, Tensor)", "Float(2, *, strides=[4, 1], requires_grad=0,
/// device=cpu)".
std::string toString(const c10::Type& type);

}  // namespace cresset
