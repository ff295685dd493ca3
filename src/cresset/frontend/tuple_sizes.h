// How large types of tuples may be: a tuple's type is written out wherever it stands, and tuples in tuples double it.
#pragma once

#include "cresset/ops/type_parts.h"
#include "cresset/support/source.h"

namespace cresset {

class TupleSizes {
 public:
  /// Throws UserError if the type has too many parts, those of the tuples in it counted each time that they occur, or
  /// is nested too deep. Remembers what it has counted.
  void check(const SourceRange& range, const c10::TypePtr& tuple);

 private:
  TypeParts parts_;
};

}  // namespace cresset
