// How each iterable counts and yields. Iteration objects (…Elements) are made by iter(); they hold what must be
// computed once, before the loop: lengths, and the parts of a zip.
#include "cresset/frontend/iterables.h"

#include <algorithm>

#include "cresset/frontend/calls.h"
#include "cresset/frontend/messages.h"
#include "cresset/frontend/prelude.h"
#include "cresset/ir/constants.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

SugaredValuePtr simple(Value* value) {
  return std::make_shared<SimpleValue>(value);
}

Value* insertCall(const SourceRange& range, EmitContext& cx, const char* op, std::initializer_list<Value*> inputs) {
  std::vector<NamedValue> args;
  for (Value* value : inputs) args.emplace_back(value, range);
  return insertOp(cx.graph, Symbol::fromQualString(op), args, {}, range);
}

Value* insertInt(EmitContext& cx, int64_t value) {
  return cx.graph.insertConstant(value);
}

/// What iter() returns for iterables that are iterated by an index.
class Elements : public SugaredValue {
 public:
  SugaredValuePtr iter(const SourceRange&, EmitContext&) override { return shared_from_this(); }
  /// Whether there is no end (the counter of enumerate), so that others decide the length.
  virtual bool isUnbounded() const { return false; }
};

/// start, start + step, … ; null `end` for a counter without end. `trivial`: start 0, step 1.
class RangeElements : public Elements {
 public:
  RangeElements(Value* start, Value* end, Value* step) : start_(start), end_(end), step_(step) {}
  std::string kind() const override { return "range"; }
  bool isUnbounded() const override { return end_ == nullptr; }
  Value* len(const SourceRange& range, EmitContext& cx) override {
    // A negative count makes no iteration of the loop, as zero does.
    if (isTrivial()) return end_;
    return insertCall(range, cx, "aten::__range_length", {start_, end_, step_});
  }
  SugaredValuePtr getItem(const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint) override {
    if (isTrivial()) return simple(index);
    Value* step = step_ ? step_ : insertInt(cx, 1);
    return simple(insertCall(range, cx, "aten::__derive_index", {index, start_, step}));
  }

 private:
  bool isTrivial() const { return start_ == nullptr; }
  Value* start_;  // null: 0
  Value* end_;
  Value* step_;  // null: 1
};

class RangeValue : public SugaredValue {
 public:
  RangeValue(Value* start, Value* end, Value* step) : start_(start), end_(end), step_(step) {}
  std::string kind() const override { return "range"; }
  Value* len(const SourceRange& range, EmitContext& cx) override {
    Value* start = start_ ? start_ : insertInt(cx, 0);
    Value* step = step_ ? step_ : insertInt(cx, 1);
    return insertCall(range, cx, "aten::__range_length", {start, end_, step});
  }
  SugaredValuePtr iter(const SourceRange& range, EmitContext& cx) override {
    if (!start_) return std::make_shared<RangeElements>(nullptr, end_, nullptr);
    return std::make_shared<RangeElements>(start_, end_, step_ ? step_ : insertInt(cx, 1));
  }

 private:
  Value* start_;
  Value* end_;
  Value* step_;
};

/// Several iterables in step, each element a tuple.
class ZipElements : public Elements {
 public:
  ZipElements(std::string name, std::vector<SugaredValuePtr> parts, bool strict, const SourceRange& range)
      : name_(std::move(name)), parts_(std::move(parts)), strict_(strict) {
    bool has_dynamic = false;
    for (const auto& part : parts_) {
      if (auto size = part->staticLen()) {
        if (strict && static_len_ && *static_len_ != *size) {
          throw UserError(
              "zip(…, strict=True) of " + std::to_string(*static_len_) + " and " + std::to_string(*size) + " elements",
              range);
        }
        static_len_ = std::min(static_len_.value_or(*size), *size);
      } else {
        auto* elements = dynamic_cast<Elements*>(part.get());
        has_dynamic |= !elements || !elements->isUnbounded();
      }
    }
    if (static_len_ && has_dynamic) {
      throw UserError(
          "Can't iterate over a module list or tuple with a value that does not have a statically determinable length",
          range);
    }
    if (parts_.empty()) static_len_ = 0;
  }
  std::string kind() const override { return name_; }
  std::optional<size_t> staticLen() const override { return static_len_; }
  Value* len(const SourceRange& range, EmitContext& cx) override {
    if (static_len_) return insertInt(cx, static_cast<int64_t>(*static_len_));
    std::vector<Value*> lengths;
    for (const auto& part : parts_) {
      auto* elements = dynamic_cast<Elements*>(part.get());
      if (!elements || !elements->isUnbounded()) lengths.push_back(part->len(range, cx));
    }
    if (lengths.size() == 1) return lengths[0];
    Node* list = cx.graph.create(prim::ListConstruct, lengths, 1);
    list->setSourceRange(range);
    list->output()->setType(c10::ListType::ofInts());
    cx.graph.insertNode(list);
    if (strict_) {
      const NamedValue checked(list->output(), range);
      return preludeMember("cresset.equal_length", range, cx)->call(range, cx, {checked}, {}, 1)->asValue(range, cx);
    }
    return insertCall(range, cx, "prim::min", {list->output()});
  }
  SugaredValuePtr getItem(const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint) override {
    auto hints = type_hint ? type_hint->cast<c10::TupleType>() : nullptr;
    std::vector<SugaredValuePtr> elements;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const TypePtr hint = hints && i < hints->elements().size() ? hints->elements()[i] : TypePtr();
      elements.push_back(parts_[i]->getItem(range, cx, index, hint));
    }
    return std::make_shared<SugaredTuple>(std::move(elements));
  }

 private:
  std::string name_;
  std::vector<SugaredValuePtr> parts_;
  bool strict_;  // lengths must be equal
  std::optional<size_t> static_len_;
};

