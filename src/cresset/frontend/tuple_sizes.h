// How large types of tuples may be: a tuple's type is written out wherever it stands, and tuples in tuples double it.
#pragma once

#include <ATen/core/jit_type.h>

#include <cstddef>
#include <unordered_map>

#include "cresset/support/source.h"

namespace cresset {

class TupleSizes {
 public:
  /// Throws UserError if the type has too many parts, those of the tuples in it counted each time that they occur, or
  /// is nested too deep. Remembers what it has counted.
  void check(const SourceRange& range, const c10::TypePtr& tuple);

 private:
  struct Size {
    c10::TypePtr type;  // kept, as it is known by its address
    size_t parts = 1, depth = 0;
  };
  Size sizeOf(const c10::TypePtr& type);

  std::unordered_map<const c10::Type*, Size> known_;
};

}  // namespace cresset
