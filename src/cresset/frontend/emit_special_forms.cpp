// Calls that the emitter gives meaning to itself. See special_forms.h.
#include <algorithm>
#include <unordered_map>

#include "cresset/frontend/emitter_impl.h"
#include "cresset/frontend/messages.h"
#include "cresset/frontend/prelude.h"

namespace cresset {

void FunctionEmitter::checkArity(const Apply& apply, const std::string& name, size_t least, size_t most) {
  const size_t n = apply.inputs().size();
  if (!apply.attributes().empty()) throw UserError(messages::noKeywords(name), apply.range());
  if (n >= least && n <= most) return;
  throw UserError(
      name + " expects " + (least == most ? "" : "between " + std::to_string(least) + " and ") + std::to_string(most) +
          " arguments but found " + std::to_string(n),
      apply.range());
}

std::string FunctionEmitter::attributeName(const Apply& apply, const char* function) {
  const Expr name = apply.inputs()[1];
  if (name.kind() != TK_STRINGLITERAL) {
    throw UserError(std::string(function) + "'s second argument must be a string literal", name.range());
  }
  return StringLiteral(name.tree()).text();
}

bool FunctionEmitter::hasAttribute(const SourceRange& range, const SugaredValuePtr& object, const std::string& name) {
  Value* value = simpleValueOf(object);
  if (!value) return object->findAttr(range, *this, name) != nullptr;
  const TypePtr& type = value->type();
  if (auto cls = type->cast<c10::ClassType>()) {
    return cls->hasAttribute(name) || cls->findMethod(name) || cls->hasConstant(name) || cls->getProperty(name);
  }
  if (auto interface = type->cast<c10::InterfaceType>()) return interface->getMethod(name) != nullptr;
  if (auto tuple = type->cast<c10::TupleType>(); tuple && tuple->schema()) {
    return tuple->schema()->argumentIndexWithName(name).has_value();
  }
  throw UserError(
      std::string("hasattr's first argument must be an object or NamedTuple, ") +
          (type->kind() == c10::TypeKind::TupleType ? "but got a normal Tuple " : "got ") + type->repr_str() +
          " instead",
      range);
}

SugaredValuePtr FunctionEmitter::emitSpecialForm(const SpecialForm& form, const Apply& apply, const TypePtr& hint) {
  const SourceRange& range = apply.range();
  const ListView<Expr> inputs = apply.inputs();
  switch (form.form()) {
    case Form::Annotate: {
      checkArity(apply, form.name(), 2, 2);
      const TypePtr type = annotationType(inputs[0]);
      Value* value = emitExpr(inputs[1], type);
      if (Value* converted = tryConvertTo(graph, range, value, type, /*allow_conversions=*/true)) value = converted;
      if (!value->type()->isSubtypeOf(*type)) {
        throw UserError(
            std::string(
                inputs[1].kind() == TK_LIST_COMP ? "Expected an annotation of type List for a comprehension: " : "") +
                "expected an expression of type " + type->repr_str() + " but found " + value->type()->repr_str(),
            inputs[1].range());
      }
      return simple(widen(range, value, type));
    }
    case Form::Uninitialized: {
      checkArity(apply, form.name(), 1, 1);
      return simple(insert(range, prim::Uninitialized, {}, annotationType(inputs[0])));
    }
    case Form::UncheckedCast: {
      checkArity(apply, form.name(), 2, 2);
      const TypePtr type = annotationType(inputs[0]);
      Value* value = emitExpr(inputs[1]);
      if (sameType(value->type(), type)) return simple(value);
      // A cast to a wider type is kept too: the archive's text says so.
      return simple(value->type()->isSubtypeOf(*type) ? cast(range, value, type) : checkedCast(range, value, type));
    }
    case Form::IsInstance:
      return simple(valueOf(range, emitIsInstance(apply)));
    case Form::HasAttr:
      return simple(valueOf(range, emitHasAttr(apply)));
    case Form::GetAttr:
      return emitGetAttr(apply);
    case Form::Fork:
      return emitFork(apply);
    case Form::Awaitable:
      return emitAwaitable(apply);
    case Form::List:
      return simple(emitListCall(apply, hint));
    case Form::Dict:
      return simple(emitDictCall(apply, hint));
    case Form::Tuple:
      return simple(emitTupleCall(apply));
    case Form::TypeOf:
      checkArity(apply, form.name(), 1, 1);
      return std::make_shared<TypeOfValue>(emitExpr(inputs[0])->type());
    case Form::Super:
      throw UserError(
          "super() is not supported in TorchScript; call the method of the base class by another name", range);
    case Form::IsScripting:
      checkArity(apply, form.name(), 0, 0);
      return simple(constant(range, true));
    case Form::IsTracing:
      checkArity(apply, form.name(), 0, 0);
      return simple(constant(range, false));
    case Form::Check:
      return emitCheck(apply);
    case Form::LegacyTensor:
      return simple(emitLegacyTensor(form, apply));
    case Form::ToList:
      checkArity(apply, form.name(), 0, 0);
      return simple(emitToList(range, *this, form.receiver(), hint));
  }
  CRESSET_CHECK(false, "special form " + form.name());
}

namespace {

const Value* withoutCasts(const Value* value) {
  while (value->node()->kind() == prim::unchecked_cast) value = value->node()->input(0);
  return value;
}

/// Texts write a number out wherever it is used.
bool areSame(const Value* a, const Value* b) {
  if (a == b) return true;
  const auto x = toIValue(a), y = toIValue(b);
  const auto isPlain = [](const c10::IValue& v) {
    return v.isNone() || v.isInt() || v.isDouble() || v.isBool() || v.isString();
  };
  return x && y && isPlain(*x) && isPlain(*y) && x->tagKind() == y->tagKind() && *x == *y;
}

/// A test of a value and its outcome.
using Outcome = std::pair<const Node*, bool>;

/// Adds the tests that a condition's outcome says something of; `a and b` is an If that yields False where a is not.
void addTests(const Value* condition, bool holds, std::vector<Outcome>& tests, int depth = 16) {
  while (condition->node()->kind() == aten::__not__) {
    holds = !holds;
    condition = condition->node()->input(0);
  }
  const Node* test = condition->node();
  if (test->kind() != prim::If) {
    tests.emplace_back(test, holds);
    return;
  }
  for (size_t taken = 0; taken < 2 && depth > 0; ++taken) {
    const auto other = constantAs<bool>(test->blocks()[1 - taken]->outputs()[condition->offset()]);
    if (!other || *other == holds) continue;
    addTests(test->blocks()[taken]->outputs()[condition->offset()], holds, tests, depth - 1);
    addTests(test->input(0), taken == 0, tests, depth - 1);
  }
}

/// The type that a value has at `place` by the tests of the branches around it; null if they never lead there.
TypePtr testedType(const Value* value, const Node* place) {
  value = withoutCasts(value);
  std::vector<Outcome> tests;  // innermost first
  for (const Block* block = place->owningBlock(); block->owningNode(); block = block->owningNode()->owningBlock()) {
    const Node* choice = block->owningNode();
    if (choice->kind() == prim::If) addTests(choice->input(0), choice->blocks()[0] == block, tests);
  }
  std::erase_if(tests, [&](const Outcome& outcome) {
    const Node* test = outcome.first;
    return test->inputs().empty() || !areSame(withoutCasts(test->input(0)), value);
  });
  TypePtr type = value->type();
  for (auto it = tests.rbegin(); it != tests.rend() && type; ++it) {
    const auto [test, holds] = *it;
    if (test->kind() == Symbol::prim("isinstance")) {
      const InstanceTest tested = testInstance(type, test->tys(Symbol::attr("types")));
      type = tested.known == !holds ? nullptr : holds ? tested.when_true : tested.when_false;
    } else if ((test->kind() == aten::__is__ || test->kind() == aten::__isnot__) && isNoneConstant(test->input(1))) {
      type = (test->kind() == aten::__is__) == holds ? TypePtr(c10::NoneType::get()) : withoutNone(type);
    }
  }
  return type;
}

}  // namespace

/// What a text casts need not be what it says: compiled code believes types, and would read other memory than the
/// value's. So it is tested, where no branch around it has done so.
Value* FunctionEmitter::checkedCast(const SourceRange& range, Value* value, const TypePtr& type) {
  const TypePtr tested = testedType(value, graph.insertPoint());
  if (!tested || tested->isSubtypeOf(*type)) return cast(range, value, type);
  const auto optional = value->type()->cast<c10::OptionalType>();
  if (optional && optional->getElementType()->isSubtypeOf(*type)) {
    Value* inner = builtin(range, aten::_unwrap_optional, {value});
    return sameType(inner->type(), type) ? inner : cast(range, inner, type);
  }
  Value* is_instance = insert(range, Symbol::prim("isinstance"), {value}, c10::BoolType::get());
  is_instance->node()->setAttribute(Symbol::attr("types"), std::vector<TypePtr>{type});
  graph.setLocation(range);
  Node* choice = graph.insertNode(graph.create(prim::If, {is_instance}, 0));
  choice->addBlock();
  {
    const InsertPointGuard guard(graph, choice->addBlock());
    const std::string message = "a cast to '" + type->repr_str() + "' of a value that is none";
    raise(range, constant(range, message), constant(range, "builtins.TypeError"));
  }
  // What can't be one needs no value.
  if (testInstance(value->type(), {type}).known == false) return insert(range, prim::Uninitialized, {}, type);
  return cast(range, value, type);
}

/// torch._check(cond, message): the prelude's function of that name, once the arguments are known to be its own. The
/// messages are those of torch.jit.
SugaredValuePtr FunctionEmitter::emitCheck(const Apply& apply) {
  const SourceRange& range = apply.range();
  const size_t count = apply.inputs().size() + apply.attributes().size();
  if (count < 1 || count > 2) {
    throw UserError("torch._check() expects 1 or 2 arguments, got " + std::to_string(count), range);
  }
  bool has_condition = !apply.inputs().empty();
  for (const Attr attribute : apply.attributes()) {
    const std::string& name = attribute.name().name();
    if (name != "cond" && name != "message") {
      throw UserError("torch._check() got an unexpected keyword argument '" + name + "'", attribute.range());
    }
    if (name == "cond" && has_condition) {
      throw UserError("torch._check() got multiple values for argument 'cond'", attribute.range());
    }
    has_condition |= name == "cond";
  }
  if (!has_condition) throw UserError("torch._check() missing required argument 'cond'", range);
  return preludeMember("torch._check", range, *this)
      ->call(range, *this, emitArguments(apply.inputs(), 0), emitKeywords(apply.attributes()), 1);
}

SugaredValuePtr FunctionEmitter::emitGetAttr(const Apply& apply) {
  checkArity(apply, "getattr", 2, 3);
  const std::string name = attributeName(apply, "getattr");
  const Expr object = apply.inputs()[0];
  const SugaredValuePtr value = emitSugared(object);
  if (apply.inputs().size() == 2) return value->attr(apply.range(), *this, name);
  // Which of the two it is, is known while compiling; the other isn't evaluated.
  Value* simple_value = simpleValueOf(value);
  const bool object_like = !simple_value || simple_value->type()->kind() == c10::TypeKind::ClassType ||
                           simple_value->type()->kind() == c10::TypeKind::InterfaceType ||
                           simple_value->type()->kind() == c10::TypeKind::TupleType;
  if (!object_like) {
    if (auto found = value->findAttr(apply.range(), *this, name)) return found;
  } else if (hasAttribute(object.range(), value, name)) {
    return value->attr(apply.range(), *this, name);
  }
  return emitSugared(apply.inputs()[2]);
}

SugaredValuePtr FunctionEmitter::emitFork(const Apply& apply) {
  if (apply.inputs().empty()) throw UserError("Expected at least one argument to fork()", apply.range());
  Value* future = emitApart(apply, prim::fork);
  return simple(future->setType(c10::FutureType::create(future->type())));
}

SugaredValuePtr FunctionEmitter::emitAwaitable(const Apply& apply) {
  if (apply.inputs().empty()) throw UserError("Expected at least one argument to awaitable()", apply.range());
  Value* awaitable = emitApart(apply, prim::awaitable);
  return simple(awaitable->setType(c10::AwaitType::create(awaitable->type())));
}

/// A node of `kind` whose subgraph makes the call that `apply` has the arguments of; its output has the type of what
/// the call returns.
Value* FunctionEmitter::emitApart(const Apply& apply, Symbol kind) {
  const SourceRange& range = apply.range();
  const SugaredValuePtr callee = emitSugared(apply.inputs()[0]);
  const std::vector<NamedValue> args = emitArguments(apply.inputs(), 1);
  const std::vector<NamedValue> kwargs = emitKeywords(apply.attributes());

  // The call is emitted into a block first, where it can refer to all that is in scope, and then moved into a graph of
  // its own that takes what it refers to as inputs.
  graph.setLocation(range);
  Node* node = graph.insertNode(graph.create(kind, 0));
  Block* block = node->addBlock();
  TypePtr type;
  {
    InsertPointGuard at(graph, block);
    Value* result = callee->call(range, *this, args, kwargs, 1)->asValue(range, *this);
    block->registerOutput(result);
    type = result->type();
  }
  auto subgraph = Graph::make();
  std::unordered_map<Value*, Value*> captured;
  std::vector<Value*> inputs;
  subgraph->block()->cloneFrom(block, [&](Value* outer) -> Value* {
    Value*& inner = captured[outer];
    if (inner) return inner;
    if (isConstant(outer)) {
      Node* copy = subgraph->createClone(outer->node(), [](Value* v) { return v; });
      subgraph->block()->prependNode(copy);
      return inner = copy->output();
    }
    inputs.push_back(outer);
    inner = subgraph->addInput()->copyMetadata(outer);
    return inner;
  });
  node->eraseBlock(0);
  for (Value* input : inputs) node->addInput(input);
  node->setAttribute(Symbol::attr("Subgraph"), std::move(subgraph));
  return node->addOutput()->setType(type);
}

Value* FunctionEmitter::emitListCall(const Apply& apply, const TypePtr& hint) {
  const SourceRange& range = apply.range();
  checkArity(apply, "list", 0, 1);
  if (apply.inputs().empty())
    return emitList(SequenceLiteral::make(TK_LIST_LITERAL, range, ListView<Expr>::make(range, {})), hint);
  const Expr arg = apply.inputs()[0];
  const SugaredValuePtr iterable = emitSugared(arg, hint);
  if (Value* value = simpleValueOf(iterable)) {
    const auto kind = value->type()->kind();
    if (kind == c10::TypeKind::ListType || kind == c10::TypeKind::StringType)
      return builtin(range, aten::list, {value});
  }
  Value* list = makeList(range, {}, c10::TensorType::get());
  TypePtr element_type;
  emitItems(arg.range(), iterable, [&](const SugaredValuePtr& item) {
    Value* element = item->asValue(arg.range(), *this);
    if (!element_type) {
      element_type = element->type();
      list->setType(c10::ListType::create(element_type));
    }
    append(range, list, element, element_type);
  });
  return list;
}

Value* FunctionEmitter::emitDictCall(const Apply& apply, const TypePtr& hint) {
  const SourceRange& range = apply.range();
  const ListView<Expr> inputs = apply.inputs();
  if (inputs.size() > 1)
    throw UserError("dict expected at most 1 argument, got " + std::to_string(inputs.size()), range);
  const DictLiteral empty = DictLiteral::make(range, ListView<Expr>::make(range, {}), ListView<Expr>::make(range, {}));
  Value* dict = nullptr;
  bool typed = hint && hint->kind() == c10::TypeKind::DictType;
  const auto isDict = [](const TypePtr& type) { return type->kind() == c10::TypeKind::DictType; };
  const std::vector<TypePtr> alternatives = hint ? alternativesOf(hint) : std::vector<TypePtr>();
  // Of several types of dicts the first item chooses.
  const bool chooses =
      !(inputs.empty() && apply.attributes().empty()) && std::ranges::count_if(alternatives, isDict) > 1;
  const TypePtr wanted = chooses ? TypePtr() : hint;
  if (!inputs.empty()) {
    const Expr arg = inputs[0];
    const SugaredValuePtr source = emitSugared(arg, hint);
    Value* value = simpleValueOf(source);
    if (value && value->type()->kind() == c10::TypeKind::DictType) {
      dict = builtin(range, Symbol::aten("copy"), {value});
      typed = true;
    } else {
      dict = emitDict(empty, wanted);
      emitItems(arg.range(), source, [&](const SugaredValuePtr& item) {
        const auto pair = item->asTuple(arg.range(), *this, 2);
        if (pair.size() != 2) throw UserError("dict() expects an iterable of pairs of a key and a value", arg.range());
        Value* key = pair[0]->asValue(arg.range(), *this);
        insertItem(range, dict, key, pair[1]->asValue(arg.range(), *this), typed ? hint : TypePtr());
      });
    }
  } else {
    dict = emitDict(empty, wanted);
  }
  for (const Attr attribute : apply.attributes()) {
    Value* key = constant(attribute.range(), attribute.name().name());
    Value* value = emitExpr(attribute.value());
    insertItem(attribute.range(), dict, key, value, typed ? dict->type() : TypePtr());
  }
  return dict;
}

Value* FunctionEmitter::emitTupleCall(const Apply& apply) {
  checkArity(apply, "tuple", 0, 1);
  std::vector<Value*> values;
  if (!apply.inputs().empty()) {
    const Expr arg = apply.inputs()[0];
    for (const auto& item : emitSugared(arg)->asTuple(arg.range(), *this))
      values.push_back(item->asValue(arg.range(), *this));
  }
  return makeTuple(apply.range(), values);
}

Value* FunctionEmitter::emitLegacyTensor(const SpecialForm& form, const Apply& apply) {
  const SourceRange& range = apply.range();
  if (!apply.attributes().empty()) throw UserError(messages::noKeywords(form.name()), range);
  const std::vector<NamedValue> dtype{NamedValue(constant(range, legacyTensorDtype(form.name())), range, "dtype")};
  std::vector<NamedValue> args = emitArguments(apply.inputs());
  if (args.size() == 1 && args[0].type()->kind() == c10::TypeKind::ListType)
    return insertOp(graph, aten::tensor, args, dtype, range);
  std::vector<Value*> sizes;
  for (const NamedValue& arg : args) {
    if (arg.type()->kind() != c10::TypeKind::IntType) {
      throw UserError(
          form.name() +
              " takes sizes or one list of values; multiple positional arguments that were not all integers, one of "
              "them " +
              arg.type()->repr_str() + ", have no meaning",
          range);
    }
    sizes.push_back(arg.value);
  }
  if (sizes.empty()) sizes.push_back(constant(range, int64_t(0)));
  return insertOp(graph, aten::empty, {NamedValue(makeList(range, sizes, c10::IntType::get()), range)}, dtype, range);
}

}  // namespace cresset
