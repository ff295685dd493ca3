// Convolutions with weights in oneDNN's own layout, over tensors whose channels are innermost in memory: what programs
// run that were optimized for inference (passes/channels_last.cpp).
//
// A convolution of a contiguous tensor with a contiguous weight makes oneDNN rearrange all three tensors at each call.
// With weights that are packed once, and activations that stay in channels-last layout from one convolution to the
// next, nothing is left to rearrange. Sums come out in another order, so bits differ from eager PyTorch's.
//
// Thread-safety: all of this may be called from any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace cresset {

/// The numbers of a convolution, one per spatial dimension.
struct ConvolutionShape {
  std::vector<int64_t> stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;

  bool operator==(const ConvolutionShape&) const = default;
};

/// A constant for graphs that holds the weight's packed form, for such a convolution: packed when it first runs.
/// Nothing if oneDNN has no kernel for it here. The same tensor has the same constant for as long as something
/// references that, so plans for several kinds of calls share it.
std::optional<at::Tensor> packedWeightOf(const at::Tensor& weight, const ConvolutionShape& shape);

/// The convolution that `packed` was made for. The packed weight is used, and the result has its channels innermost, if
/// `channels_last` says so or if PyTorch's own kernel would return such a result. Otherwise, and for arguments that
/// PyTorch refuses, that kernel runs.
at::Tensor packedConvolution(
    const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias, const at::Tensor& packed,
    bool channels_last);

/// A copy with the channels (dimension 1) innermost in memory; the tensor itself if it lies so.
at::Tensor withChannelsLast(const at::Tensor& tensor);
/// A copy with the strides of a contiguous tensor, those of dimensions of one element included; the tensor itself if it
/// has them.
at::Tensor withContiguousStrides(const at::Tensor& tensor);
/// Whether the tensor has elements and exactly the strides of a new contiguous one.
bool hasContiguousStrides(const at::Tensor& tensor);

}  // namespace cresset
