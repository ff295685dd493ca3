// What every SugaredValue does unless its class says otherwise: complain, naming itself; and the three kinds of callee,
// which differ in how a call is typed: an operator by overload ranking, a function by its schema, a method by the class
// or interface of its object.
#include "cresset/frontend/sugared_value.h"

#include "cresset/frontend/calls.h"
#include "cresset/frontend/iterables.h"
#include "cresset/frontend/messages.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"

namespace cresset {

Value* SugaredValue::asValue(const SourceRange& range, EmitContext& cx) {
  throw UserError(kind() + " cannot be used as a value", range);
}

SugaredValuePtr SugaredValue::findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) {
  return nullptr;
}

SugaredValuePtr SugaredValue::attr(const SourceRange& range, EmitContext& cx, const std::string& name) {
  if (auto found = findAttr(range, cx, name)) return found;
  throw UserError(missingAttr(name), range);
}

std::string SugaredValue::missingAttr(const std::string& name) const {
  return kind() + " has no attribute '" + name + "'";
}

void SugaredValue::setAttr(const SourceRange& range, EmitContext& cx, const std::string& name, Value* value) {
  throw UserError("attribute assignment is not defined on " + kind(), range);
}

SugaredValuePtr SugaredValue::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  throw UserError("cannot call a " + kind(), range);
}

SugaredValuePtr SugaredValue::callSugared(
    const SourceRange& range, EmitContext& cx, const std::vector<SugaredValuePtr>& args,
    const std::vector<std::pair<std::string, SugaredValuePtr>>& kwargs) {
  std::vector<NamedValue> values, named;
  for (const auto& arg : args) values.emplace_back(arg->asValue(range, cx), range);
  for (const auto& [name, arg] : kwargs) named.emplace_back(arg->asValue(range, cx), range, name);
  return call(range, cx, values, named, 1);
}

std::vector<SugaredValuePtr> SugaredValue::asTuple(
    const SourceRange& range, EmitContext& cx, std::optional<size_t> size_hint) {
  throw UserError(messages::noTuple(kind()), range);
}

Value* SugaredValue::len(const SourceRange& range, EmitContext& cx) {
  throw UserError(kind() + " has no len()", range);
}

SugaredValuePtr SugaredValue::getItem(
    const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint) {
  throw UserError(kind() + " is not subscriptable", range);
}

void SugaredValue::setItem(const SourceRange& range, EmitContext& cx, Value* index, Value* value) {
  throw UserError(kind() + " does not support item assignment", range);
}

void SugaredValue::delItem(const SourceRange& range, EmitContext& cx, Value* index) {
  throw UserError(kind() + " does not support item deletion", range);
}

bool SugaredValue::contains(const SourceRange& range, EmitContext& cx, Value*& result, Value* element) {
  throw UserError("`in` is not defined on " + kind(), range);
}

SugaredValuePtr SugaredValue::iter(const SourceRange& range, EmitContext& cx) {
  throw UserError(kind() + " is not iterable", range);
}

SugaredValuePtr BuiltinFunction::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  if (name_ == aten::wait) return std::make_shared<SimpleValue>(insertWait(range, cx, args, kwargs, self_));
  if (name_ == prim::awaitable_wait) return resultFor(insertAwaitableWait(range, cx, args, kwargs, self_), num_binders);
  if ((name_ == aten::div || name_ == aten::pow) && args.size() == 2 && kwargs.empty() && !self_) {
    Value *left = args[0].get(cx.graph), *right = args[1].get(cx.graph);
    makeBothComplex(range, cx.graph, name_, left, right);
    const std::vector<NamedValue> converted{NamedValue(left, args[0].range), NamedValue(right, args[1].range)};
    return resultFor(insertOp(cx.graph, name_, converted, {}, range), num_binders);
  }
  return resultFor(insertOp(cx.graph, name_, args, kwargs, range, self_), num_binders);
}

void makeBothComplex(const SourceRange& range, Graph& graph, Symbol kind, Value*& left, Value*& right) {
  if (kind != aten::div && kind != aten::pow) return;
  const auto convert = [&](Value* other, Value*& number) {
    const c10::TypeKind type = number->type()->kind();
    const bool has_overload = type == c10::TypeKind::FloatType && kind == aten::pow;
    const bool is_real =
        type == c10::TypeKind::IntType || type == c10::TypeKind::BoolType || type == c10::TypeKind::FloatType;
    if (other->type()->kind() == c10::TypeKind::ComplexType && is_real && !has_overload)
      number = insertOp(graph, Symbol::aten("Complex"), {NamedValue(number, range)}, {}, range);
  };
  convert(left, right);
  convert(right, left);
}

static bool isNumber(const c10::Type& type) {
  return type.isSubtypeOf(*c10::NumberType::get()) || type.kind() == c10::TypeKind::BoolType;
}

SugaredValuePtr OverloadFunction::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  // Python takes a number for a tensor, as in the code of torch.fx: `torch.ops.aten.mul.Tensor(x, 2)`.
  if (op_.schema().overload_name() == "Tensor" && args.size() > 1 && isNumber(*args[1].type())) {
    const Operator* of_number = OperatorTable::get().find(op_.schema().name() + ".Scalar");
    if (of_number) return resultFor(insertOverload(cx.graph, *of_number, args, kwargs, range), num_binders);
  }
  return resultFor(insertOverload(cx.graph, op_, args, kwargs, range), num_binders);
}

std::string OverloadedFunction::missingAttr(const std::string& name) const {
  return std::string("the operator ") + name_.toQualString() + " has no overload '" + name + "'";
}

SugaredValuePtr OverloadedFunction::findAttr(const SourceRange&, EmitContext&, const std::string& name) {
  const std::string overload = name == "default" ? "" : "." + name;
  const Operator* op = OperatorTable::get().find(name_.toQualString() + overload);
  return op ? std::make_shared<OverloadFunction>(*op) : nullptr;
}

Value* FunctionValue::asValue(const SourceRange& range, EmitContext& cx) {
  Node* node = cx.graph.create(prim::Constant);
  node->setAttribute(attr::name, function_->name());
  node->setSourceRange(range);
  node->output()->setType(c10::FunctionType::create(function_));
  return cx.graph.insertNode(node)->output();
}

SugaredValuePtr FunctionValue::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  return std::make_shared<SimpleValue>(insertFunctionCall(range, cx, *function_, args, kwargs));
}

SugaredValuePtr MethodValue::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  return std::make_shared<SimpleValue>(insertMethodCall(range, cx, self_, name_, args, kwargs));
}

}  // namespace cresset
