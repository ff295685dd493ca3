// Functions of the column OUT that copy elements, or make tensors of one number (out_kernel_functions.h).
#include <ATen/ExpandUtils.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange_cpu_dispatch.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/fill_cpu_dispatch.h>
#include <ATen/ops/masked_fill_cpu_dispatch.h>

#include "cresset/executor/out_kernel_functions.h"
#include "cresset/ops/new_tensor.h"
#include "cresset/ops/view_sizes.h"

namespace cresset::out {

namespace {

void resize(const at::Tensor& result, c10::IntArrayRef sizes, at::OptionalIntArrayRef strides = std::nullopt) {
  at::native::resize_impl_cpu_(result.unsafeGetTensorImpl(), sizes, strides);
}

/// Gives the result the sizes of a tensor, and the strides that the memory format asks for; None keeps the order of the
/// dimensions.
bool resizeLike(const OutArguments& arguments, const at::Tensor& self, const c10::IValue& format) {
  const bool keeps = format.isNone() || format.toInt() == static_cast<int64_t>(at::MemoryFormat::Preserve);
  at::Tensor& result = arguments.output(0);
  if (keeps) {
    resize(result, self.sizes(), preservedStrides(self));
  } else if (format.toInt() == static_cast<int64_t>(at::MemoryFormat::Contiguous)) {
    resize(result, self.sizes());
  } else if (format.toInt() == static_cast<int64_t>(at::MemoryFormat::ChannelsLast) && self.dim() == 4) {
    resize(result, self.sizes(), c10::get_channels_last_strides_2d(self.sizes()));
  } else {
    return false;
  }
  return true;
}

bool copyAs(const OutArguments& arguments, const at::Tensor& self, const c10::IValue& format) {
  if (!resizeLike(arguments, self, format)) return false;
  at::native::copy_(arguments.rawOutput(0), self, /*non_blocking=*/false);
  return true;
}

/// Whether arguments of type Layout, Device and bool (pinned memory) ask for dense tensors of the CPU, as None does.
bool arePlainOptions(const c10::IValue& layout, const c10::IValue& device, const c10::IValue& pinned) {
  return (layout.isNone() || layout.toInt() == static_cast<int64_t>(at::Layout::Strided)) &&
         (device.isNone() || device.toDevice().is_cpu()) && (pinned.isNone() || !pinned.toBool());
}

/// aten::to: where nothing is to be changed, the operator returns the tensor itself.
bool convert(const OutArguments& arguments, bool copies, const c10::IValue& format) {
  const at::Tensor& self = tensor(arguments, 0);
  if (self.is_complex()) return false;
  const bool keeps = format.isNone() || format.toInt() == static_cast<int64_t>(at::MemoryFormat::Preserve) ||
                     format.toInt() == static_cast<int64_t>(self.suggest_memory_format());
  if (!copies && keeps && self.scalar_type() == arguments.rawOutput(0).scalar_type()) return false;
  return copyAs(arguments, self, format);
}

/// A contiguous copy in other sizes; where a view is possible, the operator returns one.
bool reshapeTo(const OutArguments& arguments, const c10::DimVector& sizes) {
  const at::Tensor& self = tensor(arguments, 0);
  if (at::detail::computeStride(self.sizes(), self.strides(), sizes)) return false;
  at::Tensor& result = arguments.output(0);
  resize(result, self.sizes());
  at::native::copy_(result, self, /*non_blocking=*/false);
  result.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return true;
}

/// Gives the result sizes that are a list of ints; false if there is no such tensor.
bool resizeTo(const OutArguments& arguments, const c10::IValue& list) {
  const c10::DimVector sizes = intsOf(list);
  int64_t bytes = static_cast<int64_t>(arguments.rawOutput(0).element_size());
  for (const int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return false;
  }
  resize(arguments.output(0), sizes);
  return true;
}

/// Whether the result has the dtype and the options of arguments from the i-th on: dtype, layout, device, pinned
/// memory.
bool takesOptions(const OutArguments& arguments, size_t i, at::ScalarType without) {
  return isOfResult(arguments, arguments.input(i), without) &&
         arePlainOptions(arguments.input(i + 1), arguments.input(i + 2), arguments.input(i + 3));
}

/// takesOptions, of what is made like the first argument.
bool isLike(const OutArguments& arguments, size_t i) {
  return takesOptions(arguments, i, tensor(arguments, 0).scalar_type());
}

bool fill(const OutArguments& arguments, const at::Scalar& value) {
  at::cpu::fill_(arguments.rawOutput(0), value);
  return true;
}

at::ScalarType defaultDtype() {
  return c10::typeMetaToScalarType(at::get_default_dtype());
}

/// Of numbers from `start` to `end`, without that; ints if all numbers are.
bool range(
    const OutArguments& arguments, size_t options, const at::Scalar& start, const at::Scalar& end,
    const at::Scalar& step) {
  const bool is_integral = start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true);
  if (!takesOptions(arguments, options, is_integral ? at::kLong : defaultDtype())) return false;
  at::cpu::arange_out(arguments.output(0), start, end, step);
  return true;
}

}  // namespace

