// Convolutions as products: each element of the result sums what the weight holds times a window of the input.
//
//   input b c x+u  (3, 5, 9)   weight o c u  (4, 5, 3), stride 2    windows b x c u  (3, 4, 5, 3)   result b o x
//
// Windows are a view of the input, with dimensions that overlap; of the padded input if there is padding.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "cresset/codegen/layout.h"
#include "cresset/ir/graph.h"
#include "cresset/ops/operator.h"

namespace cresset::codegen {

/// The numbers of a convolution, one per spatial dimension.
struct Windows {
  size_t weight = 0;  // a buffer of the group
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;        // or one per channel
  bool keeps_sizes = false;  // padding="same"

  size_t numDims() const { return stride.size(); }
};

/// A tensor within a larger one, which is zero around it.
struct PaddedLayout {
  StridedLayout inner, whole;
  int64_t begin = 0;  // of the inner one, in elements
};

struct WindowsLayout {
  std::optional<PaddedLayout> padded;
  StridedLayout windows;
  bool makes_channels_last = false;  // the result has its channels innermost
};

/// Of a convolution in so many dimensions. Throws Unsupported (scalar_body.h) if its numbers are not known, or it is
/// none that is a product.
Windows windowsOf(const Node& node, const Operator& op, size_t num_dims);

/// Nothing if the operator raises for tensors of these sizes, or it is not known in which layout its result lies.
std::optional<WindowsLayout> layoutOfWindows(const Windows& windows, const at::Tensor& input, const at::Tensor& weight);
/// Of a result of such sizes, in so many spatial dimensions, with its channels innermost.
StridedLayout channelsLastLayout(Sizes sizes, size_t num_dims);

}  // namespace cresset::codegen
