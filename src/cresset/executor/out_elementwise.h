// Results of operators that go element by element. Small as most of them are, each call made here counts.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>

#include "cresset/interpreter/out_variant.h"

namespace cresset::out {

/// The result of an operator that goes element by element.
struct Elementwise {
  at::Tensor& tensor;
  bool is_ready;  // it has the sizes and strides that the kernel gives it, and all are of one dtype: nothing is cast
};

/// Whether both operands have the result's sizes and strides, and these are a new tensor's. The second may also be one
/// number, or the first. All dimensions are looked at: a jump for each would cost more.
[[gnu::always_inline]] inline bool areLike(
    const c10::TensorImpl& result, const c10::TensorImpl& first, const c10::TensorImpl& second) {
  const c10::IntArrayRef sizes = result.sizes(), strides = result.strides();
  const c10::IntArrayRef sizes_1 = first.sizes(), strides_1 = first.strides();
  const c10::IntArrayRef sizes_2 = second.sizes(), strides_2 = second.strides();
  const bool is_pair = sizes_2.size() == sizes.size();
  if (sizes_1.size() != sizes.size() || (!is_pair && !sizes_2.empty())) return false;
  int64_t differences = 0, count = 1;
  for (size_t d = sizes.size(); d-- > 0; count *= sizes[d])
    differences |= (sizes[d] ^ sizes_1[d]) | (strides[d] ^ strides_1[d]) | (strides[d] ^ count);
  if (is_pair && &second != &first) {
    for (size_t d = 0; d < sizes.size(); ++d) differences |= (sizes[d] ^ sizes_2[d]) | (strides[d] ^ strides_2[d]);
  }
  return differences == 0;
}

/// As it is, where that is what the kernel would make of it.
[[gnu::always_inline]] inline Elementwise elementwise(
    const OutArguments& arguments, const at::Tensor& a, const at::Tensor& b) {
  at::Tensor& result = arguments.rawOutput(0);
  const c10::TensorImpl &to = *result.unsafeGetTensorImpl(), &first = *a.unsafeGetTensorImpl(),
                        &second = *b.unsafeGetTensorImpl();
  if (areLike(to, first, second)) [[likely]]
    return {result, first.dtype() == to.dtype() && second.dtype() == to.dtype()};
  const bool is_known =
      OutArguments::isContiguousOf(a, a.sizes()) && (b.dim() == 0 || OutArguments::isContiguousOf(b, a.sizes()));
  return {is_known ? arguments.output(0, a.sizes()) : arguments.output(0), false};
}

/// Calls `kernel(result)`, below autograd unless that calls no operators.
template <class Kernel>
[[gnu::always_inline]] inline bool computeInto(const Elementwise& result, const Kernel& kernel) {
  if (result.is_ready) [[likely]] {
    kernel(result.tensor);
  } else {
    const at::AutoDispatchBelowADInplaceOrView below;
    kernel(result.tensor);
  }
  return true;
}

}  // namespace cresset::out
