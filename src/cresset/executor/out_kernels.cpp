// The column OUT, and the functions for arithmetic, products, embeddings and joins
// (out_kernel_functions.h).
#include "cresset/executor/out_kernels.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ScalarOps.h>
#include <ATen/TensorUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_softmax_cpu_dispatch.h>
#include <ATen/ops/_stack_cpu_dispatch.h>
#include <ATen/ops/add_cpu_dispatch.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/cat_cpu_dispatch.h>
#include <ATen/ops/clamp_min_cpu_dispatch.h>
#include <ATen/ops/div_cpu_dispatch.h>
#include <ATen/ops/index_select_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/mul_cpu_dispatch.h>
#include <ATen/ops/sigmoid_cpu_dispatch.h>
#include <ATen/ops/sub_cpu_dispatch.h>
#include <ATen/ops/tanh_cpu_dispatch.h>

#include <algorithm>
#include <array>
#include <bit>

#include "cresset/executor/out_elementwise.h"
#include "cresset/executor/out_kernel_functions.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"

namespace cresset {

namespace out {

namespace {

template <at::Tensor& (*kernel)(at::Tensor&, const at::Tensor&)>
[[gnu::flatten]] bool unary(const OutArguments& arguments) {
  const at::Tensor& self = tensor(arguments, 0);
  return computeInto(elementwise(arguments, self, self), [&](at::Tensor& result) { kernel(result, self); });
}

at::Tensor numberOf(double number, at::ScalarType dtype) {
  at::Tensor made = at::detail::empty_cpu({}, dtype, false);
  if (dtype == at::kFloat) {
    *made.mutable_data_ptr<float>() = static_cast<float>(number);
  } else {
    *made.mutable_data_ptr<double>() = number;
  }
  return made;
}

/// Tensors of numbers that were used last: programs name few, and call operators with them again and again.
class Numbers {
 public:
  static const at::Tensor& get(double number, at::ScalarType dtype) {
    static thread_local Numbers numbers;
    const auto bits = std::bit_cast<uint64_t>(number);
    Entry& entry = numbers.entries_[((bits ^ (bits >> 32)) * 0x9e3779b97f4a7c15 >> 60) ^ (dtype == at::kFloat ? 1 : 0)];
    if (entry.bits != bits || entry.dtype != dtype) [[unlikely]]
      entry = {bits, dtype, numberOf(number, dtype)};
    return entry.tensor;
  }

