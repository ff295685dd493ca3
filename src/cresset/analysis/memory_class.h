// What kind of memory a type's values are, as far as aliasing can tell kinds apart: a tensor is never a list, a
// List[int] never a List[Tensor], an object of one class never one of another. Values of immutable types that hold
// nothing mutable (int, str, None, …) are no memory.
#pragma once

#include <ATen/core/jit_type_base.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace cresset {

enum class MemoryKind : uint8_t { Any, Tensor, List, Dict, Tuple, Object, Future, Other };

/// An index into MemoryClasses.
using ClassId = uint32_t;

/// One per analysis. Not thread-safe.
class MemoryClasses {
 public:
  MemoryClasses();

  /// The classes of which a value of this type may be: none for ints, one for a tensor or a list, several for a Union.
  /// Optional[T] is as T: None is no memory.
  const std::vector<ClassId>& of(const c10::TypePtr& type);
  MemoryKind kind(ClassId id) const { return classes_[id].kind; }
  /// A type of this class; Any's for Any.
  const c10::TypePtr& type(ClassId id) const { return classes_[id].type; }
  /// Whether one value may be seen as both: equal classes, any class and Any, tuples among each other (a NamedTuple is
  /// a tuple), an interface and objects.
  bool compatible(ClassId a, ClassId b) const;
  /// The type of what a value of the class holds in `field` (see Field in points_to.h); null if it holds nothing there.
  c10::TypePtr fieldType(ClassId id, int field) const;
  size_t numFields(ClassId id) const;
  size_t size() const { return classes_.size(); }

  static constexpr ClassId kAny = 0;

 private:
  struct Class {
    MemoryKind kind;
    c10::TypePtr type;
    bool open = false;  // an interface or some other type of which only the kind is known
  };
  ClassId add(MemoryKind kind, const c10::TypePtr& type, bool open = false);
  void collect(const c10::TypePtr& type, std::vector<ClassId>& into);

  std::vector<Class> classes_;
  std::unordered_map<std::string, ClassId> by_text_;
  std::unordered_map<const c10::Type*, std::vector<ClassId>> by_type_;
  std::vector<c10::TypePtr> held_;  // what by_type_ names
};

}  // namespace cresset
