#include "cresset/python/leaves.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>

#include <unordered_set>
#include <vector>

#include "cresset/executor/signature.h"

namespace cresset::python {

namespace {

/// Whether those of the tensors that `required` says so, and no others, require gradients, and a backward pass does no
/// more to them than to accumulate.
bool areLeaves(const std::vector<bool>& required, const py::args& tensors) {
  if (required.size() != tensors.size()) return false;
  for (size_t i = 0; i < required.size(); ++i) {
    const at::Tensor& tensor = THPVariable_Unpack(tensors[i].ptr());
    if (tensor.requires_grad() != required[i]) return false;
    if (tensor._fw_grad(0).defined()) return false;
    if (!required[i]) continue;
    const bool is_plain = tensor.layout() == at::kStrided && tensor.is_cpu() && !tensor.is_quantized() &&
                          !tensor.is_complex() && tensor.grad_dtype() == tensor.scalar_type();
    if (!is_plain || !isPlainLeaf(*tensor.unsafeGetTensorImpl())) return false;
  }
  return true;
}

/// Whether each of the first `count` tensors is in memory that no other tensor is in.
bool haveOwnMemory(size_t count, const py::args& tensors) {
  std::unordered_set<const c10::StorageImpl*> own;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = THPVariable_Unpack(tensors[i].ptr());
    if (!tensor.has_storage()) return false;
    const c10::StorageImpl* memory = tensor.storage().unsafeGetStorageImpl();
    if (i < count && !own.insert(memory).second) return false;
    if (i >= count && own.contains(memory)) return false;
  }
  return true;
}

/// Whether the objects are the same where the numbers are, and different where these are.
bool areSameObjects(const std::vector<size_t>& numbers, const py::args& objects) {
  std::vector<const PyObject*> known;
  std::unordered_set<const PyObject*> seen;
  if (numbers.size() != objects.size()) return false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const PyObject* object = objects[i].ptr();
    if (numbers[i] > known.size()) return false;
    if (numbers[i] < known.size()) {
      if (known[numbers[i]] != object) return false;
    } else {
      if (!seen.insert(object).second) return false;
      known.push_back(object);
    }
  }
  return true;
}

/// Whether nothing else has the gradient, or its memory: the plan has it in a register, which the call's arguments
/// hold, and autograd has what it is a view of for the view alone.
bool isStealable(const at::Tensor& gradient, const PyObject* object) {
  constexpr Py_ssize_t kReferences = 2;
  if (Py_REFCNT(object) > kReferences || gradient.use_count() != 1) return false;
  if (!gradient.is_view()) return gradient.storage().use_count() == 1;
  const at::TensorBase& base = gradient._base();
  return base.use_count() == 1 && gradient.storage().use_count() == 2;
}

/// What leaves without a `.grad` get for one when a backward pass has found their gradients: these, or copies of them,
/// as autograd's AccumulateGrad does.
py::list asGradients(const py::args& leaves_and_gradients) {
  const size_t count = leaves_and_gradients.size() / 2;
  py::list found;
  for (size_t i = 0; i < count; ++i) {
    const at::Tensor& leaf = THPVariable_Unpack(leaves_and_gradients[i].ptr());
    const py::handle object = leaves_and_gradients[count + i];
    if (!THPVariable_Check(object.ptr())) throw UserError("There is no gradient of a tensor that had one.");
    const at::Tensor& gradient = THPVariable_Unpack(object.ptr());
    const bool fits = gradient.layout() == at::kStrided && gradient.sizes() == leaf.sizes() &&
                      gradient.scalar_type() == leaf.scalar_type() && gradient.device() == leaf.device();
    if (!fits || gradient.requires_grad()) throw UserError("A gradient is not as the tensor is.");
    if (isStealable(gradient, object.ptr()) && torch::autograd::utils::obeys_layout_contract(gradient, leaf)) {
      found.append(
          gradient.is_view() ? py::cast(gradient.variable_data()) : py::reinterpret_borrow<py::object>(object));
    } else {
      const at::NoGradGuard no_grad;
      found.append(py::cast(torch::autograd::utils::clone_obey_contract(gradient, leaf)));
    }
  }
  return found;
}

}  // namespace

void bindLeaves(py::module_& module) {
  module.def("_are_leaves", &areLeaves);
  module.def("_are_same_objects", &areSameObjects);
  module.def("_have_own_memory", &haveOwnMemory);
  module.def("_as_gradients", &asGradients);
}

}  // namespace cresset::python
