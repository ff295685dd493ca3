#include "cresset/ops/call_replacements.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "cresset/ops/operator_rows.h"

namespace cresset {

namespace {

bool isTransformed() {
  return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
}

/// Whether autograd would record a result of complex numbers, which it refuses for scatters.
bool isComplexAndRecorded(const at::Tensor& self, const at::Tensor& src) {
  return self.is_complex() && src.is_complex() && self.scalar_type() == src.scalar_type() &&
         at::GradMode::is_enabled() && (self.requires_grad() || src.requires_grad());
}

/// With bounds that lie within the size. Of complex numbers that autograd records, by their real and imaginary parts.
at::Tensor scattered(
    const at::Tensor& self, const at::Tensor& src, int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (!isComplexAndRecorded(self, src)) return at::slice_scatter(self, src, dim, start, end, step);
  const auto parts = [](const at::Tensor& tensor) { return at::view_as_real(tensor.resolve_conj()); };
  const int64_t place = dim < 0 ? dim + self.dim() : dim;
  return at::view_as_complex(at::slice_scatter(parts(self), parts(src), place, start, end, step));
}

/// The rule of vmap writes `src` to each index of the dimension in turn, all of them the same one, so that a gradient
/// around it counts `src` once for each.
bool selectScatterAsSlice(std::vector<c10::IValue>& stack) {
  const c10::IValue* arguments = stack.data() + stack.size() - 4;
  const at::Tensor &self = arguments[0].toTensor(), &src = arguments[1].toTensor();
  if (!isTransformed() && !isComplexAndRecorded(self, src)) return false;
  const int64_t rank = self.dim(), dim = arguments[2].toInt();
  if (dim < -rank || dim >= rank || src.dim() != rank - 1) return false;
  const int64_t size = self.size(dim), given = arguments[3].toInt(), index = given < 0 ? given + size : given;
  if (index < 0 || index >= size) return false;
  at::Tensor result = scattered(self, src.unsqueeze(dim), dim, index, index + 1, 1);
  stack.resize(stack.size() - 4);
  stack.emplace_back(std::move(result));
  return true;
}

/// The rule of vmap takes the bounds as they are given, where a slice counts negative ones from the end, and ends at
/// the size.
bool sliceScatterWithinBounds(std::vector<c10::IValue>& stack) {
  const c10::IValue* arguments = stack.data() + stack.size() - 6;
  const at::Tensor &self = arguments[0].toTensor(), &src = arguments[1].toTensor();
  if (!isTransformed() && !isComplexAndRecorded(self, src)) return false;
  const int64_t rank = self.dim(), dim = arguments[2].toInt(), step = arguments[5].toInt();
  if (dim < -rank || dim >= rank || step <= 0) return false;
  const int64_t size = self.size(dim);
  const auto bound = [&](const c10::IValue& given, int64_t otherwise, int64_t least) {
    if (given.isNone()) return otherwise;
    const int64_t number = given.toInt();
    return std::clamp(number < 0 ? number + size : number, least, size);
  };
  const int64_t start = bound(arguments[3], 0, 0), end = bound(arguments[4], size, start);
  at::Tensor result = scattered(self, src, dim, start, end, step);
  stack.resize(stack.size() - 6);
  stack.emplace_back(std::move(result));
  return true;
}

/// vmap has no rule for it.
bool splitThenCopy(std::vector<c10::IValue>& stack) {
  if (!isTransformed()) return false;
  const c10::IValue* arguments = stack.data() + stack.size() - 3;
  std::vector<at::Tensor> parts = at::split(arguments[0].toTensor(), arguments[1].toInt(), arguments[2].toInt());
  for (at::Tensor& part : parts) part = part.clone(at::MemoryFormat::Contiguous);
  stack.resize(stack.size() - 3);
  stack.emplace_back(std::move(parts));
  return true;
}

/// Forward mode makes the tangent of a norm of all elements one of as many dimensions as they have; that of a norm of
/// all dimensions, which is the same number, is right.
at::Tensor normOfAllDims(
    const at::Tensor& self, const std::optional<at::Scalar>& p, std::optional<at::ScalarType> dtype) {
  std::vector<int64_t> dims(static_cast<size_t>(self.dim()));
  std::iota(dims.begin(), dims.end(), 0);
  return dtype ? at::norm(self, p, dims, /*keepdim=*/false, *dtype) : at::norm(self, p, dims, /*keepdim=*/false);
}

bool normOfAll(std::vector<c10::IValue>& stack, size_t num_arguments) {
  const c10::IValue* arguments = stack.data() + stack.size() - num_arguments;
  const at::Tensor& self = arguments[0].toTensor();
  if (!isTransformed() && !self._fw_grad(/*level=*/0).defined()) return false;
  const auto dtype = num_arguments == 3 ? std::optional(arguments[2].toScalarType()) : std::nullopt;
  at::Tensor result = normOfAllDims(self, arguments[1].toOptional<at::Scalar>(), dtype);
  stack.resize(stack.size() - num_arguments);
  stack.emplace_back(std::move(result));
  return true;
}

bool normByDims(std::vector<c10::IValue>& stack) {
  return normOfAll(stack, 2);
}

bool normInDtypeByDims(std::vector<c10::IValue>& stack) {
  return normOfAll(stack, 3);
}

constexpr ColumnCell<CallReplacement> kCallReplacements[] = {
#define OPERATOR(name) {name, nullptr},
#define REPLACED_BY(function) {{}, function},
#include "cresset/ops/table/table.def"
};

}  // namespace

CallReplacement replacementOf(std::string_view full_name) {
  static const auto* found_by = new auto(byOperator(kCallReplacements));
  const auto found = found_by->find(full_name);
  return found == found_by->end() ? nullptr : found->second;
}

}  // namespace cresset
