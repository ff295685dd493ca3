// Slices and the ellipsis as sugared values. See indices.h.
#include "cresset/frontend/indices.h"

#include <algorithm>

#include "cresset/frontend/iterables.h"
#include "cresset/support/error.h"

namespace cresset {

Value* SliceValue::asValue(const SourceRange& range, EmitContext&) {
  throw UserError(
      "a slice can't be used as a value: it can be assigned to a variable, stand in a tuple, and be used in a "
      "subscript",
      range);
}

SugaredValuePtr SliceValue::findAttr(const SourceRange&, EmitContext& cx, const std::string& name) {
  Value* bound = nullptr;
  if (name == "start") {
    bound = start_;
  } else if (name == "stop") {
    bound = stop_;
  } else if (name == "step") {
    bound = step_;
  } else {
    return nullptr;
  }
  return std::make_shared<SimpleValue>(bound ? bound : cx.graph.insertConstant(c10::IValue()));
}

Value* EllipsisValue::asValue(const SourceRange& range, EmitContext&) {
  throw UserError(
      "'...' can't be used as a value: it can be assigned to a variable, stand in a tuple, and be used in a subscript",
      range);
}

SugaredValuePtr SliceFunction::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t) {
  if (!kwargs.empty()) throw UserError("Slice does not accept any keyword arguments", range);
  if (args.empty() || args.size() > 3) {
    throw UserError(
        "slice expected at " + std::string(args.empty() ? "least 1 argument" : "most 3 arguments") + ", got " +
            std::to_string(args.size()),
        range);
  }
  auto bound = [&](size_t i) { return i < args.size() ? args[i].get(cx.graph) : nullptr; };
  if (args.size() == 1) return std::make_shared<SliceValue>(nullptr, bound(0), nullptr);
  return std::make_shared<SliceValue>(bound(0), bound(1), bound(2));
}

bool isIndexOnly(const SugaredValuePtr& value) {
  if (dynamic_cast<SliceValue*>(value.get()) || dynamic_cast<EllipsisValue*>(value.get())) return true;
  auto* tuple = dynamic_cast<SugaredTuple*>(value.get());
  return tuple && std::any_of(tuple->elements().begin(), tuple->elements().end(), isIndexOnly);
}

}  // namespace cresset
