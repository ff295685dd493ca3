// Whether two graphs are the same program.
#pragma once

#include <string>

#include "cresset/ir/graph.h"

namespace cresset {

/// Equal inputs, nodes, attributes, types and outputs in equal order, whatever values are called and wherever constants
/// stand (a constant is compared where it is used). Types are compared as annotations say them: sizes and dtypes that a
/// pass has noted on tensors don't count. If the graphs differ, `difference` (may be null) is told where.
bool sameGraph(const Graph& a, const Graph& b, std::string* difference = nullptr);

/// The same kind and the same value, floats by their bits. Tensors and objects must be the same one.
bool sameAttribute(const Attribute& a, const Attribute& b, std::string* difference = nullptr);

}  // namespace cresset
