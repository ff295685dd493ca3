// First-class values: how attribute access, indexing, iteration and calls on a value of each type become nodes.
//
// Attributes are looked for in the order of torch.jit: what the type itself defines (fields of tensors and devices, of
// named tuples, classes, interfaces, enums), then the builtin operators whose `self` takes a value of this type.
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <algorithm>
#include <array>
#include <functional>

#include "cresset/frontend/calls.h"
#include "cresset/frontend/class_members.h"
#include "cresset/frontend/iterables.h"
#include "cresset/frontend/messages.h"
#include "cresset/frontend/special_forms.h"
#include "cresset/frontend/value_attributes.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"
#include "cresset/support/suggest.h"

namespace cresset {

namespace {

SugaredValuePtr simple(Value* value) {
  return std::make_shared<SimpleValue>(value);
}

std::vector<NamedValue> positional(const SourceRange& range, std::initializer_list<Value*> values) {
  std::vector<NamedValue> args;
  for (Value* value : values) args.emplace_back(value, range);
  return args;
}

/// A call of `cls`'s special method; UserError in attr's words if the class lacks it.
Value* callSpecial(
    const SourceRange& range, EmitContext& cx, Value* self, const char* name, std::initializer_list<Value*> args) {
  SimpleValue(self).attr(range, cx, name);
  return insertMethodCall(range, cx, self, name, positional(range, args), {});
}

bool isIndexable(const c10::Type& type) {
  return type.castRaw<c10::ListType>() || type.castRaw<c10::DictType>() || type.castRaw<c10::StringType>();
}

bool isTensor(const c10::Type& type) {
  return type.isSubtypeOf(*c10::TensorType::get());
}

/// The place of an attribute of the program's; a C++ class keeps its object in one, which is not for programs.
std::optional<size_t> attributeSlot(const c10::ClassType& cls, const std::string& name) {
  const auto slot = cls.findAttributeSlot(name);
  return slot && cls.getAttribute(*slot)->kind() != c10::TypeKind::CapsuleType ? slot : std::nullopt;
}

SugaredValuePtr classAttr(
    const SourceRange& range, EmitContext& cx, Value* self, const c10::ClassTypePtr& cls, const std::string& name) {
  if (cls->findMethod(name) || cls->findHook(name)) return std::make_shared<MethodValue>(self, name);
  if (auto* function = dynamic_cast<Function*>(cls->findStaticMethod(name)))
    return std::make_shared<FunctionValue>(function);
  // A property before the slot: the getter of a lazily declared class may read an attribute of the same name.
  if (auto property = cls->getProperty(name))
    return simple(insertMethodCall(range, cx, self, property->getter->name(), {}, {}));
  if (!cls->findAttributeSlot(name)) defineInit(*cls, range);
  if (auto slot = attributeSlot(*cls, name)) {
    Node* node = cx.graph.create(prim::GetAttr, {self});
    node->setAttribute(attr::name, name);
    node->setSourceRange(range);
    node->output()->setType(cls->getAttribute(*slot));
    return simple(cx.graph.insertNode(node)->output());
  }
  if (auto constant = cls->findConstant(name)) return simple(cx.graph.insertConstant(*constant));
  return nullptr;
}

/// Whether this assignment is the first one to an attribute in the class's own __init__, which declares it; or in the
/// part of it that dataclasses have for that.
bool mayDeclare(EmitContext& cx, Value* self) {
  const bool constructs =
      cx.function == "__init__" || cx.function.ends_with(".__init__") || cx.function == "__post_init__";
  if (!constructs) return false;
  return !cx.graph.inputs().empty() && self == cx.graph.inputs()[0];
}

/// Whether a method that __init__ calls was compiled before __init__ was done, and read the class attribute `name`.
bool wasReadAsConstant(EmitContext& cx, const c10::ClassType& cls, const std::string& name) {
  const std::function<bool(const Block*)> reads = [&](const Block* block) {
    for (const Node* node : block->nodes()) {
      if (node->kind() == prim::Constant && node->sourceRange().text().find(name) != std::string_view::npos)
        return true;
      for (const Block* inner : node->blocks()) {
        if (reads(inner)) return true;
      }
    }
    return false;
  };
  for (torch::jit::Function* method : cls.methods()) {
    auto* ours = dynamic_cast<Function*>(method);
    if (!ours || ours->name() == "__init__") continue;
    if (ours->isBeingDefined() || (ours->isDefined() && reads(ours->graph()->block()))) return true;
  }
  return false;
}

/// Whether anything else than this function may have seen `self` by now.
bool isShared(const Value* self) {
  return std::any_of(self->uses().begin(), self->uses().end(), [](const Use& use) {
    return use.user->kind() != prim::GetAttr && use.user->kind() != prim::SetAttr;
  });
}

/// `name` becomes an attribute of the class, whose __init__ is being compiled and assigns it for the first time. If the
/// class has a class attribute of that name, that is what Python finds on the object until then.
void declareAttribute(
    const SourceRange& range, EmitContext& cx, Value* self, c10::ClassType& cls, const std::string& name,
    TypePtr type) {
  const auto otherwise = cls.findConstant(name);
  if (!mayDeclare(cx, self)) {
    if (otherwise) {
      throw UserError(
          "Can't set constant '" + name + "' of class '" + typeName(cls) +
              "'; a class attribute that __init__ assigns too can be set",
          range);
    }
    throw UserError(
        "Tried to set nonexistent attribute: " + name + ". Did you forget to initialize it in __init__()?", range);
  }
  const bool top_level = cx.graph.insertBlock() == cx.graph.block();
  const bool fits = otherwise && otherwise->type()->isSubtypeOf(*type);
  if (!top_level && !fits) {
    throw UserError(
        "First assignment cannot be in a control-flow block. Initialize the field at the top level first", range);
  }
  if (cls.findMethod(name) || cls.findStaticMethod(name)) {
    throw UserError("attribute '" + name + "' has the name of a method", range);
  }
  if (otherwise && wasReadAsConstant(cx, cls, name)) {
    throw UserError(
        "the class attribute '" + name +
            "' is assigned here after a method that reads it was called; assign it before the call, or annotate the "
            "method's result",
        range);
  }
  const bool needs_default = otherwise && (!top_level || isShared(self));
  if (needs_default && !fits) {
    throw UserError(
        "the class attribute '" + name + "' is assigned a value of another type here, " + typeName(*type) +
            ", after `self` was passed on; assign it before that",
        range);
  }
  if (otherwise) {
    cls.unsafeRemoveConstant(name);
    cls.addConstant(hiddenConstant(name), *otherwise);
  }
  requireFewMembers(cx.program, typeName(cls), cls.numAttributes() + 1, range);
  cls.addAttribute(name, std::move(type));
  if (!needs_default) return;
  InsertPointGuard at(cx.graph, *cx.graph.block()->nodes().begin());
  Node* node = cx.graph.create(prim::SetAttr, {self, cx.graph.insertConstant(*otherwise)}, 0);
  node->setAttribute(attr::name, name);
  node->setSourceRange(range);
  cx.graph.insertNode(node);
}

/// The position that a constant tuple index means; UserError if out of range.
size_t tuplePosition(const SourceRange& range, int64_t index, size_t size) {
  const int64_t n = static_cast<int64_t>(size);
  if (index < -n || index >= n) {
    throw UserError(messages::tupleIndex(n, index), range);
  }
  return static_cast<size_t>(index < 0 ? index + n : index);
}

/// Runs a module's hooks around its forward, as nn.Module's __call__ does.
SugaredValuePtr callModule(
    const SourceRange& range, EmitContext& cx, Value* self, const c10::ClassType& cls, std::vector<NamedValue> args,
    const std::vector<NamedValue>& kwargs) {
  const auto& pre_hooks = cls.getForwardPreHooks();
  const auto& hooks = cls.getForwardHooks();
  if (pre_hooks.empty() && hooks.empty()) return simple(insertMethodCall(range, cx, self, "forward", args, kwargs));

  auto inputTuple = [&] {
    std::vector<Value*> values;
    for (const NamedValue& arg : args) values.push_back(arg.get(cx.graph));
    return insertTuple(range, cx, values);
  };
  for (torch::jit::Function* hook : pre_hooks) {
    Value* result = insertMethodCall(range, cx, self, hook->name(), positional(range, {inputTuple()}), {});
    if (result->type()->kind() == c10::TypeKind::NoneType) continue;
    args.clear();
    if (result->type()->castRaw<c10::TupleType>()) {
      for (const auto& element : SimpleValue(result).asTuple(range, cx))
        args.emplace_back(element->asValue(range, cx), range);
    } else {
      args.emplace_back(result, range);
    }
  }
  Value* output = insertMethodCall(range, cx, self, "forward", args, kwargs);
  for (torch::jit::Function* hook : hooks) {
    Value* result = insertMethodCall(range, cx, self, hook->name(), positional(range, {inputTuple(), output}), {});
    if (result->type()->kind() != c10::TypeKind::NoneType) output = result;
  }
  return simple(output);
}

}  // namespace

std::string SimpleValue::kind() const {
  return "value of type '" + typeName(*value_->type()) + "'";
}

std::string SimpleValue::missingAttr(const std::string& name) const {
  const TypePtr& type = value_->type();
  std::string message = "'" + typeName(*type) + "' object has no attribute or method '" + name + "'.";
  if (isTensor(*type) && name == "numpy") return message + " Scripts have no NumPy.";
  std::vector<std::string> known;
  if (auto cls = type->cast<c10::ClassType>()) {
    known = namesOf(*cls);
  } else {
    const std::string prefix = "aten::";
    for (const std::string& other : OperatorTable::get().similarNames(Symbol::aten(name))) {
      if (isBuiltinMethod(Symbol::fromQualString(other), type)) known.push_back(other.substr(prefix.size()));
    }
  }
  if (const std::string similar = similarName(name, known); !similar.empty())
    return message + " Did you mean '" + similar + "'?";
  if (type->cast<c10::ClassType>()) message += " Did you forget to initialize an attribute in __init__()?";
  if (type->cast<c10::OptionalType>()) message += " It may be None: test it with `is not None` first.";
  return message;
}

SugaredValuePtr SimpleValue::findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) {
  const TypePtr& type = value_->type();
  if (auto tuple = type->cast<c10::TupleType>()) {
    if (auto names = tuple->names()) {
      auto it = std::find(names->begin(), names->end(), name);
      if (it != names->end())
        return simple(insertTupleIndex(range, cx, value_, static_cast<size_t>(it - names->begin())));
    }
  } else if (auto cls = type->cast<c10::ClassType>()) {
    return classAttr(range, cx, value_, cls, name);
  } else if (auto interface = type->cast<c10::InterfaceType>()) {
    return interface->getMethod(name) ? std::make_shared<MethodValue>(value_, name) : nullptr;
  } else if (type->kind() == c10::TypeKind::AwaitType) {
    // An awaitable has the attributes of its result.
    Value* result = insertAwaitableWait(range, cx, {NamedValue(value_, range)}, {}, std::nullopt);
    return SimpleValue(result).findAttr(range, cx, name);
  }
  return attributeOfValue(range, cx, value_, name);
}

