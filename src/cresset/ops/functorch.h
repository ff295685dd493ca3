// Tensors that transforms of torch.func have wrapped.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/TensorWrapper.h>
#include <c10/core/DispatchKeySet.h>

namespace cresset {

/// Of which a wrapped tensor has one.
inline constexpr c10::DispatchKeySet kFunctorchWrappers(
    {c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::FuncTorchGradWrapper});

inline bool isOfFunctorch(const at::Tensor& tensor) {
  return tensor.key_set().has_any(kFunctorchWrappers);
}

/// The tensor with memory, of all samples, that is wrapped; the tensor itself if it is not.
inline at::Tensor withoutTransforms(at::Tensor tensor) {
  while (true) {
    if (const auto* batched = at::functorch::maybeGetBatchedImpl(tensor)) {
      tensor = batched->value();
    } else if (const auto* wrapper = at::functorch::maybeGetTensorWrapper(tensor)) {
      tensor = wrapper->value();
    } else {
      return tensor;
    }
  }
}

}  // namespace cresset
