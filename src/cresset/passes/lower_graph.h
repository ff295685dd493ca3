// A method as a function of tensors: its module's attributes become inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

struct LoweredGraph {
  /// The method, inlined, without its object: its own inputs, then one input per attribute.
  std::shared_ptr<Graph> graph;
  /// Of each added input, where its value is found: "encoder.0.weight".
  std::vector<std::string> attributes;
};

/// Throws UserError, with the place, if the method sets an attribute, or needs a module for more than its attributes.
LoweredGraph lowerGraph(const Graph& method);

}  // namespace cresset