void SimpleValue::setAttr(const SourceRange& range, EmitContext& cx, const std::string& name, Value* value) {
  auto cls = value_->type()->cast<c10::ClassType>();
  if (!cls) {
    throw UserError("Tried to set an attribute: " + name + " on a non-class: " + typeName(*value_->type()), range);
  }
  if (auto property = cls->getProperty(name)) {
    if (!property->setter)
      throw UserError("Tried to set read-only attribute: " + name + ", a property that has no setter", range);
    insertMethodCall(range, cx, value_, property->setter->name(), positional(range, {value}), {});
    return;
  }
  if (!cls->findAttributeSlot(name)) defineInit(*cls, range);
  if (!attributeSlot(*cls, name)) declareAttribute(range, cx, value_, *cls, name, value->type());
  const TypePtr& expected = cls->getAttribute(name);
  Value* converted = tryConvertTo(cx.graph, range, value, expected, /*allow_conversions=*/true);
  if (!converted || !converted->type()->isSubtypeOf(*expected)) {
    std::string advice;
    if (expected->kind() == c10::TypeKind::NoneType) {
      TypePtr given = value->type();
      if (const auto optional = given->cast<c10::OptionalType>()) given = optional->getElementType();
      const bool tensor = given->kind() == c10::TypeKind::TensorType;
      const std::string wanted = name + ": Optional[" + (tensor ? "Tensor" : typeName(*given)) + "]";
      advice =
          cls->is_module()
              ? ". '" + name + "' was None, which shows no other type; annotate it in the class's body, `" + wanted +
                    "`"
              : ". '" + name + "' is None where __init__ assigns it; annotate it there, `self." + wanted + " = None`";
    }
    throw UserError(
        "Wrong type for attribute assignment. Expected " + typeName(*expected) + " but got " +
            typeName(*value->type()) + advice,
        range);
  }
  Node* node = cx.graph.create(prim::SetAttr, {value_, converted}, 0);
  node->setAttribute(attr::name, name);
  node->setSourceRange(range);
  cx.graph.insertNode(node);
}

