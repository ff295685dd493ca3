// The parts of the special forms that are data: the types that `list` and `tuple` name, dtypes of legacy constructors,
// and how `x.tolist()` is typed.
#include "cresset/frontend/special_forms.h"

#include <c10/core/ScalarType.h>

#include "cresset/frontend/calls.h"
#include "cresset/support/error.h"

namespace cresset {

TypePtr SpecialForm::asType() const {
  switch (form_) {
    case Form::List:
      return c10::AnyListType::get();
    case Form::Tuple:
      return c10::AnyTupleType::get();
    default:
      return nullptr;
  }
}

int64_t legacyTensorDtype(const std::string& name) {
  struct Row {
    const char* name;
    c10::ScalarType dtype;
  };
  static constexpr Row kRows[] = {
      {"FloatTensor", c10::ScalarType::Float}, {"DoubleTensor", c10::ScalarType::Double},
      {"HalfTensor", c10::ScalarType::Half},   {"BFloat16Tensor", c10::ScalarType::BFloat16},
      {"ByteTensor", c10::ScalarType::Byte},   {"CharTensor", c10::ScalarType::Char},
      {"ShortTensor", c10::ScalarType::Short}, {"IntTensor", c10::ScalarType::Int},
      {"LongTensor", c10::ScalarType::Long},   {"BoolTensor", c10::ScalarType::Bool},
  };
  const std::string last = name.substr(name.rfind('.') + 1);
  for (const Row& row : kRows) {
    if (last == row.name) return static_cast<int64_t>(row.dtype);
  }
  throw UserError("'" + name + "' is no legacy tensor type");
}

Value* emitToList(const SourceRange& range, EmitContext& cx, Value* receiver, const TypePtr& type_hint) {
  if (!type_hint) {
    throw UserError("Expected type hint for result of tolist(): write `xs: List[float] = x.tolist()`", range);
  }
  int64_t depth = 0;
  TypePtr element = type_hint;
  while (auto list = element->cast<c10::ListType>()) {
    element = list->getElementType();
    ++depth;
  }
  int64_t code = -1;  // how prim::tolist is told the element type
  switch (element->kind()) {
    case c10::TypeKind::IntType:
      code = 0;
      break;
    case c10::TypeKind::FloatType:
      code = 1;
      break;
    case c10::TypeKind::BoolType:
      code = 2;
      break;
    case c10::TypeKind::ComplexType:
      code = 3;
      break;
    default:
      throw UserError(
          typeName(*element) + " is not one of the supported element types for tolist: int, float, complex, bool",
          range);
  }
  Node* node = cx.graph.create(prim::tolist, {receiver, cx.graph.insertConstant(depth), cx.graph.insertConstant(code)});
  node->setSourceRange(range);
  node->output()->setType(type_hint);
  return cx.graph.insertNode(node)->output();
}

Value* TypeOfValue::asValue(const SourceRange& range, EmitContext& /*cx*/) {
  throw UserError("type() is not supported in TorchScript; use isinstance to test what a value is", range);
}

Value* TypeOfValue::asFormatted(const SourceRange& range, EmitContext& cx) {
  cx.graph.setLocation(range);
  return cx.graph.insertConstant("<class '" + className(range) + "'>");
}

SugaredValuePtr TypeOfValue::findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) {
  if (name != "__name__") return nullptr;
  const std::string path = className(range);
  cx.graph.setLocation(range);
  return std::make_shared<SimpleValue>(cx.graph.insertConstant(path.substr(path.rfind('.') + 1)));
}

std::string TypeOfValue::className(const SourceRange& range) const {
  switch (type_->kind()) {
    case c10::TypeKind::TensorType:
      return "torch.Tensor";
    case c10::TypeKind::DeviceObjType:
      return "torch.device";
    case c10::TypeKind::NoneType:
      return "NoneType";
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::StringType:
      return type_->annotation_str();
    case c10::TypeKind::ListType:
      return "list";
    case c10::TypeKind::DictType:
      return "dict";
    case c10::TypeKind::TupleType:
    case c10::TypeKind::ClassType:
    case c10::TypeKind::EnumType: {
      const auto named = type_->cast<c10::NamedType>();
      if (!named || !named->name()) return "tuple";
      const std::string path = named->name()->qualifiedName();
      constexpr std::string_view kRoot = "__torch__.";
      return path.starts_with(kRoot) ? path.substr(kRoot.size()) : path;
    }
    default:
      throw UserError(
          "type() of a value of type '" + type_->repr_str() +
              "' is not supported in TorchScript: its class isn't known before it runs; use isinstance",
          range);
  }
}

}  // namespace cresset
