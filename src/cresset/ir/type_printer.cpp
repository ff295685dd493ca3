// Types as IR text writes them.
//
// The form is that of TorchScript's listings, with two additions, so that parsing the text returns the type: a named
// tuple shows its name, NamedTuple[__torch__.Point](x : int), and strides are shown even if only some are known.
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>

#include "cresset/ir/literal.h"
#include "cresset/ir/printer.h"

namespace cresset {

using c10::TypeKind;

namespace {

/// TorchScript's listings write Future[int], but Dict(str, Future(int)): within a Dict, Union or Await, futures have
/// parentheses.
enum class Within { Type, Container };

void print(std::string& out, const c10::Type& type, Within within = Within::Type);

template <typename Types>
void printListed(std::string& out, const Types& types, Within within) {
  out += '(';
  for (size_t i = 0; i < types.size(); ++i) {
    if (i > 0) out += ", ";
    print(out, *types[i], within);
  }
  out += ')';
}

void printTensor(std::string& out, const c10::TensorType& type) {
  auto rank = type.sizes().size();
  if (type.scalarType()) out += c10::toString(*type.scalarType());
  if (!type.scalarType() || !rank) out += "Tensor";
  std::string inside;
  auto separate = [&] { inside += inside.empty() ? "" : ", "; };
  auto dim = [](std::optional<int64_t> v) { return v ? std::to_string(*v) : std::string("*"); };
  if (rank) {
    for (size_t i = 0; i < *rank; ++i) {
      separate();
      inside += dim(type.sizes()[i]);
    }
    auto strides = type.strides();
    bool known = false;
    for (size_t i = 0; strides.size() == rank && i < *rank; ++i) known |= strides[i].has_value();
    if (known) {
      separate();
      inside += "strides=[";
      for (size_t i = 0; i < *rank; ++i) inside += (i > 0 ? ", " : "") + dim(strides[i]);
      inside += "]";
    }
  }
  if (type.requiresGrad()) {
    separate();
    inside += std::string("requires_grad=") + (*type.requiresGrad() ? "1" : "0");
  }
  if (type.device()) {
    separate();
    inside += "device=" + type.device()->str();
  }
  if (rank || !inside.empty()) out += "(" + inside + ")";
  if (type.undefined() == true) out += "[Undefined]";
}

void printNamedTuple(std::string& out, const c10::TupleType& type) {
  out += "NamedTuple";
  if (type.name()) out += "[" + type.name()->qualifiedName() + "]";
  out += "(";
  const auto& fields = type.schema()->arguments();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ", ";
    out += fields[i].name() + " : ";
    print(out, *type.elements()[i]);
    if (!fields[i].default_value()) continue;
    out += " = ";
    if (!printConstantText(out, *fields[i].default_value(), type.elements()[i])) out += "<constant>";
  }
  out += ")";
}

void print(std::string& out, const c10::Type& type, Within within) {
  switch (type.kind()) {
    case TypeKind::TensorType:
      return printTensor(out, type.expectRef<c10::TensorType>());
    case TypeKind::ListType:
      print(out, *type.expectRef<c10::ListType>().getElementType(), within);
      out += "[]";
      return;
    case TypeKind::OptionalType:
      print(out, *type.expectRef<c10::OptionalType>().getElementType(), within);
      out += "?";
      return;
    case TypeKind::FutureType:
    case TypeKind::RRefType:
      out += type.kind() == TypeKind::FutureType ? "Future" : "RRef";
      out += within == Within::Container ? "(" : "[";
      print(out, *type.containedType(0), within);
      out += within == Within::Container ? ")" : "]";
      return;
    case TypeKind::AwaitType:
      out += "Await";
      return printListed(out, type.containedTypes(), Within::Container);
    case TypeKind::DictType:
      out += "Dict";
      return printListed(out, type.containedTypes(), Within::Container);
    case TypeKind::UnionType:
      out += "Union";
      return printListed(out, type.containedTypes(), Within::Container);
    case TypeKind::TupleType:
      if (type.expectRef<c10::TupleType>().schema()) return printNamedTuple(out, type.expectRef<c10::TupleType>());
      return printListed(out, type.containedTypes(), within);
    case TypeKind::FunctionType:
      out += "Function";
      return;
    case TypeKind::EnumType:
      out += "Enum<" + type.expectRef<c10::EnumType>().qualifiedClassName().qualifiedName() + ">";
      return;
    case TypeKind::ClassType:
    case TypeKind::InterfaceType:
      out += static_cast<const c10::NamedType&>(type).name()->qualifiedName();
      return;
    default:
      out += type.str();
  }
}

}  // namespace

std::string toString(const c10::Type& type) {
  std::string out;
  print(out, type);
  return out;
}

}  // namespace cresset
