// Depth of values, and their destruction. See nesting.h.
#include "cresset/ops/nesting.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "cresset/ops/limits.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/row_helpers.h"

namespace cresset {

namespace {

template <typename Visit>
void forEachElement(const IValue& value, const Visit& visit) {
  if (value.isList()) {
    for (const IValue& element : listOf(value).list) visit(element);
  } else if (value.isGenericDict()) {
    for (const auto& entry : dictOf(value).dict) {
      visit(entry.first);
      visit(entry.second);
    }
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) visit(element);
  }
}

bool isContainer(const IValue& value) {
  return value.isList() || value.isTuple() || value.isGenericDict();
}

/// The type of a list's elements or of a dict's values; null for other values.
const c10::Type* elementTypeOf(const IValue& value) {
  if (value.isList()) return listOf(value).elementType.get();
  return value.isGenericDict() ? dictOf(value).elementTypes.valueType.get() : nullptr;
}

/// Elements of most lists are numbers, strings or tensors, as the list's own type says.
bool hasPlainElements(const IValue& value) {
  const c10::Type* type = elementTypeOf(value);
  return type && !mayNestDeeply(*type);
}

/// Elements that hold nothing.
bool hasLeaves(const IValue& value) {
  return hasPlainElements(value) && elementTypeOf(value)->containedTypes().empty();
}

/// Where few elements are wanted: what a traversal that meets shared parts again and again may meet in all.
constexpr double kMaxExpanded = 1 << 22;

class DepthCheck {
 public:
  /// `counts`: whether too many elements are refused.
  DepthCheck(const char* doing, bool counts) : doing_(doing), counts_(counts) {}

  struct Extent {
    size_t height = 0;    // levels of containers
    double elements = 0;  // that a traversal meets, those of shared parts each time; a text counts by its length
  };

  void run(const IValue& value) {
    const Extent extent = extentOf(value, 0);
    if (extent.elements > kMaxExpanded && extent.elements > 8 * static_cast<double>(num_elements_) && counts_) {
      const bool is_limited = RunBudget::current() != nullptr;
      throw ScriptRaise(
          is_limited ? kLimitErrorClass : "builtins.RuntimeError", std::string(doing_) + " would take too long" +
                                                                       (is_limited ? " under limits" : "") +
                                                                       ": parts of it occur in it too many times");
    }
  }

  /// Of the value, which lies in `level` others. What occurs twice is visited once.
  Extent extentOf(const IValue& value, size_t level) {
    if (level >= kMaxValueNesting) raiseTooDeep();
    auto [known, is_new] = extents_.try_emplace(value.internalToPointer());
    if (!is_new) {
      // One that is being visited has height 0 still: it contains itself.
      if (known->second.height == 0 || level + known->second.height > kMaxValueNesting) raiseTooDeep();
      return known->second;
    }
    Extent extent{1, 0};
    if (counts_ ? hasLeaves(value) : hasPlainElements(value)) {
      const size_t size = value.isList() ? listOf(value).list.size() : dictOf(value).dict.size();
      num_elements_ += size;
      extent.elements = static_cast<double>(size);
    } else {
      forEachElement(value, [&](const IValue& element) {
        ++num_elements_;
        extent.elements += element.isString() ? 1 + static_cast<double>(element.toStringRef().size()) / 16 : 1;
        if (!isContainer(element)) return;
        const Extent inner = extentOf(element, level + 1);
        extent.height = std::max(extent.height, 1 + inner.height);
        extent.elements += inner.elements;
      });
    }
    extents_[value.internalToPointer()] = extent;
    return extent;
  }

 private:
  [[noreturn]] void raiseTooDeep() const {
    raise("RecursionError", std::string("maximum recursion depth exceeded while ") + doing_);
  }
  const char* doing_;
  const bool counts_;
  size_t num_elements_ = 0;  // shared ones once
  std::unordered_map<const void*, Extent> extents_;
};

}  // namespace

namespace {

void checkExtent(const IValue& value, const char* doing, bool counts) {
  if (!isContainer(value) || (counts ? hasLeaves(value) : hasPlainElements(value))) return;
  bool nests = false;
  forEachElement(value, [&](const IValue& element) { nests |= isContainer(element); });
  if (nests) DepthCheck(doing, counts).run(value);
}

}  // namespace

void requireShallow(const IValue& value, const char* doing) {
  checkExtent(value, doing, RunBudget::current() != nullptr);
}

void requireFewElements(const IValue& value, const char* doing) {
  checkExtent(value, doing, true);
}

bool mayNestDeeply(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType: {
      const auto inner = type.containedTypes();
      return std::any_of(inner.begin(), inner.end(), [](const c10::TypePtr& t) { return mayNestDeeply(*t); });
    }
    case c10::TypeKind::AnyType:
    case c10::TypeKind::AnyListType:
    case c10::TypeKind::AnyTupleType:
    case c10::TypeKind::AnyClassType:
    case c10::TypeKind::InterfaceType:
    case c10::TypeKind::FutureType:
    case c10::TypeKind::VarType:
      return true;
    case c10::TypeKind::ClassType: {
      // Objects of C++ classes hold a capsule, and nothing else that could be seen.
      const auto& cls = type.expectRef<c10::ClassType>();
      return cls.numAttributes() != 1 || cls.getAttribute(0)->kind() != c10::TypeKind::CapsuleType;
    }
    default:
      return false;
  }
}

namespace {

/// Copies what a value that is about to be destroyed holds to `open`, so that it is not destroyed with it. Copies,
/// since tuples and objects give out their elements for reading only; also of what others seem to hold too: an object
/// that refers to the next one twice must not be the one that destroys it.
void takeElements(const IValue& value, std::vector<IValue>& open) {
  const auto take = [&](const IValue& element) {
    if (holdsValues(element)) open.push_back(element);
  };
  if (value.isObject()) {
    for (const IValue& slot : value.toObjectRef().slots()) take(slot);
  } else if (value.isFuture()) {
    const auto& future = *value.toFuture();
    if (future.completed() && !future.hasError()) take(future.constValue());
  } else if (!hasPlainElements(value)) {
    forEachElement(value, take);
  }
}

void destroyAll(std::vector<IValue>& open) {
  while (!open.empty()) {
    const IValue value = std::move(open.back());
    open.pop_back();
    if (value.use_count() == 1) takeElements(value, open);
  }
}

}  // namespace

void detail::destroyNested(IValue value) {
  if (value.use_count() > 1) return;
  std::vector<IValue> open;
  takeElements(value, open);
  value = IValue();
  destroyAll(open);
}

void releaseAll(std::vector<IValue>& values) {
  std::vector<IValue> open;
  for (IValue& value : values) {
    if (holdsValues(value)) open.push_back(std::move(value));
  }
  values.clear();
  destroyAll(open);
}

}  // namespace cresset
