// Sizes and strides of pointwise operators' results, and the loops that compute them.
#pragma once

#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <optional>
#include <span>
#include <vector>

#include "cresset/codegen/kernel.h"

namespace at {
class Tensor;
}

namespace cresset::codegen {

using Sizes = c10::SmallVector<int64_t, 6>;

/// Of a tensor; strides count elements.
struct StridedLayout {
  Sizes sizes, strides;

  bool operator==(const StridedLayout&) const = default;
};

StridedLayout layoutOf(const at::Tensor& tensor);
StridedLayout contiguousLayout(Sizes sizes);
bool isNonOverlappingAndDense(const StridedLayout& layout);
/// Nothing if they can't be broadcast to each other.
std::optional<Sizes> broadcastSizes(std::span<const StridedLayout* const> operands);
/// Strides along the dimensions of `sizes`; 0 where the operand is broadcast.
Sizes broadcastStrides(const StridedLayout& operand, const Sizes& sizes);

/// What eager PyTorch gives the result of an operator on tensors of these layouts: at::TensorIterator's rules.
/// Nothing if the sizes can't be broadcast to each other.
std::optional<StridedLayout> layoutOfResult(std::span<const StridedLayout* const> operands);
/// What at::empty_like gives a tensor like this one.
StridedLayout layoutOfLike(const StridedLayout& layout);

/// What an operator does besides at::TensorIterator's rules.
struct ResultRule {
  bool has_number = false;        // one of the operands is a number, a tensor without dimensions to eager PyTorch
  bool keeps_layout = false;      // the result is laid out as at::empty_like does for the first operand
  bool is_first = false;          // and is what becomes of that, which must be dense
  bool keeps_format = false;      // contiguous or channels last, as its operand
  bool makes_contiguous = false;  // whatever the layouts of its operands
};
/// Nothing also if the result would have other sizes than the operand whose layout it keeps.
std::optional<StridedLayout> layoutOfResult(std::span<const StridedLayout> operands, const ResultRule& rule);

/// Fewer scans than this go along vectors.
constexpr int64_t kFewScans = 8;

/// A dimension that a kernel loops over, and how buffers move along it, in bytes: 0 where they are broadcast.
struct LoopDim {
  int64_t size;
  Sizes strides;  // per buffer
};

/// Loops over all elements.
struct LoopNest {
  Sizes sizes;                 // one per dimension; at least one
  std::vector<Sizes> strides;  // per buffer and dimension
  /// The same. Where nothing is reduced, buffers that the innermost loop transposes go to the next element in the loop
  /// around it: the two make tiles.
  std::vector<std::vector<Step>> steps;
  size_t num_reduced = 0;  // so many of the last dimensions are reduced, each by itself
  size_t vector_dim = 0;   // see Kernel
};

/// Whether a buffer with these strides along two dimensions goes to the next element along the first, and farther along
/// the other.
constexpr bool isTransposed(int64_t stride, int64_t other, int64_t element) {
  return stride == element && other != 0 && other != element;
}

/// What is reduced together: in logical order.
using ReducedDims = std::vector<LoopDim>;

/// As few loops as possible. `outer`: from the outermost inwards. Nothing is returned if no single loop goes over all
/// of what is reduced together, in its order. Of products vectors go along what is not reduced.
/// `num_inputs`: of the buffers, the first. `bounds`: a buffer that says from where to where the loop over what is
/// reduced goes, the same for all of a vector. `scans`: elements along it are computed one after the other.
std::optional<LoopNest> makeLoopNest(
    const std::vector<LoopDim>& outer, std::span<const ReducedDims> reduced, bool contracts,
    std::span<const at::ScalarType> dtypes, size_t num_inputs = 0, std::optional<size_t> bounds = std::nullopt,
    bool scans = false);

}  // namespace cresset::codegen