bool clone(const OutArguments& arguments) {
  return copyAs(arguments, tensor(arguments, 0), arguments.input(1));
}

bool contiguous(const OutArguments& arguments) {
  const at::Tensor& self = tensor(arguments, 0);
  const int64_t format = arguments.input(1).toInt();
  const bool is_known = format == static_cast<int64_t>(at::MemoryFormat::Contiguous) ||
                        (format == static_cast<int64_t>(at::MemoryFormat::ChannelsLast) && self.dim() == 4);
  if (!is_known || self.is_contiguous(static_cast<at::MemoryFormat>(format))) return false;
  return copyAs(arguments, self, arguments.input(1));
}

bool reshape(const OutArguments& arguments) {
  return reshapeTo(arguments, at::infer_size_dv(intsOf(arguments.input(1)), tensor(arguments, 0).numel()));
}

bool reshape_as(const OutArguments& arguments) {
  const at::Tensor &self = tensor(arguments, 0), &other = tensor(arguments, 1);
  return self.numel() == other.numel() &&
         reshapeTo(arguments, c10::DimVector(other.sizes().begin(), other.sizes().end()));
}

bool flatten(const OutArguments& arguments) {
  const at::Tensor& self = tensor(arguments, 0);
  const int64_t rank = self.dim();
  int64_t first = arguments.input(1).toInt(), last = arguments.input(2).toInt();
  if (first < 0) first += rank;
  if (last < 0) last += rank;
  if (first < 0 || last >= rank || first >= last) return false;
  return reshapeTo(arguments, flattenedSizes(self.sizes(), first, last));
}

bool to_dtype(const OutArguments& arguments) {
  const bool fits = isOfResult(arguments, arguments.input(1), at::ScalarType::Undefined);
  return fits && convert(arguments, arguments.input(3).toBool(), arguments.input(4));
}

bool to_device(const OutArguments& arguments) {
  const bool fits =
      arguments.input(1).toDevice().is_cpu() && isOfResult(arguments, arguments.input(2), at::ScalarType::Undefined);
  return fits && convert(arguments, arguments.input(4).toBool(), arguments.input(5));
}

bool to_dtype_layout(const OutArguments& arguments) {
  const bool fits = takesOptions(arguments, 1, tensor(arguments, 0).scalar_type());
  return fits && convert(arguments, arguments.input(6).toBool(), arguments.input(7));
}

bool to_other(const OutArguments& arguments) {
  const bool fits = tensor(arguments, 1).scalar_type() == arguments.rawOutput(0).scalar_type();
  return fits && convert(arguments, arguments.input(3).toBool(), arguments.input(4));
}

bool to_copy(const OutArguments& arguments) {
  const bool fits = takesOptions(arguments, 1, tensor(arguments, 0).scalar_type());
  return fits && convert(arguments, /*copies=*/true, arguments.input(6));
}

bool type_as(const OutArguments& arguments) {
  const bool fits = tensor(arguments, 1).scalar_type() == arguments.rawOutput(0).scalar_type();
  return fits && convert(arguments, /*copies=*/false, c10::IValue());
}

