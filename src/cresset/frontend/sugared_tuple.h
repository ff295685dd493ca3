// Several sugared values as one: what a slice of a container of modules is.
#pragma once

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// Its length is known while compiling, so that loops over it are unrolled.
class SugaredSequence : public SugaredValue {
 public:
  explicit SugaredSequence(std::vector<SugaredValuePtr> items) : items_(std::move(items)) {}
  std::string kind() const override { return "tuple"; }
  Value* asValue(const SourceRange& range, EmitContext& cx) override;
  std::vector<SugaredValuePtr> asTuple(const SourceRange&, EmitContext&, std::optional<size_t>) override { return items_; }
  Value* len(const SourceRange& range, EmitContext& cx) override;
  SugaredValuePtr getItem(const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint) override;
  SugaredValuePtr iter(const SourceRange&, EmitContext&) override { return shared_from_this(); }
  std::optional<size_t> staticLen() const override { return items_.size(); }

 private:
  std::vector<SugaredValuePtr> items_;
};

} // namespace cresset