SugaredValuePtr SimpleValue::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  const TypePtr& type = value_->type();
  if (auto cls = type->cast<c10::ClassType>()) {
    if (cls->is_module()) return callModule(range, cx, value_, *cls, args, kwargs);
    return attr(range, cx, "__call__")->call(range, cx, args, kwargs, num_binders);
  }
  if (auto interface = type->cast<c10::InterfaceType>()) {
    return attr(range, cx, interface->is_module() ? "forward" : "__call__")->call(range, cx, args, kwargs, num_binders);
  }
  if (auto function = type->cast<c10::FunctionType>()) {
    return simple(insertFunctionCall(range, cx, *function->function(), args, kwargs));
  }
  throw UserError("cannot call a value of type '" + type->annotation_str() + "'", range);
}

std::vector<SugaredValuePtr> SimpleValue::asTuple(
    const SourceRange& range, EmitContext& cx, std::optional<size_t> size_hint) {
  const TypePtr& type = value_->type();
  std::vector<TypePtr> element_types;
  Symbol kind = prim::TupleUnpack;
  if (auto tuple = type->cast<c10::TupleType>()) {
    element_types = tuple->elements().vec();
  } else if (auto list = type->cast<c10::ListType>()) {
    if (!size_hint) throw UserError("cannot statically infer the expected size of a list in this context", range);
    element_types.assign(*size_hint, list->getElementType());
    kind = prim::ListUnpack;
  } else if (isTensor(*type) && size_hint) {
    Value* dim = cx.graph.insertConstant(static_cast<int64_t>(0));
    Value* rows = insertOp(cx.graph, aten::unbind, positional(range, {value_, dim}), {}, range);
    return SimpleValue(rows).asTuple(range, cx, size_hint);
  } else if (type->kind() == c10::TypeKind::AnyTupleType) {
    throw UserError(
        "Provided tuple is not fully defined/refined including its element types, please provide a value of type "
        "like Tuple[int, int]",
        range);
  } else {
    throw UserError(messages::noTuple(typeName(*type)), range);
  }
  Node* node = cx.graph.create(kind, {value_}, element_types.size());
  node->setSourceRange(range);
  cx.graph.insertNode(node);
  std::vector<SugaredValuePtr> elements;
  for (size_t i = 0; i < element_types.size(); ++i)
    elements.push_back(simple(node->output(i)->setType(element_types[i])));
  return elements;
}

