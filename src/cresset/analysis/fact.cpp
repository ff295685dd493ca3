#include "cresset/analysis/fact.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <algorithm>

namespace cresset {

namespace {

template <typename T>
std::optional<T> same(const std::optional<T>& a, const std::optional<T>& b) {
  return a == b ? a : std::nullopt;
}

std::vector<Fact> commonElements(const std::vector<Fact>& a, const std::vector<Fact>& b) {
  std::vector<Fact> both;
  both.reserve(a.size());
  for (size_t i = 0; i < a.size(); ++i) both.push_back(Fact::common(a[i], b[i]));
  return both;
}

}  // namespace

TensorFacts TensorFacts::of(const c10::Type& type) {
  const auto* tensor = type.castRaw<c10::TensorType>();
  if (!tensor) return {};
  return {tensor->scalarType(), tensor->dim(), tensor->device(), tensor->requiresGrad()};
}

TensorFacts TensorFacts::of(const at::Tensor& tensor) {
  return {
      tensor.scalar_type(), static_cast<size_t>(tensor.dim()), tensor.device(), tensor.requires_grad(),
      contiguityOf(tensor)};
}

TensorFacts TensorFacts::common(const TensorFacts& a, const TensorFacts& b) {
  return {
      same(a.dtype, b.dtype), same(a.rank, b.rank), same(a.device, b.device), same(a.requires_grad, b.requires_grad),
      cresset::common(a.contiguity, b.contiguity)};
}

Fact Fact::none() {
  Fact fact;
  fact.kind = Kind::None;
  return fact;
}

Fact Fact::integer(std::optional<int64_t> value) {
  Fact fact;
  fact.kind = Kind::Int;
  fact.number = value;
  return fact;
}

Fact Fact::integer(Size size) {
  Fact fact = integer(size.asConstant());
  if (!fact.number) fact.size = std::move(size);
  return fact;
}

Size Fact::asSize() const {
  if (kind != Kind::Int) return {};
  return number ? Size::constant(*number) : size;
}

Fact Fact::boolean(std::optional<bool> value) {
  Fact fact;
  fact.kind = Kind::Bool;
  if (value) fact.number = int64_t(*value);
  return fact;
}

Fact Fact::ofDtype(std::optional<at::ScalarType> dtype) {
  Fact fact;
  if (!dtype) return fact;
  fact.kind = Kind::Dtype;
  fact.dtype = dtype;
  return fact;
}

Fact Fact::list(std::vector<Fact> elements) {
  Fact fact;
  fact.kind = Kind::List;
  fact.elements = std::move(elements);
  return fact;
}

Fact Fact::listOf(Fact element) {
  Fact fact;
  fact.kind = Kind::ListOf;
  fact.elements.push_back(std::move(element));
  return fact;
}

Fact Fact::tensor(const TensorFacts& facts) {
  Fact fact;
  fact.kind = Kind::Tensor;
  fact.dtype = facts.dtype;
  fact.device = facts.device;
  fact.requires_grad = facts.requires_grad;
  fact.contiguity = facts.contiguity;
  if (facts.rank) {
    fact.has_sizes = true;
    fact.elements.assign(*facts.rank, integer(std::nullopt));
  }
  return fact;
}

Fact Fact::ofType(const c10::Type& type) {
  Fact fact;
  if (type.kind() == c10::TypeKind::IntType) return integer(std::nullopt);
  if (type.kind() == c10::TypeKind::BoolType) return boolean(std::nullopt);
  if (type.kind() == c10::TypeKind::FloatType) fact.kind = Kind::Float;
  return fact;
}

Fact Fact::of(const c10::IValue& value) {
  Fact fact;
  if (value.isNone()) return none();
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return none();
    fact = Fact::tensor(TensorFacts::of(tensor));
    if (tensor.is_nested()) return Fact::tensor({});
    for (size_t i = 0; i < fact.elements.size(); ++i) {
      fact.elements[i] = integer(tensor.size(static_cast<int64_t>(i)));
      if (tensor.layout() == at::kStrided)
        fact.elements[i].stride = Size::constant(tensor.stride(static_cast<int64_t>(i)));
    }
  } else if (value.isInt()) {
    return integer(value.toInt());
  } else if (value.isBool()) {
    return boolean(value.toBool());
  } else if (value.isDouble()) {
    fact.kind = Kind::Float;
    fact.real = value.toDouble();
  } else if (value.isComplexDouble()) {
    fact.kind = Kind::Complex;
  } else if (value.isDevice()) {
    fact.kind = Kind::Device;
    fact.device = value.toDevice();
  } else if (value.isString()) {
    fact.kind = Kind::String;
    fact.text = value.toStringRef();
  } else if (value.isList()) {
    fact.kind = Kind::List;
    const auto& list = value.toListRef();
    fact.elements.reserve(list.size());
    for (const c10::IValue& element : list) fact.elements.push_back(of(element));
  }
  return fact;
}

