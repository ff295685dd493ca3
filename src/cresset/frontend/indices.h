// Indices that are no values of the graph: slices and the ellipsis.
//
// `slice(a, b)` and `...` may be bound to variables and stand in tuples, as torch.fx writes them, but a graph has no
// type for them: what takes them as a subscript makes nodes of their bounds.
#pragma once

#include <string>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// `slice(start, stop, step)`, and `start:stop:step` in a subscript. Null: left out.
class SliceValue : public SugaredValue {
 public:
  SliceValue(Value* start, Value* stop, Value* step) : start_(start), stop_(stop), step_(step) {}
  Value* start() const { return start_; }
  Value* stop() const { return stop_; }
  Value* step() const { return step_; }
  std::string kind() const override { return "slice"; }
  Value* asValue(const SourceRange& range, EmitContext& cx) override;
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override;

 private:
  Value* start_;
  Value* stop_;
  Value* step_;
};

class EllipsisValue : public SugaredValue {
 public:
  std::string kind() const override { return "'...'"; }
  Value* asValue(const SourceRange& range, EmitContext& cx) override;
};

/// Python's `slice`.
class SliceFunction : public SugaredValue {
 public:
  std::string kind() const override { return "slice"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;
};

/// Whether it is a slice, the ellipsis or a tuple that holds one: what only a subscript can take.
bool isIndexOnly(const SugaredValuePtr& value);

}  // namespace cresset
