// How large types are: types are trees to whoever compares or prints them, and tuples in tuples double them.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstddef>
#include <string>
#include <unordered_map>

namespace cresset {

/// How many parts a tuple's type may have beside its own.
inline constexpr size_t kMaxTypeParts = 1 << 15;

/// What is said of a tuple whose type has more.
inline std::string tooManyTypeParts() {
  return "the type of this tuple has more than " + std::to_string(kMaxTypeParts) +
         " parts, those of the tuples in it counted each time that they occur";
}

/// Counts the parts of types, those of the tuples in them each time that they occur. Remembers what it has counted.
class TypeParts {
 public:
  struct Size {
    size_t parts = 1, depth = 0;  // `parts` far beyond kMaxTypeParts is not exact
  };
  Size sizeOf(const c10::TypePtr& type);

 private:
  struct Known {
    c10::TypePtr type;  // kept, as it is known by its address
    Size size;
  };
  std::unordered_map<const c10::Type*, Known> known_;
};

/// The sum of numbers of parts, which does not overflow.
inline size_t addParts(size_t a, size_t b) {
  constexpr size_t kMany = 16 * kMaxTypeParts;
  return a + b < kMany ? a + b : kMany;
}

/// The type of a value. Throws ScriptRaise if the value nests too deep for it (nesting.h), or if it has more parts than
/// types may have: tuples under Any can share theirs. `doing` completes the message: "… while comparing types".
c10::TypePtr typeOf(const c10::IValue& value, const char* doing);

}  // namespace cresset