Fact Fact::common(const Fact& a, const Fact& b) {
  if (a.kind != b.kind || a.text != b.text) return {};
  Fact both;
  both.kind = a.kind;
  both.text = a.text;
  both.number = same(a.number, b.number);
  both.real = same(a.real, b.real);
  if (!both.number && a.asSize().isKnown() && a.asSize() == b.asSize()) both.size = a.asSize();
  both.dtype = same(a.dtype, b.dtype);
  both.device = same(a.device, b.device);
  both.requires_grad = same(a.requires_grad, b.requires_grad);
  both.contiguity = cresset::common(a.contiguity, b.contiguity);
  if (a.stride == b.stride) both.stride = a.stride;
  const bool same_length = a.elements.size() == b.elements.size();
  if (a.kind == Kind::List && !same_length) return {};
  if ((a.kind == Kind::Dtype && !both.dtype) || (a.kind == Kind::Device && !both.device)) return {};
  both.has_sizes = a.has_sizes && b.has_sizes && same_length;
  if (same_length && (a.kind != Kind::Tensor || both.has_sizes)) both.elements = commonElements(a.elements, b.elements);
  return both;
}

TensorFacts Fact::asTensor() const {
  if (kind != Kind::Tensor) return {};
  return {dtype, rank(), device, requires_grad, contiguity};
}

void Fact::forgetLayout() {
  contiguity = Contiguity::Unknown;
  for (Fact& dimension : elements) dimension.stride = Size();
}

std::vector<Size> Fact::contiguousStrides() const {
  std::vector<Size> strides(elements.size());
  const bool channels_last = contiguity == Contiguity::ChannelsLast && elements.size() > 2;
  if (contiguity != Contiguity::Contiguous && !channels_last) return strides;
  Size next = Size::constant(1);
  const auto give = [&](size_t dim) {
    strides[dim] = next;
    next = next * elements[dim].asSize();
  };
  if (channels_last) give(1);
  for (size_t dim = elements.size(); dim-- > 0;) {
    if (!channels_last || dim != 1) give(dim);
  }
  return strides;
}

std::string Fact::toString() const {
  const auto all = [&] {
    std::string text = "[";
    for (const Fact& element : elements) text += (text.size() > 1 ? ", " : "") + element.toString();
    return text + "]";
  };
  switch (kind) {
    case Kind::None:
      return "None";
    case Kind::Int:
      if (!number && !size.isKnown()) return "int";
      return asSize().toString([](size_t value) { return "%" + std::to_string(value); });
    case Kind::Bool:
      return number ? (*number ? "True" : "False") : "bool";
    case Kind::Float:
      return "float";
    case Kind::Complex:
      return "complex";
    case Kind::String:
      return "'" + text + "'";
    case Kind::Dtype:
      return c10::toString(*dtype);
    case Kind::Device:
      return device->str();
    case Kind::List:
      return all();
    case Kind::ListOf:
      return "[" + (elements.empty() ? "?" : elements[0].toString()) + ", ...]";
    case Kind::Tensor:
      return std::string("tensor(") + (dtype ? c10::toString(*dtype) : "?") + ", " + (has_sizes ? all() : "?") + ")";
    case Kind::Unknown:
      break;
  }
  return "?";
}

}  // namespace cresset