Value* SimpleValue::len(const SourceRange& range, EmitContext& cx) {
  const TypePtr& type = value_->type();
  if (auto size = staticLen()) return cx.graph.insertConstant(static_cast<int64_t>(*size));
  if (type->cast<c10::ClassType>() || type->cast<c10::InterfaceType>())
    return callSpecial(range, cx, value_, "__len__", {});
  if (!isIndexable(*type) && !isTensor(*type)) {
    throw UserError("'" + typeName(*type) + "' object has no len()", range);
  }
  return insertOp(cx.graph, aten::len, positional(range, {value_}), {}, range);
}

SugaredValuePtr SimpleValue::getItem(
    const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint) {
  const TypePtr& type = value_->type();
  if (isIndexable(*type)) {
    return simple(insertOp(cx.graph, aten::__getitem__, positional(range, {value_, index}), {}, range));
  }
  if (auto tuple = type->cast<c10::TupleType>()) {
    const auto elements = tuple->elements();
    if (auto constant = toIValue(index); constant && constant->isInt()) {
      return simple(insertTupleIndex(range, cx, value_, tuplePosition(range, constant->toInt(), elements.size())));
    }
    const bool uniform =
        !elements.empty() && index->type()->kind() == c10::TypeKind::IntType &&
        std::all_of(elements.begin(), elements.end(), [&](const TypePtr& e) { return *e == *elements[0]; });
    if (!uniform) {
      throw UserError(messages::dynamicTupleIndex(typeName(*type)), range);
    }
    Node* node = cx.graph.create(prim::TupleIndex, {value_, index});
    node->setSourceRange(range);
    node->output()->setType(elements[0]);
    return simple(cx.graph.insertNode(node)->output());
  }
  if (isTensor(*type)) {
    Value* dim = cx.graph.insertConstant(static_cast<int64_t>(0));
    return simple(insertOp(cx.graph, aten::select, positional(range, {value_, dim, index}), {}, range));
  }
  if (auto cls = type->cast<c10::ClassType>();
      cls && cls->is_module() && type_hint && !cls->findMethod("__getitem__")) {
    return simple(insertModuleItem(range, cx, value_, index, type_hint));  // how archives write it
  }
  if (type->cast<c10::ClassType>() || type->cast<c10::InterfaceType>()) {
    return simple(callSpecial(range, cx, value_, "__getitem__", {index}));
  }
  throw UserError("'" + typeName(*type) + "' object is not subscriptable", range);
}

