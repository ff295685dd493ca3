// Calls of functions and methods: the callee's schema decides, its body does not matter. So a callee whose result is
// annotated is not compiled for the sake of its callers, and may call itself.
#include "cresset/frontend/calls.h"

#include <ATen/core/class_type.h>

#include "cresset/ir/parser.h"
#include "cresset/support/error.h"

namespace cresset {

std::string typeName(const c10::Type& type) {
  if (auto* tensor = type.castRaw<c10::TensorType>(); tensor && tensor->isInferredType()) return "Tensor (inferred)";
  return type.annotation_str();
}

const c10::FunctionSchema& schemaForCall(torch::jit::Function& function, const SourceRange& range) {
  auto* ours = dynamic_cast<Function*>(&function);
  if (ours && !ours->hasSchema()) {
    if (ours->isBeingDefined()) {
      throw UserError(
          "function '" + function.name() +
              "' is called recursively. Annotate its result (`-> T`) so that its type is "
              "known before its body is compiled",
          range);
    }
    try {
      ours->ensure_defined();
    } catch (const UserError& error) {
      throw error.withCaller(function.name(), range);
    }
  }
  return function.getSchema();
}

namespace {

/// The one result that a call node has: functions of a Program return exactly one value, C++ methods none or one.
Value* finishCall(const SourceRange& range, EmitContext& cx, Node* node, const MatchedSchema& match) {
  for (Value* input : match.inputs) node->addInput(input);
  node->setSourceRange(range);
  TypePtr type = c10::NoneType::get();
  if (match.return_types.size() == 1) type = match.return_types[0];
  if (match.return_types.size() > 1) type = c10::TupleType::create(match.return_types);
  node->output()->setType(std::move(type));
  return cx.graph.insertNode(node)->output();
}

}  // namespace

Value* insertFunctionCall(
    const SourceRange& range, EmitContext& cx, torch::jit::Function& function, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs) {
  const c10::FunctionSchema& schema = schemaForCall(function, range);
  Node* constant = cx.graph.create(prim::Constant);
  constant->setAttribute(attr::name, function.name());
  constant->setSourceRange(range);
  constant->output()->setType(c10::FunctionType::create(&function));
  cx.graph.insertNode(constant);
  MatchedSchema match = matchSchema(schema, cx.graph, range, args, kwargs);
  return finishCall(range, cx, cx.graph.create(prim::CallFunction, {constant->output()}), match);
}

Value* insertMethodCall(
    const SourceRange& range, EmitContext& cx, Value* self, const std::string& name,
    const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs) {
  const c10::FunctionSchema* schema = nullptr;
  if (auto cls = self->type()->cast<c10::ClassType>()) {
    torch::jit::Function* method = cls->findMethod(name);
    if (!method) method = cls->findHook(name);
    if (method) schema = &schemaForCall(*method, range);
  } else if (auto interface = self->type()->cast<c10::InterfaceType>()) {
    schema = interface->getMethod(name);
  }
  if (!schema) throw UserError("'" + typeName(*self->type()) + "' has no method '" + name + "'", range);

  std::vector<NamedValue> with_self{NamedValue(self, range)};
  with_self.insert(with_self.end(), args.begin(), args.end());
  MatchedSchema match = matchSchema(*schema, cx.graph, range, with_self, kwargs);
  Node* node = cx.graph.create(prim::CallMethod);
  node->setAttribute(attr::name, name);
  return finishCall(range, cx, node, match);
}

Value* insertWait(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, const std::optional<NamedValue>& self) {
  static const c10::FunctionSchema schema = parseSchema("aten::wait(Future(t) self) -> t");
  return finishCall(range, cx, cx.graph.create(aten::wait), matchSchema(schema, cx.graph, range, args, kwargs, self));
}

Value* insertAwaitableWait(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, const std::optional<NamedValue>& self) {
  static const c10::FunctionSchema schema = parseSchema("prim::awaitable_wait(Await(t) self) -> t");
  return finishCall(
      range, cx, cx.graph.create(prim::awaitable_wait), matchSchema(schema, cx.graph, range, args, kwargs, self));
}

Value* insertModuleItem(
    const SourceRange& range, EmitContext& cx, Value* container, Value* index, const TypePtr& type) {
  static const Symbol kind = Symbol::fromQualString("prim::ModuleContainerIndex");
  const auto& cls = container->type()->expectRef<c10::ClassType>();
  for (size_t slot = 0; slot < cls.numAttributes(); ++slot) {
    std::ostringstream why;
    const TypePtr& element = cls.getAttribute(slot);
    if (!element->is_module() || element->isSubtypeOfExt(*type, &why)) continue;
    throw UserError(
        "Attribute " + cls.getAttributeName(slot) + " is not of annotated type " + typeName(*type) +
            (why.str().empty() ? "" : ": " + why.str()),
        range);
  }
  Value* item = insertOp(cx.graph, kind, {NamedValue(container, range), NamedValue(index, range)}, {}, range);
  return item->setType(type);
}

void defineInit(const c10::ClassType& type, const SourceRange& range) {
  auto* init = dynamic_cast<Function*>(type.findMethod("__init__"));
  if (!init || init->isDefined() || init->isBeingDefined()) return;
  try {
    init->ensure_defined();
  } catch (const UserError& error) {
    throw error.withCaller(type.name()->name() + ".__init__", range);
  }
}

Value* insertTupleIndex(const SourceRange& range, EmitContext& cx, Value* tuple, size_t index) {
  Node* node = cx.graph.create(prim::TupleIndex, {tuple, cx.graph.insertConstant(static_cast<int64_t>(index))});
  node->setSourceRange(range);
  node->output()->setType(tuple->type()->expectRef<c10::TupleType>().elements().at(index));
  return cx.graph.insertNode(node)->output();
}

Value* insertTuple(const SourceRange& range, EmitContext& cx, const std::vector<Value*>& elements, TypePtr type) {
  if (!type) {
    std::vector<TypePtr> types;
    for (Value* element : elements) types.push_back(element->type());
    type = c10::TupleType::create(std::move(types));
  }
  Node* node = cx.graph.create(prim::TupleConstruct, elements, 1);
  node->setSourceRange(range);
  node->output()->setType(std::move(type));
  return cx.graph.insertNode(node)->output();
}

void requireArgs(const SourceRange& range, const std::string& function, size_t count, size_t args, size_t kwargs) {
  if (args == count && kwargs == 0) return;
  std::string message = function + " expects " + std::to_string(count) + (count == 1 ? " argument" : " arguments");
  message += kwargs ? " and takes no keyword arguments" : " but got " + std::to_string(args);
  throw UserError(message, range);
}

}  // namespace cresset