/// zip and enumerate before iteration; enumerate's counter is its first part.
class ZipValue : public SugaredValue {
 public:
  ZipValue(std::string name, std::vector<SugaredValuePtr> parts, bool strict = false)
      : name_(std::move(name)), parts_(std::move(parts)), strict_(strict) {}
  std::string kind() const override { return name_; }
  SugaredValuePtr iter(const SourceRange& range, EmitContext& cx) override {
    std::vector<SugaredValuePtr> parts;
    for (const auto& part : parts_) parts.push_back(part->iter(range, cx));
    return std::make_shared<ZipElements>(name_, std::move(parts), strict_, range);
  }

 private:
  std::string name_;
  std::vector<SugaredValuePtr> parts_;
  bool strict_;
};

class ReversedElements : public Elements {
 public:
  ReversedElements(SugaredValuePtr base, Value* last) : base_(std::move(base)), last_(last) {}
  std::string kind() const override { return "reversed"; }
  Value* len(const SourceRange& range, EmitContext& cx) override { return base_->len(range, cx); }
  SugaredValuePtr getItem(const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint) override {
    return base_->getItem(range, cx, insertCall(range, cx, "aten::sub", {last_, index}), type_hint);
  }

 private:
  SugaredValuePtr base_;
  Value* last_;  // index of the last element, computed before the loop
};

class ReversedValue : public SugaredValue {
 public:
  explicit ReversedValue(SugaredValuePtr base) : base_(std::move(base)) {}
  std::string kind() const override { return "reversed"; }
  SugaredValuePtr iter(const SourceRange& range, EmitContext& cx) override {
    SugaredValuePtr base = base_->iter(range, cx);
    if (auto size = base->staticLen()) {
      std::vector<SugaredValuePtr> elements;
      for (size_t i = *size; i-- > 0;)
        elements.push_back(base->getItem(range, cx, insertInt(cx, static_cast<int64_t>(i))));
      return std::make_shared<SugaredTuple>(std::move(elements));
    }
    Value* last = insertCall(range, cx, "aten::sub", {base->len(range, cx), insertInt(cx, 1)});
    return std::make_shared<ReversedElements>(std::move(base), last);
  }

 private:
  SugaredValuePtr base_;
};

Value* intArgument(
    const SourceRange& range, EmitContext& cx, const char* function, const SugaredValuePtr& arg, size_t position) {
  Value* value = arg->asValue(range, cx);
  Value* converted = tryConvertTo(cx.graph, range, value, c10::IntType::get(), /*allow_conversions=*/true);
  if (!converted || converted->type()->kind() != c10::TypeKind::IntType) {
    throw UserError(
        std::string("all inputs of ") + function + " must be ints, found " + typeName(*value->type()) +
            " in argument " + std::to_string(position),
        range);
  }
  return converted;
}

void requireCount(const SourceRange& range, const char* function, size_t count, size_t most) {
  if (count >= 1 && count <= most) return;
  throw UserError(
      std::string(function) + (count ? " expected at most " + std::to_string(most) : " expected at least 1") +
          " arguments, got " + std::to_string(count),
      range);
}

bool isStrictZip(
    const SourceRange& range, EmitContext& cx, const std::vector<std::pair<std::string, SugaredValuePtr>>& kwargs) {
  bool strict = false;
  for (const auto& [name, value] : kwargs) {
    if (name != "strict") throw UserError("zip() got an unexpected keyword argument '" + name + "'", range);
    const auto constant = toIValue(value->asValue(range, cx));
    if (!constant || !constant->isBool()) throw UserError("zip() expects `strict` to be True or False", range);
    strict = constant->toBool();
  }
  return strict;
}

}  // namespace

