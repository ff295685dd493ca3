// Types as callees: making objects and named tuples, static methods, class constants, enum members, exceptions.
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/ivalue.h>

#include "cresset/frontend/calls.h"
#include "cresset/frontend/exceptions.h"
#include "cresset/frontend/iterables.h"
#include "cresset/frontend/resolver.h"
#include "cresset/frontend/user_exceptions.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

Value* createObject(const SourceRange& range, EmitContext& cx, const c10::ClassTypePtr& type) {
  Node* node = cx.graph.create(prim::CreateObject);
  node->setSourceRange(range);
  node->output()->setType(type);
  return cx.graph.insertNode(node)->output();
}

/// `C.__new__(C)`: how archives make an object, before they call its __init__.
class NewObject : public SugaredValue {
 public:
  explicit NewObject(c10::ClassTypePtr type) : type_(std::move(type)) {}
  std::string kind() const override { return "__new__"; }
  bool takesSugared() const override { return true; }  // the argument is the class itself
  SugaredValuePtr callSugared(
      const SourceRange& range, EmitContext& cx, const std::vector<SugaredValuePtr>& args,
      const std::vector<std::pair<std::string, SugaredValuePtr>>& kwargs) override {
    requireArgs(range, "__new__()", 1, args.size(), kwargs.size());
    const TypePtr named = args[0]->asType();
    if (!named || *named != *type_) throw UserError("__new__() expects the class that it is taken from", range);
    return std::make_shared<SimpleValue>(createObject(range, cx, type_));
  }

 private:
  c10::ClassTypePtr type_;
};

c10::IValue enumMember(const c10::EnumTypePtr& type, const c10::EnumNameValue& member) {
  return c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(type, member.first, member.second));
}

Value* enumMembers(EmitContext& cx, const c10::EnumTypePtr& type) {
  c10::impl::GenericList list(type);
  for (const auto& member : type->enumNamesValues()) list.push_back(enumMember(type, member));
  return cx.graph.insertConstant(c10::IValue(list), c10::ListType::create(type));
}

SugaredValuePtr constructTuple(
    const SourceRange& range, EmitContext& cx, const c10::TupleTypePtr& type, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs) {
  if (!type->schema()) throw UserError("cannot call the type " + typeName(*type), range);
  MatchedSchema match = matchSchema(*type->schema(), cx.graph, range, args, kwargs);
  return std::make_shared<SimpleValue>(insertTuple(range, cx, match.inputs, type));
}

}  // namespace

std::string ClassValue::kind() const {
  if (type_->cast<c10::EnumType>()) return "EnumClass";
  return (type_->cast<c10::InterfaceType>() ? "interface '" : "class '") + typeName(*type_) + "'";
}

std::string ClassValue::missingAttr(const std::string& name) const {
  const char* kind = type_->cast<c10::EnumType>() ? "enum '" : "class '";
  return kind + typeName(*type_) + "' has no attribute '" + name + "'";
}

SugaredValuePtr ClassValue::findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) {
  if (auto type = type_->cast<c10::EnumType>()) {
    for (const auto& member : type->enumNamesValues()) {
      if (member.first == name)
        return std::make_shared<SimpleValue>(cx.graph.insertConstant(enumMember(type, member), type));
    }
    return nullptr;
  }
  auto type = type_->cast<c10::ClassType>();
  if (!type) return nullptr;
  if (name == "__new__") return std::make_shared<NewObject>(type);
  torch::jit::Function* function = type->findStaticMethod(name);
  if (!function) function = type->findMethod(name);
  if (auto* ours = dynamic_cast<Function*>(function)) return std::make_shared<FunctionValue>(ours);
  if (function) return std::make_shared<ForeignFunction>(function);
  auto constant = type->findConstant(name);
  if (!constant) constant = type->findConstant(hiddenConstant(name));
  return constant ? std::make_shared<SimpleValue>(cx.graph.insertConstant(*constant)) : nullptr;
}

SugaredValuePtr ClassValue::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  if (auto type = type_->cast<c10::TupleType>()) return constructTuple(range, cx, type, args, kwargs);
  auto type = type_->cast<c10::ClassType>();
  if (!type) throw UserError("cannot call a " + kind(), range);
  if (type->is_module()) {
    throw UserError(
        "Cannot instantiate class '" + type->name()->name() + "' in a script function: modules are made outside",
        range);
  }
  if (!type->findMethod("__init__")) {
    if (type->numAttributes() != 0 || !args.empty() || !kwargs.empty()) {
      throw UserError("Class " + type->name()->name() + " does not have an __init__ function defined", range);
    }
    return std::make_shared<SimpleValue>(createObject(range, cx, type));
  }
  defineInit(*type, range);
  Value* object = createObject(range, cx, type);
  insertMethodCall(range, cx, object, "__init__", args, kwargs);
  return std::make_shared<SimpleValue>(object);
}

std::vector<SugaredValuePtr> ClassValue::asTuple(
    const SourceRange& range, EmitContext& cx, std::optional<size_t> size_hint) {
  auto type = type_->cast<c10::EnumType>();
  if (!type) return SugaredValue::asTuple(range, cx, size_hint);
  std::vector<SugaredValuePtr> members;
  for (const auto& member : type->enumNamesValues()) {
    members.push_back(std::make_shared<SimpleValue>(cx.graph.insertConstant(enumMember(type, member), type)));
  }
  return members;
}

Value* ClassValue::len(const SourceRange& range, EmitContext& cx) {
  auto type = type_->cast<c10::EnumType>();
  if (!type) return SugaredValue::len(range, cx);
  return cx.graph.insertConstant(static_cast<int64_t>(type->enumNamesValues().size()));
}

SugaredValuePtr ClassValue::iter(const SourceRange& range, EmitContext& cx) {
  auto type = type_->cast<c10::EnumType>();
  if (!type) return SugaredValue::iter(range, cx);
  return std::make_shared<SimpleValue>(enumMembers(cx, type));
}

SugaredValuePtr ForeignFunction::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  return std::make_shared<SimpleValue>(insertFunctionCall(range, cx, *function_, args, kwargs));
}

namespace {
constexpr const char* kExceptionMark = "__cresset_exception__";
}

void markException(const c10::ClassTypePtr& type, const std::string& python_class) {
  type->addConstant(kExceptionMark, c10::IValue(python_class));
}

std::optional<std::string> exceptionClassOf(const c10::Type& type) {
  auto* cls = type.castRaw<c10::ClassType>();
  if (!cls) return std::nullopt;
  auto mark = cls->findConstant(kExceptionMark);
  if (!mark) return std::nullopt;
  return mark->toStringRef();
}

SugaredValuePtr valueOfType(const TypePtr& type) {
  if (auto python_class = exceptionClassOf(*type)) return std::make_shared<ExceptionClass>(*python_class);
  return std::make_shared<ClassValue>(type);
}

}  // namespace cresset
