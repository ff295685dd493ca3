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

}  // namespace

std::optional<std::vector<BufferLayout>> layoutsOfBuffers(const Group& group, std::span<const at::Tensor> tensors) {
  const at::NoGradGuard no_grad;
  std::vector<BufferLayout> layouts;
  std::vector<at::Tensor> views;
  for (const GroupBuffer& buffer : group.buffers) {
    const at::Tensor& tensor = tensors[buffer.tensor];
    at::Tensor view = tensor;
    for (const ViewCall& call : buffer.views) {
      view = viewBy(call, view);
      if (!view.defined()) return std::nullopt;
    }
    if (!view.is_alias_of(tensor) || view.scalar_type() != tensor.scalar_type() || view.is_neg() || view.is_conj())
      return std::nullopt;
    const int64_t elements = view.storage_offset() - tensor.storage_offset();
    layouts.push_back({layoutOf(view), elements * static_cast<int64_t>(view.itemsize())});
    views.push_back(std::move(view));
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