/// Each dimension as two: how often it is repeated, and its size. The tensor is broadcast to that.
bool repeat(const OutArguments& arguments) {
  const at::Tensor& self = tensor(arguments, 0);
  const c10::DimVector repeats = intsOf(arguments.input(1));
  const size_t rank = repeats.size(), added = rank - static_cast<size_t>(self.dim());
  if (rank < static_cast<size_t>(self.dim()) || rank > 16) return false;
  c10::DimVector sizes, pairs, from;
  int64_t bytes = static_cast<int64_t>(self.element_size());
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = i < added ? 1 : self.size(static_cast<int64_t>(i - added));
    int64_t total = 0;
    if (repeats[i] < 0 || __builtin_mul_overflow(repeats[i], size, &total) ||
        __builtin_mul_overflow(bytes, total, &bytes))
      return false;
    sizes.push_back(total);
    pairs.append({repeats[i], size});
    from.append({1, size});
  }
  at::Tensor& result = arguments.output(0);
  resize(result, pairs);
  const auto strides = at::detail::computeStride(self.sizes(), self.strides(), from);
  if (!strides) return false;
  if (result.numel() > 0) at::native::copy_(result, self.as_strided(from, *strides), /*non_blocking=*/false);
  result.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return true;
}

bool masked_fill(const OutArguments& arguments) {
  const at::Tensor &self = tensor(arguments, 0), &mask = tensor(arguments, 1);
  if (mask.scalar_type() != at::kBool) return false;
  at::Tensor& result = arguments.output(0);
  resize(result, at::infer_size_dimvector(mask.sizes(), self.sizes()));
  at::native::copy_(result, self, /*non_blocking=*/false);
  const c10::IValue& value = arguments.input(2);
  if (value.isTensor()) {
    at::cpu::masked_fill_(result, mask, value.toTensor());
  } else {
    at::cpu::masked_fill_(result, mask, value.toScalar());
  }
  return true;
}

bool zeros(const OutArguments& arguments) {
  return takesOptions(arguments, 1, defaultDtype()) && resizeTo(arguments, arguments.input(0)) && fill(arguments, 0);
}

bool ones(const OutArguments& arguments) {
  return takesOptions(arguments, 1, defaultDtype()) && resizeTo(arguments, arguments.input(0)) && fill(arguments, 1);
}

bool zeros_like(const OutArguments& arguments) {
  return isLike(arguments, 1) && resizeLike(arguments, tensor(arguments, 0), arguments.input(5)) && fill(arguments, 0);
}

bool ones_like(const OutArguments& arguments) {
  return isLike(arguments, 1) && resizeLike(arguments, tensor(arguments, 0), arguments.input(5)) && fill(arguments, 1);
}

bool full_like(const OutArguments& arguments) {
  return isLike(arguments, 2) && resizeLike(arguments, tensor(arguments, 0), arguments.input(6)) &&
         fill(arguments, arguments.input(1).toScalar());
}

bool new_zeros(const OutArguments& arguments) {
  return isLike(arguments, 2) && resizeTo(arguments, arguments.input(1)) && fill(arguments, 0);
}

bool new_ones(const OutArguments& arguments) {
  return isLike(arguments, 2) && resizeTo(arguments, arguments.input(1)) && fill(arguments, 1);
}

bool new_full(const OutArguments& arguments) {
  return isLike(arguments, 3) && resizeTo(arguments, arguments.input(1)) &&
         fill(arguments, arguments.input(2).toScalar());
}

bool full(const OutArguments& arguments) {
  const at::Scalar value = arguments.input(1).toScalar();
  const at::ScalarType dtype = value.isBoolean()         ? at::kBool
                               : value.isIntegral(false) ? at::kLong
                               : value.isFloatingPoint() ? defaultDtype()
                                                         : at::ScalarType::Undefined;
  return takesOptions(arguments, 2, dtype) && resizeTo(arguments, arguments.input(0)) && fill(arguments, value);
}

bool arange(const OutArguments& arguments) {
  return range(arguments, 1, 0, arguments.input(0).toScalar(), 1);
}

bool arange_start(const OutArguments& arguments) {
  return range(arguments, 2, arguments.input(0).toScalar(), arguments.input(1).toScalar(), 1);
}

bool arange_start_step(const OutArguments& arguments) {
  return range(
      arguments, 3, arguments.input(0).toScalar(), arguments.input(1).toScalar(), arguments.input(2).toScalar());
}

}  // namespace cresset::out
