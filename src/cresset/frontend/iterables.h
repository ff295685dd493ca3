// Iterables that are no values of the graph: range, enumerate, zip, reversed, and tuples of sugared values.
//
// `for x in it` asks it.iter(range, cx) for something with len and getItem; that is what makes `range(n)` cost nothing
// and lets zip iterate several things with one loop counter. If staticLen() is known the loop is unrolled instead,
// because the elements may have different types.
#pragma once

#include <string>
#include <vector>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// What an operator just returned, for `binders` variables: several results that go to as many variables are no tuple
/// on the way. `packed` is the value that insertOp returned.
SugaredValuePtr resultFor(Value* packed, size_t binders);

/// A tuple whose elements may be sugared values themselves. As a value of the graph it is a prim::TupleConstruct.
class SugaredTuple : public SugaredValue {
 public:
  explicit SugaredTuple(std::vector<SugaredValuePtr> elements) : elements_(std::move(elements)) {}
  const std::vector<SugaredValuePtr>& elements() const { return elements_; }
  std::string kind() const override { return "tuple"; }
  Value* asValue(const SourceRange& range, EmitContext& cx) override;
  std::vector<SugaredValuePtr> asTuple(
      const SourceRange& range, EmitContext& cx, std::optional<size_t> size_hint = {}) override;
  Value* len(const SourceRange& range, EmitContext& cx) override;
  /// `index` must be a constant.
  SugaredValuePtr getItem(
      const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint = TypePtr()) override;
  SugaredValuePtr iter(const SourceRange& range, EmitContext& cx) override;
  std::optional<size_t> staticLen() const override { return elements_.size(); }

 private:
  std::vector<SugaredValuePtr> elements_;
};

/// The functions whose arguments are iterables: range, enumerate, zip, reversed; len; iter and next (errors).
class IterableFunction : public SugaredValue {
 public:
  enum class Kind { Range, Enumerate, Zip, Reversed, Len, Iter, Next };
  IterableFunction(Kind kind, std::string name) : kind_(kind), name_(std::move(name)) {}
  std::string kind() const override { return name_; }
  bool takesSugared() const override { return true; }
  SugaredValuePtr callSugared(
      const SourceRange& range, EmitContext& cx, const std::vector<SugaredValuePtr>& args,
      const std::vector<std::pair<std::string, SugaredValuePtr>>& kwargs) override;
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;

 private:
  Kind kind_;
  std::string name_;
};

}  // namespace cresset
