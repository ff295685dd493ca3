// A mark of nodes: what autocast would do to the operator stands in the graph (passes/insert_autocast_casts.cpp), so it
// runs as if autocast were off.
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

inline Symbol withoutAutocastAttribute() {
  static const Symbol kName = Symbol::attr("without_autocast");
  return kName;
}

inline void markWithoutAutocast(Node& node) {
  node.setAttribute(withoutAutocastAttribute(), Attribute(int64_t(1)));
}

inline bool isWithoutAutocast(const Node& node) {
  return node.hasAttribute(withoutAutocastAttribute());
}

}  // namespace cresset
