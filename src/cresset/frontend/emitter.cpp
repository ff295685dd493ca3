// One function: parameters, the body, its return value and its schema. See emitter_impl.h.
#include "cresset/frontend/emitter.h"

#include "cresset/frontend/emitter_impl.h"
#include "cresset/frontend/messages.h"
#include "cresset/frontend/tidy.h"

namespace cresset {

void emitFunction(Function& function, const Def& def, const ResolverPtr& resolver, const TypePtr& self_type) {
  auto graph = Graph::make();
  FunctionEmitter emitter(function, std::move(graph), FunctionBody{def, resolver, self_type, nullptr});
  emitter.run();
}

Graph& compileBody(Function& function, const FunctionBody& body) {
  const std::shared_ptr<Graph> graph = Graph::make();
  FunctionEmitter(function, graph, body).run();
  return *graph;  // which the function holds by now
}

FunctionEmitter::FunctionEmitter(Function& target, std::shared_ptr<Graph> graph, const FunctionBody& body)
    : EmitContext(*graph, target.program(), target.qualname().name()),
      target_(target),
      def_(body.def),
      resolver_(body.resolver),
      builtins_(builtinResolver()),
      type_resolver_(resolver_ ? resolver_ : builtins_),
      self_type_(body.self_type),
      self_(body.self),
      owner_(std::move(graph)) {}

void FunctionEmitter::run() {
  const bool declared = target_.hasSchema();
  c10::FunctionSchema schema = declared ? target_.getSchema() : schemaOf(def_, program, type_resolver_, self_type_);
  const bool annotated = declared || def_.decl().returnType().present();
  if (annotated && schema.returns().size() == 1) declared_result_ = schema.returns()[0].type();

  env_.push();
  graph.setInsertPoint(graph.block());
  graph.setLocation(def_.range());
  emitParameters(schema);

  const ListView<Stmt> body = def_.body();
  size_t first = 0;
  if (!body.empty() && body[0].kind() == TK_EXPR_STMT) {
    const Expr expr = ExprStmt(body[0].tree()).expr();
    if (expr.kind() == TK_STRINGLITERAL) {
      target_.setDocString(StringLiteral(expr.tree()).text());
      first = 1;
    }
  }
  Flow flow = emitStatements(body, first, body.size());
  if (!flow.ends()) {
    flow = flow.falls.isTrue() ? emitImplicitReturn() : guard(def_.range(), flow, [&] { return emitImplicitReturn(); });
  }
  Value* result = flow.result;
  if (!merged_result_) merged_result_ = declared_result_ ? declared_result_ : c10::NoneType::get();
  if (!result) {
    // Every path raises, so that this value is never seen.
    result = uninitializedIn(graph.block(), merged_result_);
  }
  finish(result);
  if (!declared) {
    std::vector<c10::Argument> returns;
    returns.emplace_back("", merged_result_);
    target_.setSchema(c10::FunctionSchema(
        schema.name(), schema.overload_name(), schema.arguments(), std::move(returns), schema.is_vararg(),
        schema.is_varret()));
  }
}

void FunctionEmitter::emitParameters(const c10::FunctionSchema& schema) {
  const ListView<Param> params = def_.decl().params();
  if (params.size() != schema.arguments().size()) {
    throw UserError(
        "'" + function + "' is declared with " + std::to_string(schema.arguments().size()) +
            " parameters, but its definition has " + std::to_string(params.size()),
        def_.range());
  }
  for (size_t i = 0; i < params.size(); ++i) {
    const Param param = params[i];
    const std::string& name = param.name().name();
    if (env_.find(name)) throw UserError(messages::parameterTwice(name), param.range());
    const TypePtr& type = schema.arguments()[i].type();
    Value* input = graph.addInput(name)->setType(type);
    Binding binding;
    if (i == 0 && self_) {
      binding.sugared = self_(input);
    } else {
      binding = Binding::of(input, type);
    }
    env_.bind(name, std::move(binding));
  }
}

Flow FunctionEmitter::emitReturn(const SourceRange& range, Value* value) {
  if (declared_result_) {
    // A forgotten value must not become an undefined Tensor, which None would convert to.
    const bool none_for_tensor =
        value->type()->isSubtypeOf(*c10::NoneType::get()) && declared_result_->isSubtypeOf(*c10::TensorType::get());
    if (!none_for_tensor) {
      if (Value* converted = tryConvertTo(graph, range, value, declared_result_, /*allow_conversions=*/true))
        value = converted;
    }
    if (none_for_tensor || !value->type()->isSubtypeOf(*declared_result_)) {
      throw UserError(
          "Return value was annotated as having type " + declared_result_->repr_str() + " but is actually of type " +
              value->type()->repr_str(),
          range);
    }
    merged_result_ = declared_result_;
  } else if (!merged_result_) {
    merged_result_ = value->type();
  } else {
    auto unified = c10::unifyTypes(merged_result_, value->type());
    if (!unified) {
      throw UserError(
          "Previous return statement returned a value of type " + merged_result_->repr_str() +
              " but this return statement returns a value of type " + value->type()->repr_str(),
          range);
    }
    merged_result_ = *unified;
  }
  return Flow::returned(value);
}

Flow FunctionEmitter::emitImplicitReturn() {
  // The end of the body is reached on some path, which returns None, as in Python.
  if (declared_result_ && declared_result_->kind() != c10::TypeKind::NoneType &&
      declared_result_->kind() != c10::TypeKind::AnyType) {
    throw UserError(
        "Function was not annotated as having type None, but does not return along all paths", def_.range());
  }
  return emitReturn(def_.range(), none(def_.range()));
}

void FunctionEmitter::finish(Value* result) {
  graph.setLocation(def_.range());
  graph.registerOutput(result);
  env_.pop();
  for (Node* node : widenings_) {
    if (node->isErased()) continue;
    Value* inner = node->input();
    node->output()->replaceAllUsesWith(inner);
    node->destroy();
  }
  tidy(graph);
  target_.setGraph(owner_);
}

void FunctionEmitter::enterBlock(const SourceRange& range) {
  if (block_depth_ >= kMaxBlockDepth) {
    throw UserError(
        "blocks are nested more than " + std::to_string(kMaxBlockDepth) +
            " deep; move some of them into a function of their own",
        range);
  }
  ++block_depth_;
}

Value* FunctionEmitter::insert(
    const SourceRange& range, Symbol kind, std::initializer_list<Value*> inputs, TypePtr type) {
  graph.setLocation(range);
  return graph.insertNode(graph.create(kind, inputs, 1))->output()->setType(std::move(type));
}

Value* FunctionEmitter::constant(const SourceRange& range, const c10::IValue& value) {
  graph.setLocation(range);
  return graph.insertConstant(value);
}

Value* FunctionEmitter::builtin(const SourceRange& range, Symbol kind, std::initializer_list<Value*> args) {
  std::vector<NamedValue> named;
  for (Value* arg : args) named.emplace_back(arg, range);
  graph.setLocation(range);
  return insertOp(graph, kind, named, {}, range);
}

Value* FunctionEmitter::cast(const SourceRange& range, Value* value, const TypePtr& type) {
  return insert(range, prim::unchecked_cast, {value}, type);
}

Value* FunctionEmitter::widen(const SourceRange& range, Value* value, const TypePtr& type) {
  if (sameType(value->type(), type)) return value;
  Value* wide = cast(range, value, type);
  widenings_.push_back(wide->node());
  return wide;
}

}  // namespace cresset
