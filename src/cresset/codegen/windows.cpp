#include "cresset/codegen/windows.h"

#include <algorithm>

#include "cresset/codegen/group.h"

namespace cresset::codegen {

namespace {

std::vector<int64_t> knownNumbers(const Node& node, const Operator& op, const char* name, size_t count) {
  std::vector<int64_t> all = knownArgument(node, op, name)->toIntVector();
  if (all.size() == 1) all.resize(count, all[0]);
  if (all.size() != count) throw Unsupported{op.fullName() + " with such a " + name};
  return all;
}

/// What is put before and after a spatial dimension.
std::pair<int64_t, int64_t> paddingOf(const Windows& windows, size_t dim, int64_t kernel) {
  if (!windows.keeps_sizes) return {windows.padding[dim], windows.padding[dim]};
  const int64_t total = windows.dilation[dim] * (kernel - 1);
  return {total / 2, total - total / 2};
}

/// As ATen's convolutions see it: images, of which those of one spatial dimension have a height of 1.
bool isChannelsLast(at::Tensor tensor, size_t num_dims) {
  if (static_cast<size_t>(tensor.dim()) == num_dims + 1) tensor = tensor.unsqueeze(0);
  if (num_dims == 1) tensor = tensor.unsqueeze(2);
  return tensor.suggest_memory_format() != c10::MemoryFormat::Contiguous;
}

/// The tensor as a part of one with zeros around it.
PaddedLayout padded(const at::Tensor& input, const Sizes& before, Sizes sizes) {
  PaddedLayout layout;
  layout.inner = layoutOf(input);
  layout.whole = contiguousLayout(std::move(sizes));
  for (size_t d = 0; d < before.size(); ++d) layout.begin += before[d] * layout.whole.strides[d];
  return layout;
}

}  // namespace

Windows windowsOf(const Node& node, const Operator& op, size_t num_dims) {
  if (const auto transposed = knownArgument(node, op, "transposed"); transposed && transposed->toBool())
    throw Unsupported{op.fullName() + " that is transposed"};
  Windows windows;
  windows.stride = knownNumbers(node, op, "stride", num_dims);
  windows.dilation = knownNumbers(node, op, "dilation", num_dims);
  const auto isPositive = [](int64_t number) { return number > 0; };
  if (!std::ranges::all_of(windows.stride, isPositive) || !std::ranges::all_of(windows.dilation, isPositive))
    throw Unsupported{op.fullName() + " raises for its stride or dilation"};
  windows.groups = knownArgument(node, op, "groups")->toInt();
  if (const auto padding = knownArgument(node, op, "padding"); padding->isString()) {
    windows.keeps_sizes = padding->toStringRef() == "same";
    windows.padding.resize(num_dims);
  } else {
    windows.padding = knownNumbers(node, op, "padding", num_dims);
  }
  return windows;
}

std::optional<WindowsLayout> layoutOfWindows(
    const Windows& windows, const at::Tensor& input, const at::Tensor& weight) {
  const size_t num_dims = windows.numDims();
  const auto num_leading = static_cast<size_t>(input.dim()) - num_dims, channels = num_leading - 1;
  const bool has_groups = windows.groups != 1;
  if (has_groups && input.size(static_cast<int64_t>(channels)) != windows.groups) return std::nullopt;
  // A vector is made contiguous before it becomes an image.
  const bool is_channels_last = isChannelsLast(weight, num_dims) || (num_dims > 1 && isChannelsLast(input, num_dims));
  if (has_groups && is_channels_last) return std::nullopt;
  Sizes sizes(input.sizes().begin(), input.sizes().end()), before(sizes.size(), 0), counts, kernels;
  bool is_padded = false;
  for (size_t i = 0; i < num_dims; ++i) {
    kernels.push_back(weight.size(static_cast<int64_t>(2 + i)));
    const auto [front, back] = paddingOf(windows, i, kernels[i]);
    if (front < 0 || back < 0) return std::nullopt;
    before[num_leading + i] = front;
    int64_t& size = sizes[num_leading + i];
    size += front + back;
    is_padded = is_padded || front + back > 0;
    const int64_t span = windows.dilation[i] * (kernels[i] - 1) + 1;
    if (size < span) return std::nullopt;
    counts.push_back((size - span) / windows.stride[i] + 1);
  }
  WindowsLayout layout;
  layout.makes_channels_last = is_channels_last;
  Sizes strides(input.strides().begin(), input.strides().end());
  if (is_padded) {
    layout.padded = padded(input, before, sizes);
    strides = layout.padded->whole.strides;
  }
  const auto add = [&](int64_t size, int64_t stride) {
    layout.windows.sizes.push_back(size);
    layout.windows.strides.push_back(stride);
  };
  for (size_t d = 0; d < channels; ++d) add(sizes[d], strides[d]);
  if (has_groups) add(sizes[channels], strides[channels]);
  for (size_t i = 0; i < num_dims; ++i) add(counts[i], strides[num_leading + i] * windows.stride[i]);
  if (!has_groups) add(sizes[channels], strides[channels]);
  for (size_t i = 0; i < num_dims; ++i) add(kernels[i], strides[num_leading + i] * windows.dilation[i]);
  return layout;
}

StridedLayout channelsLastLayout(Sizes sizes, size_t num_dims) {
  StridedLayout layout{sizes, Sizes(sizes.size(), 1)};
  const size_t channels = sizes.size() - num_dims - 1;
  int64_t stride = sizes[channels];
  for (size_t d = sizes.size(); d-- > 0;) {
    if (d == channels) continue;
    layout.strides[d] = stride;
    stride *= sizes[d];
  }
  return layout;
}

}  // namespace cresset::codegen
