// What a tensor tells of itself, and tensor builtins whose schemas the dispatcher lacks.
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/_index_put_impl_ops.h>
#include <ATen/ops/_unsafe_index_ops.h>
#include <ATen/ops/_unsafe_index_put_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/clone_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/dequantize_ops.h>
#include <ATen/ops/einsum_ops.h>
#include <ATen/ops/embedding_renorm_ops.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/index_ops.h>
#include <ATen/ops/index_put_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/normal_ops.h>
#include <ATen/ops/split_with_sizes_ops.h>
#include <ATen/ops/stack_ops.h>
#include <ATen/ops/uniform_ops.h>
#include <ATen/ops/zero_ops.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "cresset/ops/functorch.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/operator_clients.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/ops/tensor_overlap.h"

namespace cresset {

namespace {

using at::Tensor;
using OptionalTensors = c10::List<std::optional<Tensor>>;
using OptionalGenerator = std::optional<at::Generator>;

OptionalTensors asOptional(const List& tensors) {
  OptionalTensors result;
  result.reserve(tensors.list.size());
  for (const IValue& t : tensors.list) result.push_back(t.toTensor());
  return result;
}
std::vector<Tensor> tensorsOf(const List& list) {
  std::vector<Tensor> result;
  result.reserve(list.list.size());
  for (const IValue& t : list.list) result.push_back(t.toTensor());
  return result;
}
std::vector<int64_t> intsOf(const IValue& list) {
  std::vector<int64_t> result;
  for (const IValue& v : listOf(list).list) result.push_back(v.toInt());
  return result;
}

/// Tensor.to with what is given; arguments that are None keep what the tensor has.
Tensor toDeviceAndType(
    const Tensor& self, std::optional<c10::Device> device, std::optional<int64_t> dtype, bool non_blocking, bool copy) {
  auto type = dtype ? scalarTypeOf(*dtype) : self.scalar_type();
  if (device && *device != self.device()) return self.to(*device, type, non_blocking, copy);
  return self.to(type, non_blocking, copy);
}

/// The shape of statistics over the last `normalized_ndim` dimensions of an input, kept as dimensions of size 1.
std::vector<int64_t> ncfShape(at::IntArrayRef input, int64_t normalized_ndim) {
  if (normalized_ndim < 0 || normalized_ndim > static_cast<int64_t>(input.size())) {
    fail("_ncf_view: " + std::to_string(normalized_ndim) + " normalized dimensions of " + std::to_string(input.size()));
  }
  auto kept = input.size() - static_cast<size_t>(normalized_ndim);
  std::vector<int64_t> shape(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(kept));
  shape.resize(input.size(), 1);
  return shape;
}

/// torch.einsum(a, [0, 1], b, [1, 2], [0, 2]): operands and lists of subscripts alternately; a last list names the
/// result.
Tensor einsumOfSublists(std::span<const IValue> args) {
  std::string equation;
  std::vector<Tensor> operands;
  auto append = [&](size_t argument) {
    const auto subscripts = intsOf(args[argument]);
    for (size_t k = 0; k < subscripts.size(); ++k) {
      const int64_t v = subscripts[k];
      if (v < 0 || v >= 52) {
        fail(
            "einsum(): expected subscript " + std::to_string(k) + " in argument " + std::to_string(argument) +
            " to be within the range [0, 52), but got " + std::to_string(v));
      }
      equation += static_cast<char>(v < 26 ? 'A' + v : 'a' + (v - 26));
    }
  };
  size_t i = 0;
  for (; i + 1 < args.size(); i += 2) {
    if (i) equation += ',';
    if (!args[i].isTensor() || !args[i + 1].isIntList())
      fail("einsum(): expected operands and lists of subscripts in turn");
    operands.push_back(args[i].toTensor());
    append(i + 1);
  }
  if (i < args.size()) {
    if (!args[i].isIntList()) fail("einsum(): expected a list of subscripts for the result");
    equation += "->";
    append(i);
  }
  return at::_ops::einsum::call(equation, operands, std::nullopt);
}

/// The value of one element in a nested list: 0 int, 1 float, 2 bool, 3 complex.
IValue elementOf(const char* data, at::ScalarType type) {
  switch (type) {
    case at::kLong:
      return *reinterpret_cast<const int64_t*>(data);
    case at::kDouble:
      return *reinterpret_cast<const double*>(data);
    case at::kBool:
      return *reinterpret_cast<const bool*>(data);
    default:
      return *reinterpret_cast<const complex*>(data);
  }
}
IValue nestedList(
    const Tensor& t, const char*& data, size_t dim, const std::vector<c10::TypePtr>& types, at::ScalarType type) {
  if (dim == static_cast<size_t>(t.dim())) {
    IValue value = elementOf(data, type);
    data += c10::elementSize(type);
    return value;
  }
  std::vector<IValue> elements;
  elements.reserve(static_cast<size_t>(t.size(static_cast<int64_t>(dim))));
  for (int64_t i = 0; i < t.size(static_cast<int64_t>(dim)); ++i)
    elements.push_back(nestedList(t, data, dim + 1, types, type));
  return newList(std::move(elements), types[dim]);
}

/// prim::tolist(tensor, depth, element): what `annotate(List[List[int]], x.tolist())` compiles to.
void toNestedList(Stack& stack, size_t count) {
  if (count != 3) fail("prim::tolist takes a tensor, the depth of the list, and the type of its elements");
  int64_t element = stack.back().toInt(), depth = stack[stack.size() - 2].toInt();
  Tensor t = stack[stack.size() - 3].toTensor();
  drop(stack, 3);
  struct Kind {
    c10::TypePtr type;
    at::ScalarType dtype;
    const char* name;
  };
  const Kind kinds[] = {
      {c10::IntType::get(), at::kLong, "int"},
      {c10::FloatType::get(), at::kDouble, "float"},
      {c10::BoolType::get(), at::kBool, "bool"},
      {c10::ComplexType::get(), at::kComplexDouble, "complex"}};
  if (t.dim() != depth) fail("Output annotation list dimension and runtime tensor dimension must match for tolist()");
  if (depth > static_cast<int64_t>(kMaxValueNesting))
    fail("tolist: a tensor of " + std::to_string(depth) + " dimensions");
  if (element < 0 || element >= 4) fail("Unsupported element type for tolist");
  const Kind& kind = kinds[element];
  auto found = t.scalar_type();
  bool matches = kind.dtype == at::kDouble          ? c10::isFloatingType(found)
                 : kind.dtype == at::kComplexDouble ? c10::isComplexType(found)
                                                    : found == kind.dtype;
  if (!matches) {
    fail(
        std::string("Output annotation element type and runtime tensor element type must match for tolist(): ") +
        (kind.dtype == at::kDouble ? "Float" : c10::toString(kind.dtype)) + " vs " + c10::toString(found));
  }
  // Lists at each depth and their elements; of empty lists there may be many.
  constexpr double kElementBytes = 2 * sizeof(IValue), kListBytes = 96;
  double lists = 1, bytes = 0;
  for (int64_t size : t.sizes()) {
    bytes += lists * kListBytes;
    lists *= static_cast<double>(size);
    bytes += lists * kElementBytes;
  }
  requireMemory(static_cast<size_t>(std::min(bytes, 1e18)));
  t = elementsForReading(t);
  const ClientPause pause;
  t = t.to(at::kCPU, kind.dtype).contiguous();
  std::vector<c10::TypePtr> types(static_cast<size_t>(depth));  // of the elements at each depth
  c10::TypePtr type = kind.type;
  for (size_t i = types.size(); i-- > 0; type = c10::ListType::create(type)) types[i] = type;
  const char* data = static_cast<const char*>(t.const_data_ptr());
  stack.push_back(nestedList(t, data, 0, types, kind.dtype));
}

template <bool kStack>
void joinVariadic(Stack& stack, size_t count) {
  if (count < 2) fail("prim::VarConcat and prim::VarStack take tensors and a dimension");
  int64_t dim = stack.back().toInt();
  std::vector<Tensor> tensors;
  for (size_t i = stack.size() - count; i + 1 < stack.size(); ++i) tensors.push_back(stack[i].toTensor());
  drop(stack, count);
  if constexpr (kStack)
    stack.emplace_back(at::_ops::stack::call(tensors, dim));
  else
    stack.emplace_back(at::_ops::cat::call(tensors, dim));
}

/// Whether products of these matrices can be one product: the factors on each side are alike.
bool areAlike(const std::vector<Tensor>& factors) {
  const Tensor& first = factors.front();
  return first.dim() == 2 && first.layout() == at::kStrided &&
         std::all_of(factors.begin(), factors.end(), [&](const Tensor& other) {
           return other.sizes() == first.sizes() && other.scalar_type() == first.scalar_type() &&
                  other.device() == first.device() && other.layout() == first.layout();
         });
}

bool fitTogether(const Tensor& left, const Tensor& right) {
  return left.size(1) == right.size(0) && left.scalar_type() == right.scalar_type() && left.device() == right.device();
}

/// The sum of products of matrices: of all left factors, then all right ones.
void sumOfProducts(Stack& stack, size_t count) {
  std::vector<Tensor> left, right;
  for (size_t i = 0; i < count; ++i) {
    std::vector<Tensor>& side = i < count / 2 ? left : right;
    side.push_back(stack[stack.size() - count + i].toTensor());
  }
  drop(stack, count);
  if (left.empty() || left.size() != right.size()) fail("prim::MMTreeReduce takes as many left factors as right ones");
  if (areAlike(left) && areAlike(right) && fitTogether(left.front(), right.front())) {
    stack.emplace_back(at::_ops::mm::call(at::_ops::cat::call(left, 1), at::_ops::cat::call(right, 0)));
    return;
  }
  Tensor sum = at::_ops::mm::call(left[0], right[0]);
  for (size_t i = 1; i < left.size(); ++i)
    sum = at::_ops::add_Tensor::call(sum, at::_ops::mm::call(left[i], right[i]), 1);
  stack.emplace_back(std::move(sum));
}

/// The products of one matrix, the left factor or the right one, with several.
void productsWithOne(Stack& stack, size_t count) {
  const size_t begin = stack.size() - count;
  if (count < 3) fail("prim::MMBatchSide takes a matrix, on which side it is, and at least one other");
  const Tensor common = stack[begin].toTensor();
  const bool is_left = stack[begin + 1].toBool();
  std::vector<Tensor> others;
  for (size_t i = begin + 2; i < stack.size(); ++i) others.push_back(stack[i].toTensor());
  drop(stack, count);
  c10::List<Tensor> products;
  // A gradient that reaches one product reaches the other factor of this one only.
  const bool is_recorded = at::GradMode::is_enabled() &&
                           std::any_of(others.begin(), others.end(), [](const Tensor& t) { return t.requires_grad(); });
  if (!is_recorded && common.dim() == 2 && areAlike(others) &&
      (is_left ? fitTogether(common, others.front()) : fitTogether(others.front(), common))) {
    // Each is a tensor of its own, with the strides of a product.
    const int64_t dim = is_left ? 1 : 0;
    const Tensor all = at::_ops::cat::call(others, dim);
    const Tensor product = is_left ? at::_ops::mm::call(common, all) : at::_ops::mm::call(all, common);
    for (const Tensor& part : at::_ops::split_with_sizes::call(
             product, std::vector<c10::SymInt>(others.size(), others.front().sym_size(dim)), dim))
      products.push_back(at::_ops::clone::call(part, at::MemoryFormat::Contiguous));
  } else {
    for (const Tensor& other : others)
      products.push_back(is_left ? at::_ops::mm::call(common, other) : at::_ops::mm::call(other, common));
  }
  stack.emplace_back(std::move(products));
}

IValue copyIfWritten(IValue& self, const IValue& src) {
  if (self.isTensor() && src.isTensor() && !self.toTensor().is_same(src.toTensor()))
    self.toTensor().copy_(src.toTensor());
  return std::move(self);
}

#define FLAG(NAME)                                                                        \
  {                                                                                       \
    "prim::" #NAME "(Tensor a) -> bool", kernel([](const Tensor& t) { return t.NAME(); }) \
  }
#define FLAG_OF_TYPE(NAME, DEVICE)                                                           \
  {                                                                                          \
    "prim::" NAME "(Tensor a) -> bool",                                                      \
        kernel([](const Tensor& t) { return t.device().type() == c10::DeviceType::DEVICE; }) \
  }
#define NO_GRAD(SCHEMA, TRAITS, PARAMETERS, STATEMENT) \
  {                                                    \
    SCHEMA, kernel([] PARAMETERS -> Tensor {           \
      c10::AutoGradMode off(false);                    \
      return STATEMENT;                                \
    }),                                                \
        TRAITS                                         \
  }

constexpr Row kTensorRows[] = {
    // The first argument with another content in a part of it, as `self[...] = src` leaves it. They are updates
    // (operator.h): memory without other references is used again.
    {"cresset::select_assign(Tensor self, Tensor src, int dim, int index) -> Tensor",
     kernel([](IValue& self, const Tensor& src, int64_t dim, int64_t index) {
       makeOwn(self);
       self.toTensor().select(dim, index).copy_(src);
       return std::move(self);
     }),
     Trait::ReusesFirst},
    {"cresset::slice_assign(Tensor self, Tensor src, int dim, int? start, int? end, int step) -> Tensor",
     kernel([](IValue& self, const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
               int64_t step) {
       makeOwn(self);
       self.toTensor().slice(dim, start, end, step).copy_(src);
       return std::move(self);
     }),
     Trait::ReusesFirst},
    // A write to `self` where gradients are off leaves it its place on the tape: what it becomes has that place.
    {"cresset::with_elements(Tensor elements, Tensor self) -> Tensor",
     kernel([](IValue& elements, const Tensor& self) {
       // Below functorch, a tensor that it has wrapped may have a place.
       if (!self.requires_grad() && !self.key_set().has_any(kFunctorchWrappers.add(c10::DispatchKey::Batched))) {
         makeOwn(elements);
         return std::move(elements);
       }
       const c10::AutoGradMode on(true);
       IValue result = cloneInLayout(self);
       const at::NoGradGuard off;
       result.toTensor().copy_(elements.toTensor());
       return result;
     }),
     Trait::ReusesFirst},
    // What ends a functional graph, for an argument that was perhaps not written: it is its own new value then.
    NO_GRAD("cresset::no_grad_copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)", Trait::None,
            (const Tensor& self, const Tensor& src), self.is_same(src) ? self : self.copy_(src)),
    {"cresset::copy_if_written_(Tensor(a!) self, Tensor src) -> Tensor(a!)",
     kernel([](const Tensor& self, const Tensor& src) -> Tensor { return self.is_same(src) ? self : self.copy_(src); })},
    // The same of arguments that may be None, and are so before and after.
    {"cresset::no_grad_copy_.optional(Tensor(a!)? self, Tensor? src) -> Tensor(a!)?",
     kernel([](IValue& self, IValue& src) {
       const at::NoGradGuard off;
       return copyIfWritten(self, src);
     })},
    {"cresset::copy_if_written_.optional(Tensor(a!)? self, Tensor? src) -> Tensor(a!)?",
     kernel([](IValue& self, IValue& src) { return copyIfWritten(self, src); })},
    // What a functional form is given that autograd may keep: not the memory of the argument, which is written at the end.
    {"cresset::apart_from(Tensor elements, Tensor argument) -> Tensor",
     kernel([](IValue& elements, const Tensor& argument) {
       const Tensor& value = elements.toTensor();
       const bool is_plain = value.has_storage() && argument.has_storage();
       if (!is_plain || shareMemory(value, argument)) return IValue(cloneInLayout(value));
       return std::move(elements);
     })},
    {"aten::dim(Tensor self) -> int", kernel([](const Tensor& t) { return t.dim(); })},
    {"aten::numel(Tensor self) -> int", kernel([](const Tensor& t) { return t.numel(); })},
    {"aten::size(Tensor self) -> int[]", kernel([](const Tensor& t) { return newIntList(t.sizes()); })},
    {"aten::stride(Tensor self) -> int[]", kernel([](const Tensor& t) { return newIntList(t.strides()); })},
    {"aten::sym_size(Tensor self) -> SymInt[]", kernel([](const Tensor& t) { return newIntList(t.sizes()); })},
    {"aten::sym_stride(Tensor self) -> SymInt[]", kernel([](const Tensor& t) { return newIntList(t.strides()); })},
    {"prim::abs(Tensor x) -> Tensor", kernel([](const Tensor& t) { return t.abs(); })},
    // The dispatcher has these since torch 2.13.
    {"aten::is_contiguous(Tensor self) -> bool", kernel([](const Tensor& t) { return t.is_contiguous(); })},
    {"aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
     kernel([](const Tensor& t, int64_t format) { return t.is_contiguous(static_cast<at::MemoryFormat>(format)); })},
    {"aten::storage_offset(Tensor self) -> int", kernel([](const Tensor& t) { return t.storage_offset(); })},
    {"aten::get_device(Tensor self) -> int", kernel([](const Tensor& t) { return static_cast<int64_t>(t.get_device()); })},
    {"aten::element_size(Tensor self) -> int", kernel([](const Tensor& t) { return static_cast<int64_t>(t.element_size()); })},
    {"aten::len.Tensor(Tensor t) -> int", kernel([](const Tensor& t) {
       if (t.dim() == 0) fail("len() of a 0-d tensor");
       return t.size(0);
     })},
    {"prim::device(Tensor a) -> Device", kernel([](const Tensor& t) { return t.device(); })},
    {"prim::dtype(Tensor a) -> int", kernel([](const Tensor& t) { return static_cast<int64_t>(t.scalar_type()); })},
    {"prim::layout(Tensor a) -> Layout", kernel([](const Tensor& t) { return static_cast<int64_t>(t.layout()); })},
    {"prim::requires_grad(Tensor a) -> bool", kernel([](const Tensor& t) { return t.requires_grad(); })},
    // Autograd keeps integer tensors as indices, and its kernels believe them: a write to one has to be seen.
    {"prim::data(Tensor(a) a) -> Tensor(a)", kernel([](const Tensor& t) {
       const bool is_number = !t.defined() || t.is_floating_point() || t.is_complex();
       return is_number ? t.variable_data() : t.detach();
     })},
    {"prim::grad(Tensor a) -> Tensor(*)", kernel([](const Tensor& t) { return IValue(t.grad()); })},
    {"prim::itemsize(Tensor a) -> int", kernel([](const Tensor& t) { return static_cast<int64_t>(t.itemsize()); })},
    {"prim::nbytes(Tensor a) -> int", kernel([](const Tensor& t) { return static_cast<int64_t>(t.nbytes()); })},
    {"prim::name(Tensor a) -> str?",
     kernel([](const Tensor& t) { return t.name().empty() ? IValue() : IValue(t.name()); })},
    FLAG(is_cpu),
    FLAG(is_cuda),
    FLAG(is_ipu),
    FLAG(is_maia),
    FLAG(is_meta),
    FLAG(is_mkldnn),
    FLAG(is_mps),
    FLAG(is_mtia),
    FLAG(is_nested),
    FLAG(is_quantized),
    FLAG(is_sparse),
    FLAG(is_sparse_csr),
    FLAG(is_vulkan),
    FLAG(is_xla),
    FLAG(is_xpu),
    {"aten::is_non_overlapping_and_dense(Tensor self) -> bool",
     kernel([](const Tensor& t) { return t.unsafeGetTensorImpl()->is_non_overlapping_and_dense(); })},
    {"aten::is_strides_like_format(Tensor self, MemoryFormat memory_format) -> bool",
     kernel([](const Tensor& t, int64_t format) {
       return t.unsafeGetTensorImpl()->is_strides_like(static_cast<at::MemoryFormat>(format));
     })},
    {"aten::mT.a(Tensor(a) self) -> Tensor(a)", kernel([](const Tensor& t) { return t.mT(); })},
    {"aten::mH.a(Tensor(a) self) -> Tensor(a)", kernel([](const Tensor& t) { return t.mH(); })},
    {"aten::numpy_T.a(Tensor(a) self) -> Tensor(a)", kernel([](const Tensor& t) { return t.numpy_T(); })},
    {"aten::matrix_H.a(Tensor(a) self) -> Tensor(a)", kernel([](const Tensor& t) { return t.matrix_H(); })},
    {"aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
     kernel([](const Tensor& t, std::optional<c10::Device> device, std::optional<int64_t> dtype, bool non_blocking, bool copy) {
       return toDeviceAndType(t, device, dtype, non_blocking, copy);
     })},
    {"aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
     kernel([](const Tensor& t, std::optional<int64_t> dtype, bool non_blocking, bool copy) {
       return toDeviceAndType(t, std::nullopt, dtype, non_blocking, copy);
     })},
    {"aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
     kernel([](const Tensor& t, bool non_blocking, bool copy) {
       return toDeviceAndType(t, std::nullopt, std::nullopt, non_blocking, copy);
     })},
    {"aten::cpu(Tensor(a) self) -> Tensor(b|a)", kernel([](const Tensor& t) { return t.cpu(); })},
    {"aten::cuda(Tensor(a) self) -> Tensor(b|a)", kernel([](const Tensor& t) { return t.cuda(); })},
    {"aten::copy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     kernel([](const Tensor& self, const Tensor& other) { return self.copy_(other); })},
    {"aten::copy_.int(Tensor(a!) self, int other) -> Tensor(a!)",
     kernel([](const Tensor& self, int64_t other) { return self.fill_(other); })},
    {"aten::copy_.float(Tensor(a!) self, float other) -> Tensor(a!)",
     kernel([](const Tensor& self, double other) { return self.fill_(other); })},
    {"aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
     kernel([](const Tensor& t, const std::vector<int64_t>& sizes, int64_t dim) { return t.split_with_sizes(sizes, dim); })},
    {"aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
     kernel([](const Tensor& t, List& indices) { return at::_ops::index_Tensor::call(t, asOptional(indices)); })},
    {"aten::_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
     kernel([](const Tensor& t, List& indices) { return at::_ops::_unsafe_index_Tensor::call(t, asOptional(indices)); }), Trait::None, Restriction::RawMemory},
    {"aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
     kernel([](const Tensor& t, List& indices, const Tensor& values, bool accumulate) {
       return at::_ops::index_put::call(t, asOptional(indices), values, accumulate);
     })},
    {"aten::index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
     kernel([](IValue& self, List& indices, const Tensor& values, bool accumulate) {
       at::_ops::index_put_::call(self.toTensor(), asOptional(indices), values, accumulate);
       return std::move(self);
     })},
    {"aten::_unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
     kernel([](const Tensor& t, List& indices, const Tensor& values, bool accumulate) {
       return at::_ops::_unsafe_index_put::call(t, asOptional(indices), values, accumulate);
     }), Trait::None, Restriction::RawMemory},
    {"aten::_index_put_impl_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)",
     kernel([](IValue& self, List& indices, const Tensor& values, bool accumulate, bool unsafe) {
       at::_ops::_index_put_impl_::call(self.toTensor(), asOptional(indices), values, accumulate, unsafe);
       return std::move(self);
     }), Trait::None, Restriction::RawMemory},
    {"aten::einsum.sublist(Tensor a, ...) -> Tensor", [](Stack& stack, size_t count) {
       Tensor result = einsumOfSublists({stack.data() + (stack.size() - count), count});
       drop(stack, count);
       stack.emplace_back(std::move(result));
     }},
    {"aten::dequantize.tensor(Tensor qtensor) -> Tensor", kernel([](const Tensor& t) { return t.dequantize(); })},
    {"aten::dequantize.list(Tensor[] qtensors) -> Tensor[]",
     kernel([](List& tensors) { return at::_ops::dequantize_tensors::call(tensorsOf(tensors)); })},
    {"aten::dequantize.any(Any tensors) -> Any", kernel([](IValue& v) -> IValue {
       std::vector<IValue> elements;
       if (v.isTuple()) {
         for (const IValue& e : v.toTupleRef().elements())
           elements.push_back(e.isTensor() ? IValue(e.toTensor().dequantize()) : e);
         return c10::ivalue::Tuple::create(std::move(elements));
       }
       if (!v.isTensorList()) {
         fail(
             "Unsupported type in dequantize, only List[Tensor] and  Tuple[Tensor or other types] are supported, got type:" +
             v.type()->str());
       }
       for (const IValue& e : listOf(v).list) elements.emplace_back(e.toTensor().dequantize());
       return newList(std::move(elements), c10::TensorType::get());
     })},
    NO_GRAD("aten::_no_grad_uniform_(Tensor(a!) tensor, float a, float b, Generator? generator=None) -> Tensor(a!)", kRandom,
            (const Tensor& t, double a, double b, IValue& g), at::_ops::uniform_::call(const_cast<Tensor&>(t), a, b, g.toOptional<at::Generator>())),
    NO_GRAD("aten::_no_grad_normal_(Tensor(a!) tensor, float mean, float std, Generator? generator=None) -> Tensor(a!)", kRandom,
            (const Tensor& t, double mean, double std, IValue& g), at::_ops::normal_::call(const_cast<Tensor&>(t), mean, std, g.toOptional<at::Generator>())),
    NO_GRAD("aten::_no_grad_fill_(Tensor(a!) tensor, float val) -> Tensor(a!)", Trait::None, (const Tensor& t, double v), t.fill_(v)),
    NO_GRAD("aten::_no_grad_zero_(Tensor(a!) tensor) -> Tensor(a!)", Trait::None, (const Tensor& t), t.zero_()),
    {"aten::_no_grad_embedding_renorm_(Tensor weight, Tensor input, float max_norm, float norm_type) -> Tensor",
     kernel([](const Tensor& weight, const Tensor& input, double max_norm, double norm_type) -> Tensor {
       c10::AutoGradMode off(false);
       return at::_ops::embedding_renorm_::call(const_cast<Tensor&>(weight), input, max_norm, norm_type);
     }), kEffect}, // it writes `weight`, which its schema does not say
    {"aten::broadcast_shapes(int[] a, int[] b) -> int[]",
     kernel([](const std::vector<int64_t>& a, const std::vector<int64_t>& b) { return newIntList(at::infer_size(b, a)); })},
    {"aten::_infer_size(int[] a, int[] b) -> int[]",
     kernel([](const std::vector<int64_t>& a, const std::vector<int64_t>& b) { return newIntList(at::infer_size(b, a)); })},
    {"aten::_size_if_not_equal(int[] self_size, int[] other_size) -> int[]?", kernel([](IValue& a, IValue& b) {
       return intsOf(a) == intsOf(b) ? IValue() : std::move(a);
     })},
    {"aten::_grad_sum_to_size(Tensor(a) self, int[]? size) -> Tensor(a)", kernel([](IValue& self, IValue& size) -> IValue {
       // A tensor without dimensions would be summed even so, which makes 0.0 of -0.0.
       if (size.isNone() || self.toTensor().sizes() == intsOf(size)) return std::move(self);
       const std::vector<int64_t> sizes = intsOf(size);
       const at::IntArrayRef own = self.toTensor().sizes();
       TORCH_CHECK(at::is_expandable_to(sizes, own), "size {", sizes, "} is not expandable to size {", own, "}.");
       return at::sum_to(self.toTensor(), sizes);
     })},
    {"aten::_ncf_unsqueeze(Tensor(a) self, int ndim) -> Tensor(a)", kernel([](const Tensor& t, int64_t ndim) {
       if (ndim > 64) fail("_ncf_unsqueeze: a tensor of " + std::to_string(ndim) + " dimensions");
       std::vector<int64_t> shape(static_cast<size_t>(std::max<int64_t>(ndim, 2)), 1);
       shape[1] = t.size(0);
       return t.reshape(shape);
     })},
    {"aten::_ncf_view(Tensor(a) self, int[] input_shape, int normalized_ndim) -> Tensor(a)",
     kernel([](const Tensor& t, const std::vector<int64_t>& shape, int64_t ndim) { return t.reshape(ncfShape(shape, ndim)); })},
    {"aten::_pack_sequence(Tensor output, Tensor batch_sizes, Tensor? sorted_indices, Tensor? unsorted_indices) -> (Tensor, Tensor, Tensor?, Tensor?)",
     [](Stack&, size_t) {}},
    {"prim::MMBatchSide(Tensor common, bool is_left, ...) -> Tensor[]", &productsWithOne},
    {"prim::MMTreeReduce(...) -> Tensor", &sumOfProducts},
    {"prim::VarConcat(...) -> Tensor", &joinVariadic<false>},
    {"prim::VarStack(...) -> Tensor", &joinVariadic<true>},
    {"prim::tolist(...) -> ...", &toNestedList},
    {"onnx::Reshape(Tensor input, Tensor shape) -> Tensor", kernel([](const Tensor& t, const Tensor& shape) {
       Tensor dims = shape.to(at::kCPU, at::kLong).contiguous();
       return t.reshape(at::IntArrayRef(dims.const_data_ptr<int64_t>(), static_cast<size_t>(dims.numel())));
     })},
};
#undef FLAG
#undef FLAG_OF_TYPE
#undef NO_GRAD

}  // namespace

std::span<const Row> tensorRows() {
  return kTensorRows;
}

}  // namespace cresset
