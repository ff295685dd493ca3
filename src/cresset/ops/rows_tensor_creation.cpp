// Tensors from numbers: torch.tensor, torch.as_tensor, and numbers as tensors.
//
// A nested list is written straight into the tensor of its inferred type (int64, the default float or complex type,
// bool) and converted afterwards if another dtype was asked for.
#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/lift_fresh_ops.h>
#include <ATen/ops/scalar_tensor_ops.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "cresset/ops/limits.h"
#include "cresset/ops/messages.h"
#include "cresset/ops/operator_clients.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"

namespace cresset {

namespace {

using at::Tensor;

at::ScalarType defaultType() {
  return c10::typeMetaToScalarType(c10::get_default_dtype());
}
at::ScalarType defaultComplexType() {
  return c10::typeMetaToScalarType(c10::get_default_complex_dtype());
}

at::ScalarType inferType(const c10::Type& element) {
  switch (element.kind()) {
    case c10::TypeKind::IntType:
      return at::kLong;
    case c10::TypeKind::FloatType:
      return defaultType();
    case c10::TypeKind::BoolType:
      return at::kBool;
    case c10::TypeKind::ComplexType:
      return defaultComplexType();
    default:
      fail(
          "Input must be of ints, floats, or bools, got " + element.repr_str() +
          (element.kind() == c10::TypeKind::TensorType ? "\nEmpty lists default to List[Tensor]. Add a variable "
                                                         "annotation to the assignment to create an empty "
                                                         "list of another type (torch.jit.annotate(List[T, []]) where "
                                                         "T is the type of elements in the list for "
                                                         "Python 2)"
                                                       : ""));
  }
}

Tensor emptyTensor(at::IntArrayRef sizes, at::ScalarType type) {
  return at::_ops::empty_memory_format::call(
      c10::fromIntArrayRefSlow(sizes), type, at::kStrided, at::Device(at::kCPU), false, std::nullopt);
}
/// A tensor whose elements `fill` writes, given its memory.
template <typename T, typename Fill>
Tensor literal(at::IntArrayRef sizes, at::ScalarType type, Fill fill) {
  std::optional<LiteralScope> scope;
  if (LiteralScope::isNeeded()) scope.emplace();
  Tensor result = emptyTensor(sizes, type);
  fill(static_cast<T*>(result.mutable_data_ptr()));
  if (!scope) return result;
  scope.reset();
  return at::_ops::lift_fresh::call(result);
}
Tensor scalarTensor(const at::Scalar& value, at::ScalarType type) {
  return at::_ops::scalar_tensor::call(value, type, at::kStrided, at::Device(at::kCPU), false);
}

/// The sizes by the first element of each list; all others must agree with them.
std::vector<int64_t> sizesOf(const IValue& data) {
  std::vector<int64_t> sizes;
  for (const IValue* v = &data; v->isList();) {
    const List& list = listOf(*v);
    sizes.push_back(static_cast<int64_t>(list.list.size()));
    if (list.list.empty()) break;
    v = list.list.data();
  }
  return sizes;
}

/// Looks at the time limit: a list that is shared many times is visited each time, and may be empty.
template <typename T, typename Read>
void fillLevel(T*& out, const List& list, const std::vector<int64_t>& sizes, size_t dim, Read read) {
  if (static_cast<int64_t>(list.list.size()) != sizes[dim]) {
    fail(
        "Expected sequence of length " + std::to_string(sizes[dim]) + " at dim " + std::to_string(dim) + " (got " +
        std::to_string(list.list.size()) + ")");
  }
  if (dim + 1 < sizes.size()) checkTimeLimit();
  for (const IValue& v : list.list) {
    if (dim + 1 < sizes.size())
      fillLevel(out, listOf(v), sizes, dim + 1, read);
    else
      *out++ = static_cast<T>(read(v));
  }
}

template <typename T, typename Read>
Tensor filled(const IValue& data, const std::vector<int64_t>& sizes, at::ScalarType type, Read read) {
  return literal<T>(sizes, type, [&](T* out) { fillLevel(out, listOf(data), sizes, 0, read); });
}

Tensor fromList(const IValue& data) {
  c10::TypePtr element = data.type();
  while (auto list = element->castRaw<c10::ListType>()) element = list->getElementType();
  auto sizes = sizesOf(data);
  auto type = inferType(*element);
  switch (element->kind()) {
    case c10::TypeKind::IntType:
      return filled<int64_t>(data, sizes, type, [](const IValue& v) { return v.toInt(); });
    case c10::TypeKind::BoolType:
      return filled<bool>(data, sizes, type, [](const IValue& v) { return v.toBool(); });
    case c10::TypeKind::FloatType:
      // Written as the default type, rounded once; types other than float and double are reached through double.
      if (type == at::kFloat) return filled<float>(data, sizes, type, [](const IValue& v) { return v.toDouble(); });
      return filled<double>(data, sizes, at::kDouble, [](const IValue& v) { return v.toDouble(); }).to(type);
    default:
      return filled<complex>(data, sizes, at::kComplexDouble, [](const IValue& v) { return v.toComplexDouble(); })
          .to(type);
  }
}

Tensor converted(const Tensor& t, std::optional<int64_t> dtype, const std::optional<c10::Device>& device) {
  auto type = dtype ? scalarTypeOf(*dtype) : t.scalar_type();
  if (device && *device != t.device()) return t.to(*device, type);
  return type == t.scalar_type() ? t : t.to(type);
}

Tensor makeTensor(const IValue& data, std::optional<int64_t> dtype, const std::optional<c10::Device>& device) {
  if (data.isList()) {
    Tensor t = fromList(data);
    if (dtype && data.type()->expectRef<c10::ListType>().getElementType()->kind() == c10::TypeKind::FloatType &&
        *dtype == static_cast<int64_t>(at::kDouble) && t.scalar_type() != at::kDouble) {
      // float64 asked for: no rounding through the default type on the way.
      return converted(
          filled<double>(data, sizesOf(data), at::kDouble, [](const IValue& v) { return v.toDouble(); }), dtype,
          device);
    }
    return converted(t, dtype, device);
  }
  auto inferred = data.isInt()      ? at::kLong
                  : data.isBool()   ? at::kBool
                  : data.isDouble() ? defaultType()
                                    : defaultComplexType();
  // A number becomes an integer by way of its own type, as in TorchScript: `x[0] = 1e30` on an int tensor is no error.
  // (Eager's torch.tensor checks the range.)
  const auto type = dtype ? scalarTypeOf(*dtype) : inferred;
  const bool cast = c10::isIntegralType(type, true) && !data.isComplexDouble();
  return converted(scalarTensor(data.toScalar(), cast ? inferred : type), static_cast<int64_t>(type), device);
}

/// torch.tensor: a leaf, whatever the grad mode.
Tensor tensorOf(IValue& data, std::optional<int64_t> dtype, std::optional<c10::Device> device, bool requires_grad) {
  c10::AutoGradMode off(false);
  Tensor t = makeTensor(data, dtype, device);
  t.set_requires_grad(requires_grad);
  return t;
}

#define TENSOR(OVERLOAD, ARGUMENT)                                                                                     \
  {                                                                                                                    \
    "aten::tensor" OVERLOAD "(" ARGUMENT                                                                               \
    ", *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",                           \
        kernel([](IValue& data, std::optional<int64_t> dtype, std::optional<c10::Device> device, bool requires_grad) { \
          return tensorOf(data, dtype, device, requires_grad);                                                         \
        })                                                                                                             \
  }
#define AS_TENSOR(OVERLOAD, ARGUMENT)                                                                      \
  {                                                                                                        \
    "aten::as_tensor" OVERLOAD "(" ARGUMENT ", *, ScalarType? dtype=None, Device? device=None) -> Tensor", \
        kernel([](IValue& data, std::optional<int64_t> dtype, std::optional<c10::Device> device) {         \
          return tensorOf(data, dtype, device, false);                                                     \
        })                                                                                                 \
  }

constexpr Row kTensorCreationRows[] = {
    TENSOR(".float", "float t"),
    TENSOR(".int", "int t"),
    TENSOR(".bool", "bool t"),
    TENSOR(".complex", "complex t"),
    TENSOR("", "t[] data"),
    {"aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(b|a)",
     kernel([](const Tensor& data, std::optional<int64_t> dtype, std::optional<c10::Device> device) {
       return converted(data, dtype, device);
     })},
    AS_TENSOR(".float", "float t"),
    AS_TENSOR(".int", "int t"),
    AS_TENSOR(".bool", "bool t"),
    AS_TENSOR(".complex", "complex t"),
    AS_TENSOR(".list", "t[] data"),
    {"prim::NumToTensor.Scalar(Scalar a) -> Tensor", kernel([](IValue& v) {
       // As wide as the number is; a float is not rounded to the default type.
       auto type = v.isInt() ? at::kLong : v.isBool() ? at::kBool : v.isDouble() ? at::kDouble : at::kComplexDouble;
       return scalarTensor(v.toScalar(), type);
     })},
    {"prim::NumToTensor.bool(bool a) -> Tensor", kernel([](bool v) { return scalarTensor(v, at::kBool); })},
    {"aten::_list_to_tensor(int[] self) -> Tensor", kernel([](List& list) {
       return literal<int32_t>({static_cast<int64_t>(list.list.size())}, at::kInt, [&](int32_t* out) {
         for (const IValue& v : list.list) {
           if (v.toInt() != static_cast<int32_t>(v.toInt())) fail(messages::intOverflow());
           *out++ = static_cast<int32_t>(v.toInt());
         }
       });
     })},
    {"aten::_tensor_to_list(Tensor self) -> int[]", kernel([](const Tensor& t) {
       // The inverse of _list_to_tensor: only what that makes.
       if (t.dim() == 0) fail("Dimension specified as 0 but tensor has no dimensions");
       if (t.numel() != 0 && t.scalar_type() != at::kInt) {
         fail(std::string("expected scalar type Int but found ") + c10::toString(t.scalar_type()));
       }
       const Tensor elements = elementsForReading(t);
       const ClientPause pause;
       Tensor flat = elements.to(at::kCPU, at::kLong).contiguous();
       return newIntList({flat.const_data_ptr<int64_t>(), static_cast<size_t>(std::min(flat.size(0), flat.numel()))});
     })},
    {"onnx::Shape(Tensor t) -> Tensor", kernel([](const Tensor& t) {
       return literal<int64_t>(
           {t.dim()}, at::kLong, [&](int64_t* out) { std::copy(t.sizes().begin(), t.sizes().end(), out); });
     })},
};
#undef TENSOR
#undef AS_TENSOR

}  // namespace

std::span<const Row> tensorCreationRows() {
  return kTensorCreationRows;
}

}  // namespace cresset
