#include "cresset/functionalization/sharing.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>

#include <algorithm>
#include <vector>

#include "cresset/support/error.h"

namespace cresset::live {

namespace {

bool isOneStorage(const at::Tensor& a, const at::Tensor& b) {
  if (!a.has_storage() || !b.has_storage()) return false;
  const c10::Storage &first = a.unsafeGetTensorImpl()->unsafe_storage(),
                     &second = b.unsafeGetTensorImpl()->unsafe_storage();
  if (wrapperOf(a) || wrapperOf(b)) return first.unsafeGetStorageImpl() == second.unsafeGetStorageImpl();
  return first.is_alias_of(second);
}

/// The tensors that a sparse tensor consists of; any other tensor itself.
std::vector<at::Tensor> partsOf(const at::Tensor& tensor) {
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (const auto* coordinates = dynamic_cast<at::SparseTensorImpl*>(impl))
    return {coordinates->indices(), coordinates->values()};
  if (const auto* compressed = dynamic_cast<at::SparseCsrTensorImpl*>(impl))
    return {compressed->compressed_indices(), compressed->plain_indices(), compressed->values()};
  return {tensor};
}

}  // namespace

bool isPlain(const at::Tensor& tensor) {
  return tensor.layout() == c10::kStrided && !tensor.is_quantized() && !tensor.is_nested() && !tensor._is_zerotensor();
}

bool shareStorage(const at::Tensor& a, const at::Tensor& b) {
  if (a.layout() == c10::kStrided && b.layout() == c10::kStrided) return isOneStorage(a, b);
  for (const at::Tensor& part : partsOf(a)) {
    for (const at::Tensor& other : partsOf(b))
      if (part.defined() && other.defined() && isOneStorage(part, other)) return true;
  }
  return false;
}

void noteHolder(Memory& memory, const at::Tensor& holder) {
  std::erase_if(memory.holders, [](const auto& known) { return known.expired(); });
  memory.holders.emplace_back(holder.getIntrusivePtr());
}

void noteContainer(Memory& memory, const at::Tensor& container) {
  memory.container = container;
}

void requireUnheld(const Memory& memory) {
  const bool is_held =
      std::any_of(memory.holders.begin(), memory.holders.end(), [](const auto& holder) { return !holder.expired(); });
  if (!is_held && !memory.container.defined()) return;
  throw UserError(
      "Within cresset.functionalize, a tensor can't be written that is a part of a sparse, quantized or nested tensor, "
      "which would not see it: pass a clone to what makes that tensor, or write to a clone of its part");
}

}  // namespace cresset::live
