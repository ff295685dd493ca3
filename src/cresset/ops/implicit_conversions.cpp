// See implicit_conversions.h. The rules are TorchScript's: structural ones (tuples to lists, untyped `[]`) always
// apply, numeric ones only in the second round of matching, and each looks at the outermost type only, so that a
// float[] never takes a Tensor[].
#include "cresset/ops/implicit_conversions.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cresset/ops/operator_rows.h"
#include "cresset/ops/schema_matching.h"
#include "cresset/support/error.h"

namespace cresset {

TypePtr withoutOptional(const TypePtr& type) {
  if (auto optional = type->castRaw<c10::OptionalType>()) return optional->getElementType();
  return type;
}

bool isEmptyListLiteral(const Value* value) {
  return value && value->node()->kind() == prim::EmptyListLiteral;
}

bool isConvertibleToList(const c10::Type& type, const c10::Type& list) {
  auto list_type = list.castRaw<c10::ListType>();
  if (!list_type) return false;
  if (type.isSubtypeOf(list)) return true;
  auto tuple = type.castRaw<c10::TupleType>();
  if (!tuple) return false;
  for (const auto& element : tuple->elements()) {
    if (!element->isSubtypeOf(*list_type->getElementType())) return false;
  }
  return true;
}

namespace {

Conversion call(Symbol op, TypePtr type) {
  Conversion result;
  result.kind = Conversion::Kind::Call;
  result.op = op;
  result.type = std::move(type);
  return result;
}

constexpr ColumnCell<std::string_view> kConverts[] = {
#define OPERATOR(name)
#define OVERLOADS(name) {name, {}},
#define CONVERTS(types) {{}, types},
#include "cresset/ops/table/table.def"
};

/// The operators of the column CONVERTS, by "Tensor -> int".
std::unordered_map<std::string, Symbol> readConversions() {
  std::unordered_map<std::string, Symbol> conversions;
  for (const auto& [name, types] : byOperator(kConverts)) {
    const size_t arrow = types.find(" -> ");
    CRESSET_CHECK(arrow != std::string_view::npos, std::string(name) + ": CONVERTS(\"from -> to\")");
    const std::string to(types.substr(arrow));
    for (std::string_view from = types.substr(0, arrow); !from.empty();) {
      const size_t end = std::min(from.find(", "), from.size());
      conversions.emplace(std::string(from.substr(0, end)) + to, Symbol::fromQualString(std::string(name)));
      from.remove_prefix(std::min(end + 2, from.size()));
    }
  }
  return conversions;
}

/// Nothing if no operator converts the one to the other.
std::optional<Symbol> conversionBetween(std::string from, const char* to) {
  static const auto* conversions = new auto(readConversions());
  const auto found = conversions->find(std::move(from) + " -> " + to);
  return found == conversions->end() ? std::nullopt : std::optional(found->second);
}

/// Its word in the column; null for what has none.
const char* wordOf(const c10::Type& type) {
  if (type.isSubtypeOf(*c10::TensorType::get())) return "Tensor";
  switch (type.kind()) {
    case c10::TypeKind::NumberType:
      return "Scalar";
    case c10::TypeKind::BoolType:
      return "bool";
    case c10::TypeKind::IntType:
      return "int";
    case c10::TypeKind::FloatType:
      return "float";
    case c10::TypeKind::ComplexType:
      return "complex";
    case c10::TypeKind::StringType:
      return "str";
    case c10::TypeKind::DeviceObjType:
      return "Device";
    default:
      return nullptr;
  }
}

/// Tensors, Scalars, bools and strings where a number or a device is wanted.
Conversion planScalarConversion(const c10::Type& from, const TypePtr& to) {
  const char *from_word = wordOf(from), *to_word = wordOf(*to);
  if (!from_word || !to_word) return {};
  if (const auto op = conversionBetween(from_word, to_word)) return call(*op, to);
  // A bool is an int where any number is wanted.
  const bool is_any = from.kind() == c10::TypeKind::BoolType && to->kind() == c10::TypeKind::NumberType;
  return is_any ? planScalarConversion(from, c10::IntType::get()) : Conversion();
}

}  // namespace

Conversion planConversion(const TypePtr& from, const TypePtr& to, bool literal, bool allow_conversions) {
  auto kind = from->kind();
  if (auto optional = to->castRaw<c10::OptionalType>()) {
    if (kind != c10::TypeKind::OptionalType && kind != c10::TypeKind::NoneType) {
      return planConversion(from, optional->getElementType(), literal, allow_conversions);
    }
  }
  if (literal) {
    if (auto list = to->castRaw<c10::ListType>()) {
      Conversion result;
      result.kind = Conversion::Kind::NewList;
      result.element = list->getElementType();
      result.type = to;
      return result;
    }
  }
  if (auto tuple = from->castRaw<c10::TupleType>()) {
    auto wanted = withoutOptional(to);
    if (isConvertibleToList(*from, *wanted)) {
      Conversion result;
      result.kind = Conversion::Kind::TupleToList;
      result.element = wanted->expectRef<c10::ListType>().getElementType();
      result.type = wanted;
      return result;
    }
    auto to_tuple = to->castRaw<c10::TupleType>();
    if (to_tuple && !from->isSubtypeOf(*to) && tuple->elements().size() == to_tuple->elements().size()) {
      Conversion result;
      result.kind = Conversion::Kind::TupleToTuple;
      std::vector<TypePtr> types;
      for (size_t i = 0; i < tuple->elements().size(); ++i) {
        const auto& element = tuple->elements()[i];
        result.parts.push_back(planConversion(element, to_tuple->elements()[i], false, allow_conversions));
        types.push_back(result.parts.back().type ? result.parts.back().type : element);
      }
      result.type = c10::TupleType::create(std::move(types));
      return result;
    }
  }
  if (allow_conversions) return planScalarConversion(*from, to);
  return {};
}

Value* insertTyped(Graph& graph, const SourceRange& range, Symbol kind, std::span<Value* const> inputs, TypePtr type) {
  Node* node = graph.insertNode(graph.create(kind, inputs, 1));
  if (range) node->setSourceRange(range);
  return node->output()->setType(std::move(type));
}

namespace {

std::vector<Value*> unpackTuple(Graph& graph, const SourceRange& range, Value* tuple) {
  // The elements of a tuple that was built one node ago need no unpacking; the construction is left to be removed as
  // dead code.
  if (tuple->node()->kind() == prim::TupleConstruct) return tuple->node()->inputs().vec();
  const auto& elements = tuple->type()->expectRef<c10::TupleType>().elements();
  Node* unpack = graph.insertNode(graph.create(prim::TupleUnpack, {tuple}, elements.size()));
  if (range) unpack->setSourceRange(range);
  for (size_t i = 0; i < elements.size(); ++i) unpack->output(i)->setType(elements[i]);
  return {unpack->outputs().begin(), unpack->outputs().end()};
}

}  // namespace

Value* applyConversion(Graph& graph, const SourceRange& range, Value* value, const Conversion& conversion) {
  switch (conversion.kind) {
    case Conversion::Kind::None:
      return value;
    case Conversion::Kind::Call:
      return insertOp(graph, conversion.op, {NamedValue(value, range)}, {}, range);
    case Conversion::Kind::Repeat: {
      std::vector<Value*> copies(conversion.count, value);
      return insertTyped(graph, range, prim::ListConstruct, copies, c10::ListType::create(conversion.element));
    }
    case Conversion::Kind::TupleToList: {
      auto elements = unpackTuple(graph, range, value);
      return insertTyped(graph, range, prim::ListConstruct, elements, c10::ListType::create(conversion.element));
    }
    case Conversion::Kind::TupleToTuple: {
      auto elements = unpackTuple(graph, range, value);
      std::vector<TypePtr> types;
      for (size_t i = 0; i < elements.size(); ++i) {
        elements[i] = applyConversion(graph, range, elements[i], conversion.parts[i]);
        types.push_back(elements[i]->type());
      }
      return insertTyped(graph, range, prim::TupleConstruct, elements, c10::TupleType::create(std::move(types)));
    }
    case Conversion::Kind::NewList:
      return insertTyped(graph, range, prim::ListConstruct, {}, c10::ListType::create(conversion.element));
  }
  return value;
}

}  // namespace cresset
