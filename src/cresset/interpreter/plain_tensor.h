// What kernels may be given: tensors that nothing watches.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

namespace cresset {

/// Fewer elements are not worth a thread; as at::TensorIterator's.
constexpr int64_t kElementsPerThread = 32768;

/// A tensor of plain memory: no subclass, no lazy conjugation or negation, nothing that watches operators.
inline bool hasPlainMemory(const at::Tensor& tensor) {
  constexpr c10::DispatchKeySet kPlain(
      {c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutocastCPU,
       c10::DispatchKey::ADInplaceOrView});
  return kPlain.has_all(tensor.key_set());
}

/// Whether the thread calls operators and nothing else happens to the calls: no trace, dispatch mode or functorch.
inline bool callsReachKernels() {
  static constexpr auto kUsual =
      c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView});
  return (c10::impl::tls_local_dispatch_key_set().included_ - kUsual).empty();
}

/// Whether autograd is asked, by operators that the thread calls.
inline bool isAboveAutograd() {
  return !c10::impl::tls_local_dispatch_key_set().excluded_.has(c10::DispatchKey::AutogradFunctionality);
}

/// Whether operators on it record themselves on autograd's tape.
inline bool isRecorded(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->autograd_meta() && isAboveAutograd() && tensor.requires_grad() &&
         at::GradMode::is_enabled();
}

/// Whether operators on it compute gradients in forward mode.
inline bool carriesTangent(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->autograd_meta() && isAboveAutograd() && tensor._fw_grad(0).defined();
}

}  // namespace cresset
