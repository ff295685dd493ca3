// Whether a structural node may be left out where another one computed the same.
#pragma once

#include <ATen/core/jit_type.h>

#include "cresset/ir/structure.h"

namespace cresset {

/// Whether a node that calls no operator computes the same again from the same inputs, as long as nothing is written:
/// only the identity of a tuple or list that it makes tells the two apart.
inline bool isRepeatable(const Node& node) {
  switch (memoryOf(node, Memory::Anything)) {
    case Memory::Element:
    case Memory::Slice:
    case Memory::Same:
      return true;
    case Memory::Holder: {
      const auto kind = node.output()->type()->kind();
      return kind == c10::TypeKind::TupleType || kind == c10::TypeKind::ListType;
    }
    case Memory::None:
      return !node.inputs().empty();
    default:
      return false;
  }
}

/// Whether the node returns what existed before: an element of a container, or its input.
inline bool returnsExistingValue(const Node& node) {
  const Memory memory = memoryOf(node, Memory::Anything);
  return memory == Memory::Element || memory == Memory::Same;
}

}  // namespace cresset
