// Where the buffers of a group lie in the tensors that it is given.
#include <ATen/core/grad_mode.h>

#include "cresset/codegen/group.h"
#include "cresset/codegen/operator_check.h"
#include "cresset/ops/operator.h"

namespace cresset::codegen {

namespace {

/// An undefined tensor if the operator raises, or returns something else.
at::Tensor viewBy(const ViewCall& call, const at::Tensor& tensor) {
  Stack stack = {tensor};
  stack.insert(stack.end(), call.arguments.begin(), call.arguments.end());
  const auto result = resultOf(*call.op, std::move(stack));
  if (!result) return {};
  if (!result->isTensorList()) return result->toTensor();
  const c10::List<at::Tensor> list = result->toTensorList();
  return call.element < list.size() ? at::Tensor(list[call.element]) : at::Tensor();
}

/// In bytes.
int64_t distance(const at::Tensor& from, const at::Tensor& to) {
  return (to.storage_offset() - from.storage_offset()) * static_cast<int64_t>(to.itemsize());
}

/// The elements of the views where they lie in the tensor, whatever is a copy. Nothing if one of the views would have
/// them in an order that no strides say.
std::optional<BufferLayout> readInPlace(const GroupBuffer& buffer, const at::Tensor& tensor) {
  at::Tensor seen = tensor, memory = tensor;
  for (const ViewCall& call : buffer.views) {
    seen = viewBy(call, seen);
    if (!seen.defined()) return std::nullopt;
    const at::Tensor next = viewBy(call, memory);
    if (next.defined() && next.is_alias_of(memory)) memory = next;
    if (memory.sizes() != seen.sizes()) return std::nullopt;
  }
  BufferLayout layout{layoutOf(memory), distance(tensor, memory), {}, {}, {}};
  if (layoutOf(seen) != layout) layout.shown = layoutOf(seen);
  return layout;
}

struct CopiedBuffer {
  BufferLayout layout;
  at::Tensor view;
};

/// The views, the first of which that is a copy is made as one. Nothing if one raises, or there are several copies.
std::optional<CopiedBuffer> readFromCopy(const GroupBuffer& buffer, const at::Tensor& tensor) {
  at::Tensor view = tensor, base = tensor;
  std::optional<BufferLayout::Copy> copied;
  for (const ViewCall& call : buffer.views) {
    const at::Tensor next = viewBy(call, view);
    if (!next.defined()) return std::nullopt;
    if (!next.is_alias_of(view)) {
      const bool has_same_sizes = next.sizes() == view.sizes();
      if (copied || (!has_same_sizes && !next.is_contiguous())) return std::nullopt;
      const StridedLayout from = layoutOf(view);
      copied = {from, has_same_sizes ? layoutOf(next) : contiguousLayout(from.sizes), distance(base, view)};
      base = next;
    }
    view = next;
  }
  return CopiedBuffer{{layoutOf(view), distance(base, view), {}, std::move(copied), {}}, view};
}

bool isPlain(const at::Tensor& view, const at::Tensor& tensor) {
  return view.scalar_type() == tensor.scalar_type() && !view.is_neg() && !view.is_conj();
}

}  // namespace

std::optional<std::vector<BufferLayout>> layoutsOfBuffers(const Group& group, std::span<const at::Tensor> tensors) {
  const at::NoGradGuard no_grad;
  std::vector<BufferLayout> layouts;
  std::vector<at::Tensor> views;
  for (const GroupBuffer& buffer : group.buffers) {
    const at::Tensor& tensor = tensors[buffer.tensor];
    auto copied = readFromCopy(buffer, tensor);
    if (!copied || !isPlain(copied->view, tensor)) return std::nullopt;
    views.push_back(copied->view);
    // What is read by index, and windows, are addressed by the strides that are known here.
    std::optional<BufferLayout> in_place;
    if (copied->layout.copied && !buffer.is_source && !buffer.windows) in_place = readInPlace(buffer, tensor);
    layouts.push_back(in_place ? std::move(*in_place) : std::move(copied->layout));
  }
  for (size_t i = 0; i < views.size(); ++i) {
    const auto& windows = group.buffers[i].windows;
    if (!windows) continue;
    auto layout = layoutOfWindows(*windows, views[i], views[windows->weight]);
    if (!layout) return std::nullopt;
    static_cast<StridedLayout&>(layouts[i]) = std::move(layout->windows);
    layouts[i].padded = std::move(layout->padded);
    layouts[i].makes_channels_last = layout->makes_channels_last;
  }
  return layouts;
}

}  // namespace cresset::codegen
