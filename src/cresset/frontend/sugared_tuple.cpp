// Several sugared values as one. See sugared_tuple.h.
#include "cresset/frontend/sugared_tuple.h"

#include <ATen/core/jit_type.h>

#include "cresset/ir/constants.h"
#include "cresset/support/error.h"

namespace cresset {

Value* SugaredSequence::asValue(const SourceRange& range, EmitContext& cx) {
  std::vector<Value*> values;
  std::vector<TypePtr> types;
  for (const SugaredValuePtr& item : items_) {
    values.push_back(item->asValue(range, cx));
    types.push_back(values.back()->type());
  }
  cx.graph.setLocation(range);
  Node* node = cx.graph.insertNode(cx.graph.create(prim::TupleConstruct, values, 1));
  return node->output()->setType(c10::TupleType::create(std::move(types)));
}

Value* SugaredSequence::len(const SourceRange& range, EmitContext& cx) {
  cx.graph.setLocation(range);
  return cx.graph.insertConstant(static_cast<int64_t>(items_.size()));
}

SugaredValuePtr SugaredSequence::getItem(const SourceRange& range, EmitContext&, Value* index, const TypePtr&) {
  const auto position = toIValue(index);
  if (!position || !position->isInt()) throw UserError("Expected integer literal for index", range);
  const auto size = static_cast<int64_t>(items_.size());
  int64_t i = position->toInt();
  if (i < 0) i += size;
  if (i < 0 || i >= size) {
    throw UserError("Index " + std::to_string(position->toInt()) + " is out of range of length " + std::to_string(size), range);
  }
  return items_[static_cast<size_t>(i)];
}

} // namespace cresset
