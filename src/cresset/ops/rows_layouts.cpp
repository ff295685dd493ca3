// Where tensors change their layout, and convolutions between: what passes/channels_last.cpp writes into plans.
#include "cresset/ops/packed_convolution.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"

namespace cresset {

namespace {

using at::Tensor;

/// Whether a program that computes in contiguous tensors, and has these for a start, is to compute in channels-last
/// layout: not for more than `limit` elements that come in.
bool takesChannelsLast(const std::vector<Tensor>& tensors, int64_t limit) {
  int64_t count = 0;
  for (const Tensor& tensor : tensors) {
    if (!hasContiguousStrides(tensor)) return false;
    count += tensor.numel();
  }
  return count <= limit;
}

constexpr Row kLayoutRows[] = {
    {"cresset::takes_channels_last(Tensor[] tensors, int limit) -> bool",
     kernel([](const std::vector<Tensor>& tensors, int64_t limit) { return takesChannelsLast(tensors, limit); }),
     Trait::NeverRaises, Restriction::Internal},
    {"cresset::channels_last(Tensor(a) self, bool wanted) -> Tensor(a)",
     kernel([](const Tensor& self, bool wanted) { return wanted ? withChannelsLast(self) : self; }),
     Trait::MayShareArguments, Restriction::Internal},
    {"cresset::contiguous(Tensor(a) self, bool wanted) -> Tensor(a)",
     kernel([](const Tensor& self, bool wanted) { return wanted ? withContiguousStrides(self) : self; }),
     Trait::MayShareArguments, Restriction::Internal},
    {"cresset::convolution(Tensor input, Tensor weight, Tensor? bias, Tensor packed, bool channels_last) -> Tensor",
     kernel([](const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Tensor& packed,
               bool channels_last) { return packedConvolution(input, weight, bias, packed, channels_last); }),
     Trait::None, Restriction::Internal},
};

}  // namespace

std::span<const Row> layoutRows() {
  return kLayoutRows;
}

}  // namespace cresset