 private:
  struct Entry {
    uint64_t bits = 0;
    at::ScalarType dtype = at::ScalarType::Undefined;
    at::Tensor tensor;
  };
  std::array<Entry, 16> entries_;
};

/// A number beside the first argument, as operators take it for a tensor. Of that argument's dtype where that is the
/// result's and a kernel reads the number in it; else one that does not decide the result's dtype, which is `made`.
const at::Tensor& number(const OutArguments& arguments, size_t i, at::Tensor& made) {
  const c10::IValue& value = arguments.input(i);
  const at::ScalarType dtype = tensor(arguments, 0).scalar_type();
  constexpr int64_t kExact = int64_t{1} << 53;  // integers that a double has
  if (dtype == at::kFloat || dtype == at::kDouble) {
    if (value.isDouble()) return Numbers::get(value.toDouble(), dtype);
    if (value.isInt() && value.toInt() <= kExact && value.toInt() >= -kExact)
      return Numbers::get(static_cast<double>(value.toInt()), dtype);
  }
  made = at::native::wrapped_scalar_tensor(value.toScalar());
  return made;
}

/// The second argument as it is.
const at::Tensor& tensorItself(const OutArguments& arguments, size_t i, at::Tensor& /*made*/) {
  return tensor(arguments, i);
}

/// `second`: how the kernel takes the second argument.
template <at::Tensor& (*kernel)(at::Tensor&, const at::Tensor&, const at::Tensor&), auto second = tensorItself>
[[gnu::flatten]] bool binary(const OutArguments& arguments) {
  at::Tensor made;
  const at::Tensor& self = tensor(arguments, 0);
  const at::Tensor& other = second(arguments, 1, made);
  return computeInto(elementwise(arguments, self, other), [&](at::Tensor& result) { kernel(result, self, other); });
}

template <
    at::Tensor& (*kernel)(at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Scalar&),
    auto second = tensorItself>
[[gnu::flatten]] bool scaled(const OutArguments& arguments) {
  at::Tensor made;
  const at::Tensor& self = tensor(arguments, 0);
  const at::Tensor& other = second(arguments, 1, made);
  return computeInto(elementwise(arguments, self, other), [&](at::Tensor& result) {
    kernel(result, self, other, arguments.input(2).toScalar());
  });
}

constexpr OutKernel sigmoid = unary<at::cpu::sigmoid_out>, tanh = unary<at::cpu::tanh_out>;
constexpr OutKernel mul = binary<at::cpu::mul_out>, mul_number = binary<at::cpu::mul_out, number>;
constexpr OutKernel div = binary<at::cpu::div_out>, div_number = binary<at::cpu::div_out, number>;
constexpr OutKernel add = scaled<at::cpu::add_out>, add_number = scaled<at::cpu::add_out, number>;
constexpr OutKernel sub = scaled<at::cpu::sub_out>, sub_number = scaled<at::cpu::sub_out, number>;

/// Of a product of matrices.
[[gnu::always_inline]] inline at::Tensor& product(
    const OutArguments& arguments, const at::Tensor& a, const at::Tensor& b) {
  const c10::IntArrayRef left = a.unsafeGetTensorImpl()->sizes(), right = b.unsafeGetTensorImpl()->sizes();
  if (left.size() != 2 || right.size() != 2) return arguments.output(0);
  const std::array<int64_t, 2> sizes = {left[0], right[1]};
  return arguments.output(0, sizes);
}

[[gnu::flatten]] bool mm(const OutArguments& arguments) {
  const at::Tensor &a = tensor(arguments, 0), &b = tensor(arguments, 1);
  at::cpu::mm_out(product(arguments, a, b), a, b);
  return true;
}

bool rsub_number(const OutArguments& arguments) {
  at::Tensor made;
  at::cpu::sub_out(
      arguments.output(0), number(arguments, 1, made), tensor(arguments, 0), arguments.input(2).toScalar());
  return true;
}

bool bmm(const OutArguments& arguments) {
  at::cpu::bmm_out(arguments.output(0), tensor(arguments, 0), tensor(arguments, 1));
  return true;
}

bool relu(const OutArguments& arguments) {
  const at::Tensor& self = tensor(arguments, 0);
  if (self.scalar_type() == at::kBool) return false;  // it raises
  return computeInto(
      elementwise(arguments, self, self), [&](at::Tensor& result) { at::cpu::clamp_min_out(result, self, 0); });
}

bool addmm(const OutArguments& arguments) {
  const at::Tensor &a = tensor(arguments, 1), &b = tensor(arguments, 2);
  at::cpu::addmm_out(
      product(arguments, a, b), tensor(arguments, 0), a, b, arguments.input(3).toScalar(),
      arguments.input(4).toScalar());
  return true;
}

/// The dimensions before the last two as one; undefined if no view does it.
at::Tensor batchOf(const at::Tensor& matrices) {
  if (matrices.dim() == 3) return matrices;
  int64_t count = 1;
  for (int64_t i = 0; i < matrices.dim() - 2; ++i) count *= matrices.size(i);
  const std::array<int64_t, 3> sizes = {count, matrices.size(-2), matrices.size(-1)};
  const auto strides = at::detail::computeStride(matrices.sizes(), matrices.strides(), c10::DimVector(sizes));
  return strides ? matrices.as_strided(sizes, *strides) : at::Tensor();
}

bool matmul(const OutArguments& arguments) {
  const at::Tensor &a = tensor(arguments, 0), &b = tensor(arguments, 1);
  if (a.dim() != b.dim() || a.dim() < 2) return false;
  if (a.dim() == 2) {
    at::cpu::mm_out(arguments.output(0), a, b);
    return true;
  }
  std::vector<int64_t> sizes(a.sizes().begin(), a.sizes().end());
  sizes.back() = b.size(-1);
  if (a.sizes().slice(0, sizes.size() - 2) != b.sizes().slice(0, sizes.size() - 2)) return false;
  const at::Tensor first = batchOf(a), second = batchOf(b);
  if (!first.defined() || !second.defined()) return false;
  at::Tensor& result = arguments.output(0);
  result.resize_(sizes);
  at::Tensor products = batchOf(result);
  at::cpu::bmm_out(products, first, second);
  return true;
}

/// Of rows, with a bias: what aten::linear makes of them. Batches of rows are one matrix.
bool linear(const OutArguments& arguments) {
  const at::Tensor &input = tensor(arguments, 0), &weight = tensor(arguments, 1);
  if (weight.dim() != 2 || input.dim() < 2 || input.dim() > 3) return false;
  const at::Tensor bias = arguments.input(2).isTensor() ? tensor(arguments, 2) : at::Tensor();
  if (!bias.defined()) {
    if (input.dim() != 2) return false;
    at::cpu::mm_out(arguments.output(0, {input.size(0), weight.size(0)}), input, weight.t());
    return true;
  }
  if (input.dim() == 2) {
    at::cpu::addmm_out(arguments.output(0, {input.size(0), weight.size(0)}), bias, input, weight.t());
    return true;
  }
  if (!input.is_contiguous() || bias.dim() != 1 || input.size(2) != weight.size(1) || bias.size(0) != weight.size(0) ||
      input.numel() == 0)
    return false;
  at::Tensor& result = arguments.output(0);
  result.resize_({input.size(0), input.size(1), weight.size(0)});
  at::Tensor rows = result.view({input.size(0) * input.size(1), weight.size(0)});
  at::cpu::addmm_out(rows, bias, input.view({rows.size(0), input.size(2)}), weight.t());
  return true;
}

bool softmax(const OutArguments& arguments) {
  if (!arguments.input(2).isNone() || !tensor(arguments, 0).is_floating_point()) return false;
  at::cpu::_softmax_out(arguments.output(0), tensor(arguments, 0), arguments.input(1).toInt(), false);
  return true;
}

bool embedding(const OutArguments& arguments) {
  const at::Tensor &weight = tensor(arguments, 0), &indices = tensor(arguments, 1);
  if (weight.dim() != 2 || (indices.scalar_type() != at::kLong && indices.scalar_type() != at::kInt)) return false;
  if (indices.dim() == 1) {
    at::cpu::index_select_out(arguments.output(0), weight, 0, indices);
    return true;
  }
  if (!indices.is_contiguous() || indices.dim() == 0) return false;
  std::vector<int64_t> sizes = indices.sizes().vec();
  sizes.push_back(weight.size(1));
  at::Tensor& result = arguments.output(0);
  result.resize_(sizes);
  at::Tensor rows = result.view({indices.numel(), weight.size(1)});
  at::cpu::index_select_out(rows, weight, 0, indices.view({indices.numel()}));
  return true;
}

bool cat(const OutArguments& arguments) {
  at::cpu::cat_out(arguments.output(0), arguments.input(0).toTensorVector(), arguments.input(1).toInt());
  return true;
}

/// Whether the strides are those that a new tensor of these sizes gets, also where the size is 1.
bool hasDefaultStrides(const at::Tensor& tensor) {
  int64_t expected = 1;
  for (int64_t i = tensor.dim() - 1; i >= 0; expected *= tensor.size(i), --i) {
    if (tensor.stride(i) != expected) return false;
  }
  return true;
}

/// Of tensors of one dtype and the same sizes, whose result is contiguous. PyTorch's kernel for `_stack` takes the
/// stride before the stacked dimension for the number of elements in a part, and the first tensor for contiguous.
bool stack(const OutArguments& arguments) {
  auto tensors = arguments.input(0).toTensorVector();
  if (tensors.empty() || tensors[0].dim() > 2) return false;
  for (const at::Tensor& each : tensors) {
    if (each.sizes() != tensors[0].sizes() || each.scalar_type() != tensors[0].scalar_type()) return false;
    if (each.numel() == 0 || (each.is_contiguous() && !hasDefaultStrides(each))) return false;
  }
  int64_t dim = arguments.input(1).toInt();
  if (dim < -tensors[0].dim() - 1 || dim > tensors[0].dim()) return false;
  if (dim < 0) dim += tensors[0].dim() + 1;
  if (std::all_of(tensors.begin(), tensors.end(), hasDefaultStrides)) {
    at::cpu::_stack_out(arguments.output(0), tensors, dim);
  } else {
    for (at::Tensor& each : tensors) each = each.unsqueeze(dim);
    at::cpu::cat_out(arguments.output(0), tensors, dim);
  }
  return true;
}

}  // namespace
}  // namespace out

namespace {

constexpr ColumnCell<OutKernel> kCells[] = {
#define OPERATOR(name) {name, {}},
#define OUT(function) {{}, out::function},
#include "cresset/ops/table/table.def"
};

}  // namespace

bool guardsItself(OutKernel kernel) {
  static constexpr OutKernel kGuarded[] = {out::sigmoid, out::tanh, out::mul,        out::mul_number,
                                           out::div,     out::add,  out::div_number, out::add_number,
                                           out::sub,     out::relu, out::sub_number};
  return std::find(std::begin(kGuarded), std::end(kGuarded), kernel) != std::end(kGuarded);
}

OutKernel outKernelOf(const Operator& op) {
  static const auto* columns = new auto(byOperator(kCells));
  const auto found = columns->find(op.fullName());
  return found == columns->end() ? nullptr : found->second;
}

}  // namespace cresset