SugaredValuePtr resultFor(Value* packed, size_t binders) {
  Node* tuple = packed->node();
  const bool unpacked = binders > 1 && tuple->kind() == prim::TupleConstruct && tuple->inputs().size() == binders &&
                        !packed->hasUses() && tuple->input(0)->node()->outputs().size() == binders;
  if (!unpacked) return std::make_shared<SimpleValue>(packed);
  std::vector<SugaredValuePtr> elements;
  for (Value* output : tuple->inputs()) elements.push_back(std::make_shared<SimpleValue>(output));
  tuple->destroy();
  return std::make_shared<SugaredTuple>(std::move(elements));
}

Value* SugaredTuple::asValue(const SourceRange& range, EmitContext& cx) {
  std::vector<Value*> values;
  for (const auto& element : elements_) values.push_back(element->asValue(range, cx));
  return insertTuple(range, cx, values);
}

std::vector<SugaredValuePtr> SugaredTuple::asTuple(const SourceRange&, EmitContext&, std::optional<size_t>) {
  return elements_;
}

Value* SugaredTuple::len(const SourceRange&, EmitContext& cx) {
  return insertInt(cx, static_cast<int64_t>(elements_.size()));
}

SugaredValuePtr SugaredTuple::getItem(const SourceRange& range, EmitContext& cx, Value* index, const TypePtr&) {
  auto constant = toIValue(index);
  if (!constant || !constant->isInt()) return SimpleValue(asValue(range, cx)).getItem(range, cx, index);
  const int64_t size = static_cast<int64_t>(elements_.size());
  const int64_t i = constant->toInt();
  if (i < -size || i >= size) {
    throw UserError(messages::tupleIndex(size, i), range);
  }
  return elements_[static_cast<size_t>(i < 0 ? i + size : i)];
}

SugaredValuePtr SugaredTuple::iter(const SourceRange&, EmitContext&) {
  return shared_from_this();
}

SugaredValuePtr IterableFunction::callSugared(
    const SourceRange& range, EmitContext& cx, const std::vector<SugaredValuePtr>& args,
    const std::vector<std::pair<std::string, SugaredValuePtr>>& kwargs) {
  switch (kind_) {
    case Kind::Range: {
      requireCount(range, "range", args.size() + kwargs.size(), 3);
      if (!kwargs.empty()) throw UserError("range doesn't accept any keyword arguments", range);
      std::vector<Value*> values;
      for (const auto& arg : args) values.push_back(intArgument(range, cx, "range", arg, values.size()));
      if (values.size() == 1) return std::make_shared<RangeValue>(nullptr, values[0], nullptr);
      return std::make_shared<RangeValue>(values[0], values[1], values.size() == 3 ? values[2] : nullptr);
    }
    case Kind::Enumerate: {
      SugaredValuePtr start = args.size() == 2 ? args[1] : nullptr;
      for (const auto& [name, value] : kwargs) {
        if (name != "start" || start)
          throw UserError("enumerate() got an unexpected keyword argument '" + name + "'", range);
        start = value;
      }
      requireCount(range, "enumerate", args.size(), 2);
      Value* first = start ? intArgument(range, cx, "enumerate", start, 1) : nullptr;
      if (first && toIValue(first) && *toIValue(first) == c10::IValue(static_cast<int64_t>(0))) first = nullptr;
      auto counter = std::make_shared<RangeElements>(first, nullptr, nullptr);
      return std::make_shared<ZipValue>("enumerate", std::vector<SugaredValuePtr>{std::move(counter), args[0]});
    }
    case Kind::Zip:
      if (args.empty()) throw UserError("zip expected at least 1 arguments, got 0", range);
      return std::make_shared<ZipValue>("zip", args, isStrictZip(range, cx, kwargs));
    case Kind::Reversed:
      requireArgs(range, "reversed()", 1, args.size(), kwargs.size());
      return std::make_shared<ReversedValue>(args[0]);
    case Kind::Len:
      requireArgs(range, "len()", 1, args.size(), kwargs.size());
      return simple(args[0]->len(range, cx));
    case Kind::Iter:
    case Kind::Next:
      throw UserError(
          name_ + "() is not supported: iterators are no values. Use a `for` loop over the iterable itself", range);
  }
  return nullptr;
}

SugaredValuePtr IterableFunction::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  std::vector<SugaredValuePtr> values;
  std::vector<std::pair<std::string, SugaredValuePtr>> named;
  for (const NamedValue& arg : args) values.push_back(simple(arg.get(cx.graph)));
  for (const NamedValue& arg : kwargs) named.emplace_back(arg.name, simple(arg.get(cx.graph)));
  return callSugared(range, cx, values, named);
}

}  // namespace cresset
