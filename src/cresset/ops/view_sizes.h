// Sizes of views, by numbers.
#pragma once

#include <c10/util/ArrayRef.h>
#include <c10/util/DimVector.h>

namespace cresset {

/// With the dimensions from `first` to `last`, which are there and in this order, as one.
inline c10::DimVector flattenedSizes(c10::IntArrayRef sizes, int64_t first, int64_t last) {
  c10::DimVector result(sizes.begin(), sizes.begin() + first + 1);
  for (int64_t i = first + 1; i <= last; ++i) result.back() *= sizes[static_cast<size_t>(i)];
  result.append(sizes.begin() + last + 1, sizes.end());
  return result;
}

}  // namespace cresset
