// List, dict and tuple literals, and comprehensions. See emitter_impl.h.
//
// The type of a list or dict comes from the annotation that it is to satisfy, if there is one, else from its elements.
#include "cresset/frontend/emitter_impl.h"

#include <algorithm>
#include <sstream>

#include "cresset/frontend/iterables.h"
#include "cresset/support/print_handler.h"

namespace cresset {

namespace {

/// The first type of `kind` that a value of type `hint` may have; null if there is none.
TypePtr findKind(const TypePtr& hint, c10::TypeKind kind) {
  if (!hint) return nullptr;
  for (const TypePtr& t : alternativesOf(hint)) {
    if (t->kind() == kind) return t;
  }
  return nullptr;
}

std::string mismatchedElements(const c10::Type& list) {
  return "List type annotation `" + list.repr_str() + "` did not match the types of the given list elements";
}

/// All of them, if there are several: then what is written has to choose. Else none.
std::vector<TypePtr> choicesOf(const TypePtr& hint, c10::TypeKind kind) {
  std::vector<TypePtr> found;
  if (hint) {
    for (const TypePtr& t : alternativesOf(hint)) {
      if (t->kind() == kind) found.push_back(t);
    }
  }
  if (found.size() < 2) found.clear();
  return found;
}

TypePtr elementHint(const TypePtr& hint) {
  if (!choicesOf(hint, c10::TypeKind::ListType).empty()) return nullptr;
  const TypePtr list = findKind(hint, c10::TypeKind::ListType);
  return list ? list->expectRef<c10::ListType>().getElementType() : nullptr;
}

c10::DictTypePtr dictHint(const TypePtr& hint) {
  if (!choicesOf(hint, c10::TypeKind::DictType).empty()) return nullptr;
  const TypePtr dict = findKind(hint, c10::TypeKind::DictType);
  return dict ? dict->cast<c10::DictType>() : nullptr;
}

/// Of the `choices` of a hint, the one for elements of the types `elements`: the same, else wider ones. Null if there
/// is none.
TypePtr choose(const std::vector<TypePtr>& choices, const std::vector<TypePtr>& elements) {
  const auto matches = [&](const TypePtr& choice, auto match) {
    const auto parts = choice->containedTypes();
    return std::equal(parts.begin(), parts.end(), elements.begin(), elements.end(), match);
  };
  for (const TypePtr& choice : choices) {
    if (matches(choice, [](const TypePtr& part, const TypePtr& element) { return sameType(part, element); }))
      return choice;
  }
  for (const TypePtr& choice : choices) {
    if (matches(choice, [](const TypePtr& part, const TypePtr& element) { return element->isSubtypeOf(*part); }))
      return choice;
  }
  return nullptr;
}

[[noreturn]] void refuseEmpty(const char* what, const char* kind, const TypePtr& hint, const SourceRange& range) {
  throw UserError(
      std::string("Cannot assign an empty ") + what + " to a variable annotated to be type " + hint->repr_str() +
          " because there are multiple possible " + kind +
          " type candidates in the Union annotation; say which by torch.jit.annotate",
      range);
}

std::string listed(const std::vector<TypePtr>& types) {
  std::string text;
  for (const TypePtr& type : types) text += (text.empty() ? "" : ", ") + type->repr_str();
  return text;
}

TypePtr unify(const std::vector<Value*>& values, const TypePtr& hint) {
  TypePtr type = values[0]->type();
  bool same = true;
  for (Value* v : values) same = same && sameType(v->type(), type);
  if (same) return type;
  std::vector<TypePtr> types;
  for (Value* v : values) types.push_back(v->type());
  std::ostringstream why;
  auto unified = c10::unifyTypeList(types, why, /*default_to_union=*/true, hint ? hint : TypePtr());
  return unified ? *unified : nullptr;
}

/// Values of a type that the program does not say can be used only once they are tested.
void warnOfUnion(const std::string& what, const std::string& container, const SourceRange& range) {
  warn(warningAt(
      what + ". To use any of the values in this " + container +
          ", it will be necessary to add an `assert isinstance` statement before first use to trigger type "
          "refinement.",
      range));
}

}  // namespace

Value* FunctionEmitter::makeList(
    const SourceRange& range, const std::vector<Value*>& elements, const TypePtr& element_type) {
  graph.setLocation(range);
  Node* node = graph.insertNode(graph.create(prim::ListConstruct, elements, 1));
  return node->output()->setType(c10::ListType::create(element_type));
}

Value* FunctionEmitter::makeTuple(const SourceRange& range, const std::vector<Value*>& elements) {
  std::vector<TypePtr> types;
  types.reserve(elements.size());
  for (Value* v : elements) types.push_back(v->type());
  TypePtr type = c10::TupleType::create(std::move(types));
  tuple_sizes_.check(range, type);
  graph.setLocation(range);
  Node* node = graph.insertNode(graph.create(prim::TupleConstruct, elements, 1));
  return node->output()->setType(std::move(type));
}

Value* FunctionEmitter::emitList(const SequenceLiteral& expr, const TypePtr& hint) {
  const TypePtr wanted = elementHint(hint);
  const std::vector<TypePtr> choices = choicesOf(hint, c10::TypeKind::ListType);
  if (!choices.empty() && expr.elements().empty()) refuseEmpty("list", "List", hint, expr.range());
  std::vector<Value*> values;
  values.reserve(expr.elements().size());
  for (const Expr e : expr.elements()) {
    if (e.kind() == TK_STARRED) {
      const Expr inner = Starred(e.tree()).value();
      for (const auto& item : emitSugared(inner)->asTuple(inner.range(), *this))
        values.push_back(item->asValue(inner.range(), *this));
    } else {
      values.push_back(emitExpr(e, wanted));
    }
  }
  TypePtr element = wanted ? wanted : TypePtr(c10::TensorType::get());
  if (!values.empty()) {
    const TypePtr unified = unify(values, wanted);
    if (!unified || (wanted && !unified->isSubtypeOf(*wanted))) {
      if (wanted) {
        throw UserError(
            mismatchedElements(*findKind(hint, c10::TypeKind::ListType)) +
                (unified ? ", which were unified to " + unified->repr_str() : std::string()),
            expr.range());
      }
      throw UserError("the elements of a list must have a common type", expr.range());
    }
    if (!wanted) element = unified;
    if (!choices.empty()) {
      const TypePtr chosen = choose(choices, {unified});
      if (!chosen) {
        throw UserError(
            "Union type annotation `" + hint->repr_str() + "` can hold " + listed(choices) +
                ", but none of those types match the types of the given list elements, which were unified to " +
                unified->repr_str(),
            expr.range());
      }
      element = chosen->containedType(0);
    }
    if (!wanted && unified->kind() == c10::TypeKind::UnionType) {
      warnOfUnion(
          "List consists of heterogeneous types, which means that it has been typed as containing " +
              unified->repr_str(),
          "List", expr.range());
    }
  }
  if (!hint && values.empty()) {
    // As an argument it may become a list of another type.
    return insert(expr.range(), prim::EmptyListLiteral, {}, c10::ListType::create(element));
  }
  return makeList(expr.range(), values, element);
}

namespace {

/// Elements of a tuple that a program does not write out: `t = t + t`, line by line, would be as many as there are.
constexpr size_t kMaxJoined = 1024;

void checkJoinedSize(const SourceRange& range, size_t size) {
  if (size <= kMaxJoined) return;
  throw UserError(
      "a tuple that is joined from others has at most " + std::to_string(kMaxJoined) +
          " elements; a list can have more",
      range);
}

}  // namespace

SugaredValuePtr FunctionEmitter::emitTuple(const SequenceLiteral& expr, const TypePtr& hint) {
  const TypePtr wanted = findKind(hint, c10::TypeKind::TupleType);
  const auto elements = expr.elements();
  c10::ArrayRef<TypePtr> hints;
  if (wanted && wanted->containedTypes().size() == elements.size()) hints = wanted->containedTypes();
  std::vector<SugaredValuePtr> parts;
  parts.reserve(elements.size());
  const auto add = [&](const SugaredValuePtr& part, const SourceRange& range) {
    parts.push_back(isIndexOnly(part) ? part : simple(part->asValue(range, *this)));
  };
  for (size_t i = 0; i < elements.size(); ++i) {
    const Expr e = elements[i];
    if (e.kind() == TK_STARRED) {
      const Expr inner = Starred(e.tree()).value();
      for (const auto& item : emitSugared(inner)->asTuple(inner.range(), *this)) add(item, inner.range());
      checkJoinedSize(inner.range(), parts.size());
    } else {
      add(emitSugared(e, hints.empty() ? TypePtr() : hints[i]), e.range());
    }
  }
  return tupleOf(expr.range(), std::move(parts));
}

SugaredValuePtr FunctionEmitter::tupleOf(const SourceRange& range, std::vector<SugaredValuePtr> parts) {
  if (std::any_of(parts.begin(), parts.end(), isIndexOnly)) {
    for (const SugaredValuePtr& part : parts) {
      // What holds slices is bound by nothing that a graph or a type is bound by.
      if (isIndexOnly(part) && dynamic_cast<SugaredTuple*>(part.get()))
        throw UserError("a tuple that holds slices can't stand in a tuple; it can be used in a subscript", range);
    }
    return std::make_shared<SugaredTuple>(std::move(parts));
  }
  std::vector<Value*> values;
  values.reserve(parts.size());
  for (const SugaredValuePtr& part : parts) values.push_back(part->asValue(range, *this));
  return simple(makeTuple(range, values));
}

SugaredValuePtr FunctionEmitter::emitTupleArithmetic(
    const SourceRange& range, int op, const SugaredValuePtr& lhs, const SugaredValuePtr& rhs) {
  const auto isTuple = [](const SugaredValuePtr& operand) {
    Value* value = simpleValueOf(operand);
    return value ? value->type()->kind() == c10::TypeKind::TupleType
                 : dynamic_cast<SugaredTuple*>(operand.get()) != nullptr;
  };
  const bool left = isTuple(lhs), right = isTuple(rhs);
  if (op == '+') {
    if (!left || !right) return nullptr;
    std::vector<SugaredValuePtr> parts = lhs->asTuple(range, *this), others = rhs->asTuple(range, *this);
    checkJoinedSize(range, parts.size() + others.size());
    parts.insert(parts.end(), others.begin(), others.end());
    return tupleOf(range, std::move(parts));
  }
  if (left == right) return nullptr;
  // How often is part of the type, so it must be known; `(1,) * x.dim()` is a list.
  Value* factor = simpleValueOf(left ? rhs : lhs);
  const auto times = factor ? toIValue(factor) : std::nullopt;
  if (!times || !times->isInt()) return nullptr;
  const std::vector<SugaredValuePtr> unit = (left ? lhs : rhs)->asTuple(range, *this);
  const auto count = static_cast<size_t>(std::clamp<int64_t>(times->toInt(), 0, kMaxJoined + 1));
  checkJoinedSize(range, unit.size() * count);
  std::vector<SugaredValuePtr> parts;
  for (size_t i = 0; i < count && !unit.empty(); ++i) parts.insert(parts.end(), unit.begin(), unit.end());
  return tupleOf(range, std::move(parts));
}

Value* FunctionEmitter::emitDict(const DictLiteral& expr, const TypePtr& hint) {
  const c10::DictTypePtr wanted = dictHint(hint);
  const std::vector<TypePtr> choices = choicesOf(hint, c10::TypeKind::DictType);
  if (!choices.empty() && expr.keys().empty()) refuseEmpty("dict", "Dict", hint, expr.range());
  const auto key_exprs = expr.keys();
  const auto value_exprs = expr.values();
  std::vector<Value*> keys, values, inputs;
  for (size_t i = 0; i < key_exprs.size(); ++i) {
    keys.push_back(emitExpr(key_exprs[i], wanted ? wanted->getKeyType() : TypePtr()));
    values.push_back(emitExpr(value_exprs[i], wanted ? wanted->getValueType() : TypePtr()));
    inputs.push_back(keys.back());
    inputs.push_back(values.back());
  }
  TypePtr key_type = wanted ? wanted->getKeyType() : TypePtr(c10::StringType::get());
  TypePtr value_type = wanted ? wanted->getValueType() : TypePtr(c10::TensorType::get());
  if (!keys.empty()) {
    for (size_t i = 0; i < keys.size(); ++i) {
      const TypePtr& expected = wanted ? key_type : keys[0]->type();
      if (!keys[i]->type()->isSubtypeOf(*expected)) {
        throw UserError(
            "Dict keys must contain only a single type. Expected: " + expected->repr_str() + " but found " +
                keys[i]->type()->repr_str() + " instead",
            key_exprs[i].range());
      }
    }
    const TypePtr unified = unify(values, wanted ? value_type : TypePtr());
    if (wanted && (!unified || !unified->isSubtypeOf(*value_type))) {
      throw UserError(
          "Dict type annotation `" + wanted->repr_str() + "` did not match the type of an actual value type" +
              (unified ? " `" + unified->repr_str() + "`" : std::string()),
          expr.range());
    }
    if (!wanted) {
      key_type = keys[0]->type();
      value_type = unified;
      if (!choices.empty()) {
        const TypePtr chosen = unified ? choose(choices, {key_type, unified}) : nullptr;
        if (!chosen) {
          throw UserError(
              "Union type annotation `" + hint->repr_str() + "` can hold " + listed(choices) +
                  ", but none of those dict types can hold the types of the given keys and values, which were unified "
                  "to Dict[" +
                  key_type->repr_str() + ", " + (unified ? unified->repr_str() : "?") + "]",
              expr.range());
        }
        key_type = chosen->containedType(0);
        value_type = chosen->containedType(1);
      }
      if (unified && unified->kind() == c10::TypeKind::UnionType) {
        warnOfUnion(
            "Dict values consist of heterogeneous types, which means that the dict has been typed as containing Dict[" +
                key_type->repr_str() + ", " + unified->repr_str() + "]",
            "Dict", expr.range());
      }
    }
  }
  graph.setLocation(expr.range());
  Node* node = graph.insertNode(graph.create(prim::DictConstruct, inputs, 1));
  return node->output()->setType(c10::DictType::create(key_type, value_type));
}

void FunctionEmitter::emitItems(
    const SourceRange& range, const SugaredValuePtr& iterable,
    const std::function<void(const SugaredValuePtr&)>& each) {
  const SugaredValuePtr items = iterable->iter(range, *this);
  auto isolated = [] {
    auto frame = std::make_unique<Frame>();
    frame->isolated = true;
    return frame;
  };
  if (auto count = items->staticLen()) {
    for (size_t i = 0; i < *count; ++i) {
      env_.push(isolated());
      each(items->getItem(range, *this, constant(range, static_cast<int64_t>(i))));
      env_.pop();
    }
    return;
  }
  Value* count = items->len(range, *this);
  Value* yes = constant(range, true);
  graph.setLocation(range);
  Node* loop = graph.insertNode(graph.create(prim::Loop, {count, yes}, 0));
  enterBlock(range);
  Block* block = loop->addBlock();
  Value* index = block->addInput()->setType(c10::IntType::get());
  InsertPointGuard at(graph, block);
  env_.push(isolated());
  each(items->getItem(range, *this, index));
  env_.pop();
  leaveBlock();
  block->registerOutput(yes);
}

void FunctionEmitter::emitWhere(const ListView<Expr>& conditions, size_t i, const std::function<void()>& each) {
  if (i == conditions.size()) return each();
  const Expr expr = conditions[i];
  const Condition condition = emitCondition(expr);
  if (condition.known == false) return;
  if (condition.known) {
    refine(expr.range(), condition.when_true);
    return emitWhere(conditions, i + 1, each);
  }
  graph.setLocation(expr.range());
  Node* node = graph.insertNode(graph.create(prim::If, {condition.value}, 0));
  emitBranch(node, condition.when_true, [&] {
    emitWhere(conditions, i + 1, each);
    return Flow();
  });
  emitBranch(node, {}, [] { return Flow(); });
}

void FunctionEmitter::emitLoops(
    const ListView<CompFor>& loops, size_t i, const SugaredValuePtr& iterable, const std::function<void()>& each) {
  const CompFor loop = loops[i];
  const SourceRange& range = loop.iter().range();
  emitItems(range, iterable, [&](const SugaredValuePtr& item) {
    assign(loop.target(), item, range);
    emitWhere(loop.conditions(), 0, [&] {
      if (i + 1 == loops.size()) return each();
      emitLoops(loops, i + 1, emitSugared(loops[i + 1].iter()), each);
    });
  });
}

void FunctionEmitter::append(const SourceRange& range, Value* list, Value* element, const TypePtr& element_type) {
  if (!element->type()->isSubtypeOf(*element_type)) {
    throw UserError(
        "the elements of this list have type " + element_type->repr_str() + ", but one has type " +
            element->type()->repr_str(),
        range);
  }
  builtin(range, aten::append, {list, widen(range, element, element_type)});
}

Value* FunctionEmitter::emitListComp(const ListComp& expr, const TypePtr& hint) {
  const TypePtr annotated = elementHint(hint);
  TypePtr element_type = annotated;
  const SugaredValuePtr iterable = emitSugared(expr.loops()[0].iter());
  Value* list = makeList(expr.range(), {}, element_type ? element_type : TypePtr(c10::TensorType::get()));
  emitLoops(expr.loops(), 0, iterable, [&] {
    Value* element = emitExpr(expr.element(), element_type);
    if (annotated && !element->type()->isSubtypeOf(*annotated)) {
      throw UserError(
          mismatchedElements(*c10::ListType::create(annotated)) + ", of which one is of type " +
              element->type()->repr_str(),
          expr.element().range());
    }
    if (!element_type) {
      element_type = element->type();
      list->setType(c10::ListType::create(element_type));
    }
    append(expr.element().range(), list, element, element_type);
  });
  return list;
}

void FunctionEmitter::insertItem(const SourceRange& range, Value* dict, Value* key, Value* value, const TypePtr& hint) {
  // The first item decides the type of a dict that has no annotation.
  if (!hint && dict->uses().empty()) dict->setType(c10::DictType::create(key->type(), value->type()));
  const auto& type = dict->type()->expectRef<c10::DictType>();
  auto expectAnnotated = [&](const char* part, const TypePtr& annotated, const TypePtr& actual) {
    if (!hint || actual->isSubtypeOf(*annotated)) return;
    throw UserError(
        "Dict type annotation `" + type.repr_str() + "` did not match the type of an actual " + part + " type `" +
            actual->repr_str() + "`. Dicts may only contain homogeneous " + part +
            "s, but the type of the first generated " + part + " was " + actual->repr_str(),
        range);
  };
  expectAnnotated("key", type.getKeyType(), key->type());
  expectAnnotated("value", type.getValueType(), value->type());
  if (!value->type()->isSubtypeOf(*type.getValueType())) {
    throw UserError(
        "the values of this dict have type " + type.getValueType()->repr_str() + ", but one has type " +
            value->type()->repr_str(),
        range);
  }
  builtin(range, aten::_set_item, {dict, key, widen(range, value, type.getValueType())});
}

Value* FunctionEmitter::emitDictComp(const DictComp& expr, const TypePtr& hint) {
  const c10::DictTypePtr wanted = dictHint(hint);
  const SugaredValuePtr iterable = emitSugared(expr.loops()[0].iter());
  Value* dict = insert(
      expr.range(), prim::DictConstruct, {},
      wanted ? TypePtr(wanted) : TypePtr(c10::DictType::create(c10::StringType::get(), c10::TensorType::get())));
  emitLoops(expr.loops(), 0, iterable, [&] {
    Value* key = emitExpr(expr.key(), wanted ? wanted->getKeyType() : TypePtr());
    Value* value = emitExpr(expr.value(), wanted ? wanted->getValueType() : TypePtr());
    insertItem(expr.range(), dict, key, value, wanted ? TypePtr(wanted) : TypePtr());
  });
  return dict;
}

}  // namespace cresset
