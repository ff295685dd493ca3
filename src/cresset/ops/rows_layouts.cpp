// Where tensors change their layout, and convolutions between: what passes/channels_last.cpp writes into plans. Sizes
// and orders of dimensions of views, for the column COPY. Where operands lie in what is written, for functional graphs.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/detach_copy.h>
#include <c10/core/WrapDimMinimal.h>

#include <algorithm>
#include <utility>

#include "cresset/ops/functorch.h"
#include "cresset/ops/packed_convolution.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/ops/tensor_overlap.h"
#include "cresset/ops/view_sizes.h"

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

std::string textOf(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

/// The order of dimensions that movedim makes: those of `source` go to `destination`, the others keep their order.
std::vector<int64_t> movedDims(
    const Tensor& self, const std::vector<int64_t>& source, const std::vector<int64_t>& destination) {
  const int64_t rank = self.dim();
  if (source.size() != destination.size()) {
    fail(
        "movedim: Invalid source or destination dims: source (" + textOf(source) +
        " dims) should contain the same number of dims as destination (" + textOf(destination) + " dims)");
  }
  std::vector<int64_t> order(static_cast<size_t>(rank), -1);
  std::vector<bool> taken(static_cast<size_t>(rank));
  for (size_t i = 0; i < source.size() && rank > 0; ++i) {
    const auto from = static_cast<size_t>(c10::maybe_wrap_dim(source[i], rank));
    const auto to = static_cast<size_t>(c10::maybe_wrap_dim(destination[i], rank));
    if (taken[from]) fail("movedim: repeated dim in `source` (" + textOf(source) + ")");
    if (order[to] >= 0) fail("movedim: repeated dim in `destination` (" + textOf(destination) + ")");
    taken[from] = true;
    order[to] = static_cast<int64_t>(from);
  }
  auto place = order.begin();
  for (size_t dim = 0; dim < taken.size(); ++dim) {
    if (taken[dim]) continue;
    place = std::find(place, order.end(), -1);
    *place = static_cast<int64_t>(dim);
  }
  return order;
}

std::vector<int64_t> sizesOfFlatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  if (self.dim() == 0) return {1};
  const int64_t start = c10::maybe_wrap_dim(start_dim, self.dim()), end = c10::maybe_wrap_dim(end_dim, self.dim());
  if (start > end) fail("flatten() has invalid args: start_dim cannot come after end_dim");
  const c10::DimVector sizes = flattenedSizes(self.sizes(), start, end);
  return {sizes.begin(), sizes.end()};
}

std::vector<int64_t> unflattenedSizes(const Tensor& self, int64_t dim, std::vector<int64_t> parts) {
  const int64_t place = c10::maybe_wrap_dim(dim, self.dim());
  std::vector<int64_t> sizes = self.sizes().vec();
  const int64_t length = sizes.empty() ? 1 : sizes[static_cast<size_t>(place)];
  const std::string given = textOf(parts);
  const auto open = std::find(parts.begin(), parts.end(), -1);
  int64_t product = 1;
  bool fits = true;
  for (auto part = parts.begin(); part != parts.end(); ++part)
    if (part != open) fits &= *part >= 0 && !__builtin_mul_overflow(product, *part, &product);
  if (open != parts.end()) {
    fits &= product > 0 && length % product == 0;
    if (fits) *open = length / product;
  } else {
    fits &= product == length;
  }
  if (!fits) {
    fail(
        "unflatten: Provided sizes " + given + " don't multiply up to the size of dim " + std::to_string(dim) + " (" +
        std::to_string(length) + ") in the input tensor");
  }
  if (!sizes.empty()) sizes.erase(sizes.begin() + place);
  sizes.insert(sizes.begin() + place, parts.begin(), parts.end());
  return sizes;
}

void checkOverlap(const Tensor& written, const Tensor& read, bool may_be_same) {
  TORCH_CHECK(!isOverlapRefused(withoutTransforms(written), withoutTransforms(read), may_be_same), kOverlapError);
}

constexpr Row kLayoutRows[] = {
    // PyTorch's has no derivative, and raises where one would be recorded, or a tangent computed.
    {"cresset::detach_copy(Tensor self) -> Tensor", kernel([](const Tensor& self) {
       const at::NoGradGuard off;
       const c10::AutoFwGradMode no_tangents(false);
       return at::detach_copy(self);
     })},
    // The errors of operators that write, which their functional forms don't have.
    {"cresset::check_overlap(Tensor written, Tensor read, bool may_be_same) -> ()",
     kernel(
         [](const Tensor& written, const Tensor& read, bool may_be_same) { checkOverlap(written, read, may_be_same); }),
     kEffect},
    {"cresset::moved_dims(Tensor self, int[] source, int[] destination) -> int[]",
     kernel([](const Tensor& self, const std::vector<int64_t>& source, const std::vector<int64_t>& destination) {
       return movedDims(self, source, destination);
     })},
    {"cresset::flattened_sizes(Tensor self, int start_dim, int end_dim) -> int[]",
     kernel([](const Tensor& self, int64_t start_dim, int64_t end_dim) {
       return sizesOfFlatten(self, start_dim, end_dim);
     })},
    {"cresset::unflattened_sizes(Tensor self, int dim, int[] sizes) -> int[]",
     kernel([](const Tensor& self, int64_t dim, const std::vector<int64_t>& sizes) {
       return unflattenedSizes(self, dim, sizes);
     })},
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
