// The functions of rewrite rules (rewrite_rules.h). They ask the types of values, and constants.
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/rewrite_rules.h"

namespace cresset {
namespace {

using c10::TypeKind;
using Arguments = const RewriteArguments&;
using Answer = std::optional<c10::IValue>;

const c10::TensorType* tensorType(const Value* value) {
  return value->type()->castRaw<c10::TensorType>();
}

template <TypeKind kind>
Answer isOfKind(Arguments a) {
  return a.values.at(0)->type()->kind() == kind;
}

// ---- None ----

enum class Noneness { Never, Always, Unknown };

Noneness noneness(const Value* value) {
  if (isNoneConstant(value)) return Noneness::Always;
  switch (value->type()->kind()) {
    case TypeKind::NoneType:
      return Noneness::Always;
    case TypeKind::OptionalType:
    case TypeKind::UnionType:
    case TypeKind::AnyType:
    case TypeKind::VarType:
      return Noneness::Unknown;
    default:
      return value->node()->kind() == prim::Uninitialized ? Noneness::Unknown : Noneness::Never;
  }
}

Answer isNone(Arguments a) {
  return noneness(a.values.at(0)) == Noneness::Always;
}

Answer isNeverNone(Arguments a) {
  return noneness(a.values.at(0)) == Noneness::Never;
}

// ---- Tensors ----

/// What `answer` says of the type of a tensor.
template <typename F>
Answer ofTensor(Arguments a, F answer) {
  const auto* tensor = tensorType(a.values.at(0));
  if (!tensor) return std::nullopt;
  const auto known = answer(*tensor);
  return known ? Answer(*known) : std::nullopt;
}

template <typename F>
Answer ofDtype(Arguments a, F answer) {
  return ofTensor(a, [&](const c10::TensorType& t) {
    return t.scalarType() ? std::optional(answer(*t.scalarType())) : std::nullopt;
  });
}

template <typename F>
Answer ofDevice(Arguments a, F answer) {
  return ofTensor(
      a, [&](const c10::TensorType& t) { return t.device() ? std::optional(answer(*t.device())) : std::nullopt; });
}

Answer knownRank(Arguments a) {
  return ofTensor(a, [](const c10::TensorType& t) -> std::optional<int64_t> {
    if (!t.dim()) return std::nullopt;
    return static_cast<int64_t>(*t.dim());
  });
}

Answer knownDtype(Arguments a) {
  return ofDtype(a, [](at::ScalarType dtype) { return static_cast<int64_t>(dtype); });
}

Answer hasFloatingDtype(Arguments a) {
  return ofDtype(a, [](at::ScalarType dtype) { return at::isFloatingType(dtype); });
}

Answer hasComplexDtype(Arguments a) {
  return ofDtype(a, [](at::ScalarType dtype) { return at::isComplexType(dtype); });
}

Answer knownDevice(Arguments a) {
  return ofDevice(a, [](c10::Device device) { return device; });
}

Answer hasCpuDevice(Arguments a) {
  return ofDevice(a, [](c10::Device device) { return device.is_cpu(); });
}

Answer hasCudaDevice(Arguments a) {
  return ofDevice(a, [](c10::Device device) { return device.is_cuda(); });
}

/// The index of a dimension that the tensor's rank has, counted from the first.
std::optional<size_t> knownDimension(Arguments a) {
  const auto* tensor = tensorType(a.values.at(0));
  const auto index = constantAs<int64_t>(a.values.at(1));
  if (!tensor || !tensor->dim() || !index) return std::nullopt;
  const auto rank = static_cast<int64_t>(*tensor->dim());
  if (*index >= rank || *index < -rank) return std::nullopt;
  return static_cast<size_t>(*index < 0 ? *index + rank : *index);
}

Answer hasDimension(Arguments a) {
  return knownDimension(a).has_value();
}

Answer knownSize(Arguments a) {
  const auto dimension = knownDimension(a);
  const auto size = dimension ? tensorType(a.values[0])->sizes()[*dimension] : std::nullopt;
  return size ? Answer(*size) : std::nullopt;
}

/// Whether a conversion to the dtype, or to None, returns the tensor itself.
Answer hasDtype(Arguments a) {
  const auto* tensor = tensorType(a.values.at(0));
  const auto wanted = toIValue(a.values.at(1));
  if (!tensor || !wanted) return false;
  return wanted->isNone() ||
         (wanted->isInt() && tensor->scalarType() && wanted->toInt() == static_cast<int64_t>(*tensor->scalarType()));
}

/// The same for a device.
Answer hasDevice(Arguments a) {
  const auto* tensor = tensorType(a.values.at(0));
  if (!tensor) return false;
  if (!a.text.empty()) return tensor->device() == c10::Device(std::string(a.text));
  const auto wanted = toIValue(a.values.at(1));
  return wanted && (wanted->isNone() || (wanted->isDevice() && tensor->device() == wanted->toDevice()));
}

/// Both have one dtype and device.
Answer hasKindOf(Arguments a) {
  const auto *tensor = tensorType(a.values.at(0)), *other = tensorType(a.values.at(1));
  return tensor && other && tensor->scalarType() && tensor->device() && tensor->scalarType() == other->scalarType() &&
         tensor->device() == other->device();
}

/// Whether the tensor is strided: it is an argument whose kind is known, which only such tensors have, or operators
/// that go element by element compute it of those.
bool isStridedTensor(const Value* value, int depth = 16) {
  const auto* tensor = tensorType(value);
  if (!tensor || !tensor->scalarType() || !tensor->dim() || depth == 0) return false;
  const Node* node = value->node();
  if (node->isParam()) return node->owningBlock() == node->graph().block();
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  if (!op || !op->isPointwise() || op->isMutable()) return false;
  const auto inputs = node->inputs();
  return std::all_of(inputs.begin(), inputs.end(), [&](const Value* input) {
    const TypeKind kind = input->type()->kind();
    const bool is_scalar = kind == TypeKind::IntType || kind == TypeKind::FloatType || kind == TypeKind::BoolType ||
                           kind == TypeKind::NumberType || kind == TypeKind::NoneType || kind == TypeKind::StringType;
    return is_scalar || isStridedTensor(input, depth - 1);
  });
}

Answer isStrided(Arguments a) {
  return isStridedTensor(a.values.at(0));
}

Answer stridedLayout(Arguments) {
  return static_cast<int64_t>(at::kStrided);
}

Answer isUnwritten(Arguments a) {
  return !a.is_written(a.values.at(0));
}

// ---- Numbers ----

std::optional<double> knownReal(const Value* value) {
  const auto constant = toIValue(value);
  return constant && constant->isDouble() ? std::optional(constant->toDouble()) : std::nullopt;
}

Answer isZero(Arguments a) {
  return knownReal(a.values.at(0)) == 0;
}

/// With other probabilities dropout raises an exception.
Answer isProbability(Arguments a) {
  const auto p = knownReal(a.values.at(0));
  return p && *p >= 0 && *p <= 1;
}

/// Computes with 64 bits, in which ints wrap around.
template <typename F>
Answer ofInts(Arguments a, F compute) {
  const auto left = toIValue(a.values.at(0)), right = toIValue(a.values.at(1));
  if (!left || !right || !left->isInt() || !right->isInt()) return std::nullopt;
  return static_cast<int64_t>(compute(static_cast<uint64_t>(left->toInt()), static_cast<uint64_t>(right->toInt())));
}

Answer sum(Arguments a) {
  return ofInts(a, [](uint64_t x, uint64_t y) { return x + y; });
}

Answer difference(Arguments a) {
  return ofInts(a, [](uint64_t x, uint64_t y) { return x - y; });
}

// ---- Lists ----

/// `x in [1, 2, 3]` of constants, if nothing else has the list.
Answer hasElement(Arguments a) {
  const Node* list = a.values.at(0)->node();
  const auto wanted = toIValue(a.values.at(1));
  const auto is_comparable = [](const Answer& value) { return value && (value->isString() || value->isInt()); };
  if (list->kind() != prim::ListConstruct || a.values[0]->uses().size() != 1 || !is_comparable(wanted))
    return std::nullopt;
  bool found = false;
  for (const Value* element : list->inputs()) {
    const auto known = toIValue(element);
    if (!is_comparable(known)) return std::nullopt;
    found |= known->isString() == wanted->isString() && *known == *wanted;
  }
  return found;
}

constexpr RewriteFunction kFunctions[] = {
    {"is_tensor", 1, isOfKind<TypeKind::TensorType>},
    {"is_int", 1, isOfKind<TypeKind::IntType>},
    {"is_float", 1, isOfKind<TypeKind::FloatType>},
    {"is_bool", 1, isOfKind<TypeKind::BoolType>},
    {"is_none", 1, isNone},
    {"is_never_none", 1, isNeverNone},
    {"known_rank", 1, knownRank},
    {"known_dtype", 1, knownDtype},
    {"known_device", 1, knownDevice},
    {"known_size", 2, knownSize},
    {"has_floating_dtype", 1, hasFloatingDtype},
    {"has_complex_dtype", 1, hasComplexDtype},
    {"has_cpu_device", 1, hasCpuDevice},
    {"has_cuda_device", 1, hasCudaDevice},
    {"has_dimension", 2, hasDimension},
    {"has_dtype", 2, hasDtype},
    {"has_device", 2, hasDevice, true},
    {"has_kind_of", 2, hasKindOf},
    {"is_strided", 1, isStrided},
    {"strided_layout", 0, stridedLayout},
    {"is_unwritten", 1, isUnwritten},
    {"is_zero", 1, isZero},
    {"is_probability", 1, isProbability},
    {"sum", 2, sum},
    {"difference", 2, difference},
    {"has_element", 2, hasElement},
};

}  // namespace

const RewriteFunction* rewriteFunction(std::string_view name) {
  const auto* found = std::find_if(
      std::begin(kFunctions), std::end(kFunctions), [&](const RewriteFunction& each) { return each.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace cresset
