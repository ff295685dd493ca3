// Sizes and strides of pointwise operators' results, and the loops that compute them.
#pragma once

#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <optional>
#include <span>
#include <vector>

#include "cresset/codegen/kernel.h"

namespace cresset::codegen {

using Sizes = c10::SmallVector<int64_t, 6>;

/// Of a tensor; strides count elements.
struct StridedLayout {
  Sizes sizes, strides;

  bool operator==(const StridedLayout&) const = default;
};

StridedLayout contiguousLayout(Sizes sizes);

/// What eager PyTorch gives the result of an operator on tensors of these layouts: at::TensorIterator's rules.
/// Nothing if the sizes can't be broadcast to each other.
std::optional<StridedLayout> layoutOfResult(std::span<const StridedLayout* const> operands);

/// Loops over all elements: as few as possible, the innermost along the first buffer's memory. Strides are in bytes.
struct LoopNest {
  Sizes sizes;                           // one per dimension; at least one
  std::vector<Sizes> strides;            // per buffer and dimension
  std::vector<std::vector<Step>> steps;  // the same
};

/// For buffers that are broadcast to `sizes`; `order` is the buffer whose memory decides, one that is not broadcast.
LoopNest makeLoopNest(
    const Sizes& sizes, std::span<const StridedLayout* const> buffers, std::span<const at::ScalarType> dtypes,
    size_t order);

}  // namespace cresset::codegen