void SimpleValue::setItem(const SourceRange& range, EmitContext& cx, Value* index, Value* value) {
  const TypePtr& type = value_->type();
  if (type->cast<c10::ClassType>() || type->cast<c10::InterfaceType>()) {
    callSpecial(range, cx, value_, "__setitem__", {index, value});
    return;
  }
  if (isTensor(*type)) {
    Value* slice = getItem(range, cx, index)->asValue(range, cx);
    if (!isTensor(*value->type())) {
      const std::vector<NamedValue> receiver = positional(range, {slice});
      Value* dtype = insertOp(cx.graph, prim::dtype, receiver, {}, range);
      Value* device = insertOp(cx.graph, prim::device, receiver, {}, range);
      value = insertOp(
          cx.graph, aten::tensor, positional(range, {value}),
          {NamedValue(dtype, range, "dtype"), NamedValue(device, range, "device")}, range);
    }
    insertOp(cx.graph, aten::copy_, positional(range, {slice, value}), {}, range);
    return;
  }
  if (!type->cast<c10::ListType>() && !type->cast<c10::DictType>()) {
    throw UserError("'" + typeName(*type) + "' object does not support item assignment", range);
  }
  insertOp(cx.graph, aten::_set_item, positional(range, {value_, index, value}), {}, range);
}

void SimpleValue::delItem(const SourceRange& range, EmitContext& cx, Value* index) {
  const TypePtr& type = value_->type();
  if (auto cls = type->cast<c10::ClassType>()) {
    if (!cls->findMethod("__delitem__")) throw UserError("Class does not define __delitem__", range);
    callSpecial(range, cx, value_, "__delitem__", {index});
    return;
  }
  if (!type->cast<c10::ListType>() && !type->cast<c10::DictType>()) {
    throw UserError("'" + typeName(*type) + "' object does not support item deletion", range);
  }
  insertOp(cx.graph, aten::Delete, positional(range, {value_, index}), {}, range);
}

bool SimpleValue::contains(const SourceRange& range, EmitContext& cx, Value*& result, Value* element) {
  const TypePtr& type = value_->type();
  if (type->cast<c10::ClassType>() || type->cast<c10::InterfaceType>()) {
    result = callSpecial(range, cx, value_, "__contains__", {element});
  } else {
    result = insertOp(cx.graph, aten::__contains__, positional(range, {value_, element}), {}, range);
  }
  return true;
}

SugaredValuePtr SimpleValue::iter(const SourceRange& range, EmitContext& cx) {
  const TypePtr& type = value_->type();
  if (type->cast<c10::ListType>() || type->cast<c10::StringType>() || isTensor(*type)) return shared_from_this();
  if (type->cast<c10::DictType>()) {
    return simple(insertOp(cx.graph, aten::keys, positional(range, {value_}), {}, range));
  }
  if (type->cast<c10::TupleType>()) return std::make_shared<SugaredTuple>(asTuple(range, cx));
  throw UserError("'" + typeName(*type) + "' object is not iterable", range);
}

std::optional<size_t> SimpleValue::staticLen() const {
  if (auto tuple = value_->type()->cast<c10::TupleType>()) return tuple->elements().size();
  return std::nullopt;
}

}  // namespace cresset
