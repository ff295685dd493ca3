#include "cresset/ops/call_replacements.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Metaprogramming.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "cresset/ops/operator_rows.h"

namespace cresset {

namespace {

bool isTransformed() {
  return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
}

/// Whether autograd would record a result of complex numbers, which it refuses for scatters and copies of views.
bool isComplexAndRecorded(const at::Tensor& self) {
  return self.is_complex() && at::GradMode::is_enabled() && self.requires_grad();
}
bool isComplexAndRecorded(const at::Tensor& self, const at::Tensor& src) {
  return self.is_complex() && self.scalar_type() == src.scalar_type() &&
         (isComplexAndRecorded(self) || isComplexAndRecorded(src));
}

at::Tensor partsOf(const at::Tensor& complex) {
  return at::view_as_real(complex.resolve_conj());
}

/// With bounds that lie within the size. Of complex numbers that autograd records, by their real and imaginary parts.
at::Tensor scattered(
    const at::Tensor& self, const at::Tensor& src, int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (!isComplexAndRecorded(self, src)) return at::slice_scatter(self, src, dim, start, end, step);
  const int64_t place = dim < 0 ? dim + self.dim() : dim;
  return at::view_as_complex(at::slice_scatter(partsOf(self), partsOf(src), place, start, end, step));
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

bool diagonalScatterByParts(std::vector<c10::IValue>& stack) {
  const c10::IValue* arguments = stack.data() + stack.size() - 5;
  const at::Tensor &self = arguments[0].toTensor(), &src = arguments[1].toTensor();
  if (!isComplexAndRecorded(self, src)) return false;
  const auto place = [&](const c10::IValue& dim) { return dim.toInt() < 0 ? dim.toInt() + self.dim() : dim.toInt(); };
  // The diagonal is the last dimension of `src`; of the parts it comes after what tells real from imaginary.
  const at::Tensor diagonal = partsOf(src).movedim(-1, -2);
  at::Tensor result = at::view_as_complex(
      at::diagonal_scatter(partsOf(self), diagonal, arguments[2].toInt(), place(arguments[3]), place(arguments[4])));
  stack.resize(stack.size() - 5);
  stack.emplace_back(std::move(result));
  return true;
}

/// A copy of a view, as the view and a copy of that.
template <class View>
bool callViewThenCopy(std::vector<c10::IValue>& stack) {
  static const c10::OperatorHandle view =
      c10::Dispatcher::singleton().findSchemaOrThrow(View::name, View::overload_name);
  view.callBoxed(&stack);
  const auto copied = [](const at::Tensor& tensor) { return tensor.clone(at::MemoryFormat::Contiguous); };
  if (stack.back().isTensor()) {
    stack.back() = copied(stack.back().toTensor());
  } else {
    std::vector<at::Tensor> parts = stack.back().toTensorVector();
    for (at::Tensor& part : parts) part = copied(part);
    stack.back() = std::move(parts);
  }
  return true;
}

template <class View>
bool viewThenCopy(std::vector<c10::IValue>& stack) {
  using Schema = typename View::schema;
  constexpr size_t kArguments = c10::guts::infer_function_traits_t<Schema>::number_of_parameters;
  return isComplexAndRecorded(stack[stack.size() - kArguments].toTensor()) && callViewThenCopy<View>(stack);
}

/// vmap has no rule for it.
bool splitThenCopy(std::vector<c10::IValue>& stack) {
  return isTransformed() ? callViewThenCopy<at::_ops::split_Tensor>(stack)
                         : viewThenCopy<at::_ops::split_Tensor>(stack);
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
