// The tensors in an operator's argument or result: a tensor, a list of tensors, a list of optional tensors.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <utility>
#include <vector>

namespace cresset::live {

/// Calls `visit(at::Tensor&)` with each defined tensor in an argument or result; it returns whether it has replaced it.
template <typename Visit>
void eachTensor(c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return;
    at::Tensor tensor = value.toTensor();
    if (visit(tensor)) value = c10::IValue(std::move(tensor));
  } else if (value.isTensorList()) {
    std::vector<at::Tensor> tensors = value.toTensorVector();
    bool changed = false;
    for (at::Tensor& tensor : tensors)
      if (tensor.defined()) changed |= visit(tensor);
    if (changed) value = c10::IValue(c10::List<at::Tensor>(tensors));
  } else if (value.isList() && !value.toListRef().empty()) {
    const auto list = value.toList();
    if (list.elementType()->kind() != c10::TypeKind::OptionalType) return;
    c10::impl::GenericList copy(list.elementType());
    bool changed = false;
    for (c10::IValue element : list.vec()) {
      if (element.isTensor() && element.toTensor().defined()) {
        at::Tensor tensor = element.toTensor();
        if (visit(tensor)) {
          changed = true;
          element = c10::IValue(std::move(tensor));
        }
      }
      copy.push_back(std::move(element));
    }
    if (changed) value = c10::IValue(copy);
  }
}

/// Calls `read(const at::Tensor&)` with each defined tensor.
template <typename Read>
void readTensors(const c10::IValue& value, const Read& read) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) read(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef())
      if (element.isTensor() && element.toTensor().defined()) read(element.toTensor());
  }
}

inline std::vector<at::Tensor> tensorsIn(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  readTensors(value, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

}  // namespace cresset::live
