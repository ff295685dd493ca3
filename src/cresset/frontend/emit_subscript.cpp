// Subscripts: reading, slicing, assigning, changing in place and deleting. See emitter_impl.h.
//
// A tensor takes any number of indices. Ints, slices, None and the ellipsis are views, made one dimension after the
// other (aten::select, slice, unsqueeze); tensors, lists and bools among the indices remain and become one aten::index,
// or aten::index_put_ when the subscript is assigned to. All other containers take one index.
#include "cresset/frontend/emitter_impl.h"
#include "cresset/frontend/iterables.h"
#include "cresset/frontend/messages.h"
#include "cresset/ops/implicit_conversions.h"

namespace cresset {

namespace {

bool isTensor(const Value* value) {
  return value->type()->isSubtypeOf(*c10::TensorType::get());
}

struct Bounds {
  int64_t start, stop, step;
};

/// Python's slice.indices: bounds within a sequence of `size` elements.
Bounds normalize(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step, int64_t size) {
  auto clamp = [&](std::optional<int64_t> v, int64_t otherwise) {
    if (!v) return otherwise;
    int64_t i = *v < 0 ? *v + size : *v;
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    return std::min(std::max(i, low), high);
  };
  return {clamp(start, step < 0 ? size - 1 : 0), clamp(stop, step < 0 ? -1 : size), step};
}

}  // namespace

std::vector<FunctionEmitter::Index> FunctionEmitter::emitIndices(const ListView<Expr>& exprs, bool of_tensor) {
  if (of_tensor && exprs.size() == 1 && exprs[0].kind() == TK_TUPLE_LITERAL)  // x[(0, 1)] is x[0, 1]
    return emitIndices(SequenceLiteral(exprs[0].tree()).elements(), false);
  std::vector<Index> indices;
  const auto add = [&](const SugaredValuePtr& index, const SourceRange& range) {
    indices.push_back({range, index, dynamic_cast<SliceValue*>(index.get())});
  };
  const auto addAll = [&](const SugaredValuePtr& tuple, const SourceRange& range) {
    for (const SugaredValuePtr& element : tuple->asTuple(range, *this)) add(element, range);
  };
  for (const Expr expr : exprs) {
    if (expr.kind() == TK_STARRED) {
      const Expr inner = Starred(expr.tree()).value();
      if (!of_tensor)
        throw UserError("starred indices are those of a tensor; write the indices one by one", expr.range());
      addAll(emitSugared(inner), inner.range());
      continue;
    }
    const SugaredValuePtr index = emitSugared(expr);
    Value* value = simpleValueOf(index);
    const bool tuple =
        value ? value->type()->kind() == c10::TypeKind::TupleType : dynamic_cast<SugaredTuple*>(index.get()) != nullptr;
    if (of_tensor && exprs.size() == 1 && tuple) {
      addAll(index, expr.range());
    } else {
      add(index, expr.range());
    }
  }
  return indices;
}

SugaredValuePtr FunctionEmitter::emitSubscript(
    const Subscript& expr, const SugaredValuePtr& base, const TypePtr& hint) {
  const SourceRange& range = expr.range();
  Value* value = simpleValueOf(base);
  const bool of_tensor = value && isTensor(value);
  const std::vector<Index> indices = emitIndices(expr.indices(), of_tensor);
  if (of_tensor) {
    const View view = emitView(range, value, indices);
    return simple(view.indices ? builtin(range, aten::index, {view.tensor, view.indices}) : view.tensor);
  }
  if (indices.size() != 1) {
    if (value && value->type()->kind() != c10::TypeKind::ClassType) {
      throw UserError(
          "'" + value->type()->repr_str() + "' object takes one index, but " + std::to_string(indices.size()) +
              " are given",
          range);
    }
    std::vector<Value*> parts;
    for (const Index& index : indices) parts.push_back(index.sugared->asValue(index.range, *this));
    return base->getItem(range, *this, makeTuple(range, parts), hint);
  }
  const Index& index = indices[0];
  if (const SliceValue* slice = index.slice) {
    if (!value || value->type()->kind() == c10::TypeKind::TupleType) return emitStaticSlice(range, base, *slice);
    const auto kind = value->type()->kind();
    if (kind != c10::TypeKind::ListType && kind != c10::TypeKind::StringType) {
      throw UserError(
          "'" + value->type()->repr_str() + "' object can't be sliced; a list, a str, a tuple or a Tensor can", range);
    }
    return simple(emitSlice(range, value, std::nullopt, *slice));
  }
  Value* at = index.sugared->asValue(index.range, *this);
  if (value && value->type()->kind() == c10::TypeKind::TupleType) return emitTupleIndex(range, value, at);
  return base->getItem(range, *this, at, hint);
}

SugaredValuePtr FunctionEmitter::emitTupleIndex(const SourceRange& range, Value* tuple, Value* index) {
  const auto elements = tuple->type()->expectRef<c10::TupleType>().elements();
  const auto size = static_cast<int64_t>(elements.size());
  TypePtr type;
  if (index->type()->kind() != c10::TypeKind::IntType) throw UserError("tuple index must be an integer", range);
  if (auto known = toIValue(index); known && known->isInt()) {
    const int64_t i = known->toInt() < 0 ? known->toInt() + size : known->toInt();
    if (i < 0 || i >= size) {
      throw UserError(messages::tupleIndex(size, known->toInt()), range);
    }
    type = elements[static_cast<size_t>(i)];
  } else {
    for (const TypePtr& element : elements) {
      if (!sameType(element, elements[0])) {
        throw UserError(messages::dynamicTupleIndex(tuple->type()->repr_str()), range);
      }
    }
    if (size == 0) throw UserError("Cannot index into an empty tuple", range);
    type = elements[0];
  }
  return simple(insert(range, prim::TupleIndex, {tuple, index}, type));
}

Value* FunctionEmitter::emitSlice(
    const SourceRange& range, Value* sliceable, std::optional<int64_t> dim, const SliceValue& slice) {
  std::vector<NamedValue> args{NamedValue(sliceable, range)};
  if (dim) args.emplace_back(constant(range, *dim), range);
  args.emplace_back(slice.start() ? slice.start() : none(range), range);
  args.emplace_back(slice.stop() ? slice.stop() : none(range), range);
  const bool steps = slice.step() && slice.step()->type()->kind() != c10::TypeKind::NoneType;
  args.emplace_back(steps ? slice.step() : constant(range, int64_t(1)), range);
  graph.setLocation(range);
  return insertOp(graph, aten::slice, args, {}, range);
}

SugaredValuePtr FunctionEmitter::emitStaticSlice(
    const SourceRange& range, const SugaredValuePtr& base, const SliceValue& slice) {
  auto bound = [&](Value* value) -> std::optional<int64_t> {
    if (!value || value->type()->kind() == c10::TypeKind::NoneType) return std::nullopt;
    const auto known = toIValue(value);
    if (!known || !known->isInt())
      throw UserError("tuple slice indices must be integer constants, because the type depends on them", range);
    return known->toInt();
  };
  const auto start = bound(slice.start()), stop = bound(slice.stop());
  const int64_t step = bound(slice.step()).value_or(1);
  if (step == 0) throw UserError("slice step cannot be zero", range);
  Value* tuple = simpleValueOf(base);
  if (!tuple) {
    const auto items = base->asTuple(range, *this);
    const Bounds b = normalize(start, stop, step, static_cast<int64_t>(items.size()));
    std::vector<SugaredValuePtr> picked;
    for (int64_t i = b.start; step > 0 ? i < b.stop : i > b.stop; i += step)
      picked.push_back(items[static_cast<size_t>(i)]);
    return std::make_shared<SugaredTuple>(std::move(picked));
  }
  const auto elements = tuple->type()->expectRef<c10::TupleType>().elements();
  const Bounds b = normalize(start, stop, step, static_cast<int64_t>(elements.size()));
  if (step == 1) {
    const int64_t end = std::max(b.start, b.stop);
    std::vector<TypePtr> types(elements.begin() + b.start, elements.begin() + end);
    Value* part = insert(range, prim::TupleSlice, {tuple}, c10::TupleType::create(std::move(types)));
    part->node()->setAttribute(Symbol::attr("beg"), b.start)->setAttribute(Symbol::attr("end"), end);
    return simple(part);
  }
  std::vector<Value*> picked;
  for (int64_t i = b.start; step > 0 ? i < b.stop : i > b.stop; i += step) {
    picked.push_back(insert(range, prim::TupleIndex, {tuple, constant(range, i)}, elements[static_cast<size_t>(i)]));
  }
  return simple(makeTuple(range, picked));
}

FunctionEmitter::View FunctionEmitter::emitView(
    const SourceRange& range, Value* tensor, const std::vector<Index>& indices) {
  // First all indices find the dimension that each speaks of in the tensor as it is after the indices before it were
  // applied. After an ellipsis dimensions count from the end.
  const size_t n = indices.size();
  std::vector<Value*> index(n, nullptr);
  std::optional<size_t> ellipsis;
  for (size_t i = 0; i < n; ++i) {
    if (indices[i].isEllipsis()) {
      if (ellipsis) throw UserError("An index can only have a single ellipsis ('...')", indices[i].range);
      ellipsis = i;
      continue;
    }
    if (indices[i].slice) continue;
    Value* value = indices[i].sugared->asValue(indices[i].range, *this);
    const TypePtr& type = value->type();
    if (type->kind() == c10::TypeKind::ListType) {
      // Eager takes a list of numbers as a tensor of positions; a list of bools is a mask.
      const bool mask = type->expectRef<c10::ListType>().getElementType()->kind() == c10::TypeKind::BoolType;
      std::vector<NamedValue> kwargs;
      if (!mask) kwargs.emplace_back(constant(range, static_cast<int64_t>(c10::ScalarType::Long)), range, "dtype");
      value = insertOp(graph, aten::tensor, {NamedValue(value, range)}, kwargs, range);
    } else if (
        type->kind() != c10::TypeKind::IntType && type->kind() != c10::TypeKind::BoolType &&
        type->kind() != c10::TypeKind::NoneType && !type->isSubtypeOf(*c10::OptionalType::ofTensor())) {
      throw UserError(
          "Unsupported operation: indexing tensor with unsupported index type '" + type->repr_str() +
              "'. Only ints, slices, lists and tensors are supported",
          range);
    }
    index[i] = value;
  }
  auto isInt = [&](size_t i) { return index[i] && index[i]->type()->kind() == c10::TypeKind::IntType; };
  auto isNone = [&](size_t i) { return index[i] && index[i]->type()->kind() == c10::TypeKind::NoneType; };

  std::vector<int64_t> dim(n, 0);
  int64_t forward = 0;
  for (size_t i = 0; i < ellipsis.value_or(n); ++i) {
    dim[i] = forward;
    if (!isInt(i)) ++forward;
  }
  int64_t backward = -1;
  for (size_t i = n; ellipsis && i-- > *ellipsis + 1;) {
    if (index[i] && !isInt(i) && !isNone(i)) {
      throw UserError("Ellipses followed by tensor indexing is currently not supported", range);
    }
    dim[i] = backward;
    if (!isNone(i)) --backward;  // a dimension that isn't there yet when the indices before it are applied
  }

  View view;
  view.tensor = tensor;
  std::vector<Value*> tensors;
  auto apply = [&](size_t i) {
    if (ellipsis == i) return;
    if (!index[i]) {
      view.tensor = emitSlice(range, view.tensor, dim[i], *indices[i].slice);
    } else if (isNone(i)) {
      view.tensor = builtin(range, aten::unsqueeze, {view.tensor, constant(range, dim[i])});
    } else if (isInt(i)) {
      view.tensor = builtin(range, aten::select, {view.tensor, constant(range, dim[i]), index[i]});
    } else {
      Value* selector = index[i];
      if (selector->type()->kind() == c10::TypeKind::BoolType) {
        // A bool is a mask over a new dimension of size 1.
        view.tensor = builtin(range, aten::unsqueeze, {view.tensor, constant(range, dim[i])});
        selector = builtin(range, aten::tensor, {selector});
        selector = builtin(range, aten::unsqueeze, {selector, constant(range, int64_t(0))});
      }
      const auto at = static_cast<size_t>(dim[i]);
      if (tensors.size() <= at) tensors.resize(at + 1, nullptr);
      tensors[at] = selector;
    }
  };
  for (size_t i = 0; i < n; ++i) apply(i);
  if (!tensors.empty()) {
    for (Value*& t : tensors) {
      if (!t) t = none(range);
    }
    view.indices = makeList(range, tensors, c10::OptionalType::ofTensor());
  }
  return view;
}

Value* FunctionEmitter::tensorLike(const SourceRange& range, Value* value, Value* like) {
  switch (value->type()->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType: {
      Value* dtype = builtin(range, Symbol::prim("dtype"), {like});
      Value* device = builtin(range, Symbol::prim("device"), {like});
      return insertOp(
          graph, aten::tensor, {NamedValue(value, range)},
          {NamedValue(dtype, range, "dtype"), NamedValue(device, range, "device")}, range);
    }
    default:
      return value;
  }
}

void FunctionEmitter::assignSubscript(
    const SourceRange& range, const Subscript& target, const SugaredValuePtr& sugared) {
  const SugaredValuePtr base = emitSugared(target.value());
  Value* object = simpleValueOf(base);
  const bool of_tensor = object && isTensor(object);
  Value* value = sugared->asValue(range, *this);
  const std::vector<Index> indices = emitIndices(target.indices(), of_tensor);
  if (of_tensor) {
    const View view = emitView(range, object, indices);
    value = tensorLike(range, value, view.tensor);
    if (view.indices) {
      builtin(range, aten::index_put_, {view.tensor, view.indices, value});
    } else {
      builtin(range, aten::copy_, {view.tensor, value});
    }
    return;
  }
  if (indices.size() != 1)
    throw UserError("Sliced expression not yet supported for subscripted assignment with several indices", range);
  const Index& index = indices[0];
  if (index.slice) {
    if (!object || object->type()->kind() != c10::TypeKind::ListType) {
      throw UserError(
          "Sliced expression not yet supported for subscripted assignment to a " + base->kind(), index.range);
    }
    return assignListSlice(range, object, *index.slice, value);
  }
  if (object &&
      (object->type()->kind() == c10::TypeKind::TupleType || object->type()->kind() == c10::TypeKind::StringType)) {
    throw UserError(object->type()->repr_str() + " does not support subscripted assignment", target.range());
  }
  base->setItem(range, *this, index.sugared->asValue(index.range, *this), value);
}

void FunctionEmitter::assignListSlice(
    const SourceRange& range, Value* list, const SliceValue& slice, Value* replacement) {
  // x[a:b] = r replaces all of x by x[:a] + r + x[b:], in place. The bounds are what slicing makes of them: the lengths
  // of x[:a] and x[:b].
  const auto given = [](Value* bound) { return bound && bound->type()->kind() != c10::TypeKind::NoneType; };
  if (given(slice.step())) {
    const auto step = toIValue(slice.step());
    if (!step || !step->isInt() || step->toInt() != 1)
      throw UserError("a list slice with a step can't be assigned to or deleted", range);
  }
  const Node* literal = replacement ? replacement->node() : nullptr;
  const bool is_list = literal && (literal->kind() == prim::ListConstruct || isEmptyListLiteral(replacement));
  if (is_list && literal->inputs().empty()) replacement = nullptr;  // [] is of any type
  if (replacement && !replacement->type()->isSubtypeOf(*list->type())) {
    throw UserError(
        "a slice of a " + list->type()->repr_str() + " is being assigned a value of type " +
            replacement->type()->repr_str(),
        range);
  }
  Value* one = constant(range, int64_t(1));
  auto slices = [&](Value* from, Value* to) { return builtin(range, aten::slice, {list, from, to, one}); };
  auto clamped = [&](Value* bound) { return builtin(range, aten::len, {slices(none(range), bound)}); };
  Value* low = given(slice.start()) ? clamped(slice.start()) : constant(range, int64_t(0));
  Value* high = given(slice.stop()) ? clamped(slice.stop()) : builtin(range, aten::len, {list});
  high = builtin(range, prim::max, {low, high});
  Value* all = slices(none(range), low);
  Value* tail = slices(high, none(range));
  if (replacement) all = builtin(range, aten::add, {all, replacement});
  all = builtin(range, aten::add, {all, tail});
  builtin(range, Symbol::aten("clear"), {list});
  builtin(range, Symbol::aten("extend"), {list, all});
}

void FunctionEmitter::augmentSubscript(const AugAssign& stmt, const Subscript& target) {
  const SourceRange& range = stmt.range();
  const SugaredValuePtr base = emitSugared(target.value());
  Value* object = simpleValueOf(base);
  const bool of_tensor = object && isTensor(object);
  const std::vector<Index> indices = emitIndices(target.indices(), of_tensor);
  if (of_tensor) {
    const View view = emitView(target.range(), object, indices);
    if (!view.indices) {
      const auto [value, in_place] = augment(range, stmt.op(), view.tensor, stmt.rhs());
      if (!in_place) builtin(range, aten::copy_, {view.tensor, tensorLike(range, value, view.tensor)});
      return;
    }
    Value* current = builtin(range, aten::index, {view.tensor, view.indices});
    Value* value = augment(range, stmt.op(), current, stmt.rhs()).first;
    builtin(range, aten::index_put_, {view.tensor, view.indices, tensorLike(range, value, view.tensor)});
    return;
  }
  if (indices.size() != 1 || indices[0].slice) {
    throw UserError("augmented assignment to a slice of a " + base->kind() + " is not supported", range);
  }
  if (object && object->type()->kind() == c10::TypeKind::TupleType) {
    throw UserError(object->type()->repr_str() + " does not support augmented assignment through an index", range);
  }
  Value* index = indices[0].sugared->asValue(indices[0].range, *this);
  Value* current = base->getItem(target.range(), *this, index)->asValue(target.range(), *this);
  const auto [value, in_place] = augment(range, stmt.op(), current, stmt.rhs());
  if (!in_place) base->setItem(range, *this, index, value);
}

void FunctionEmitter::deleteSubscript(const Subscript& target) {
  const SourceRange& range = target.range();
  const SugaredValuePtr base = emitSugared(target.value());
  const std::vector<Index> indices = emitIndices(target.indices(), /*of_tensor=*/false);
  if (indices.size() != 1) throw UserError("del takes one index", range);
  if (const SliceValue* slice = indices[0].slice) {
    Value* list = simpleValueOf(base);
    if (!list || list->type()->kind() != c10::TypeKind::ListType) {
      throw UserError("only slices of lists can be deleted, not of a " + base->kind(), range);
    }
    return assignListSlice(range, list, *slice, nullptr);
  }
  base->delItem(range, *this, indices[0].sugared->asValue(indices[0].range, *this));
}

}  // namespace cresset
