// Values that hold values that hold values …, as deep as a program likes.
//
// c10 visits values by recursion: to print, hash or compare them, to tell their type, and to destroy them. A
// chain of a million objects would overflow the stack there, and a list that holds itself would never end. So what
// visits is preceded by a look at the depth, and what releases values destroys chains in a loop.
//
// Thread-safety: a value that several threads release at the very same moment may still be destroyed by recursion.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

namespace cresset {

/// How deep lists, dicts and tuples may nest in what is printed, hashed, copied, or asked for its type.
inline constexpr size_t kMaxValueNesting = 1000;

/// Throws ScriptRaise RecursionError if the value's lists, dicts and tuples nest deeper, or contain themselves; where a
/// limit holds (limits.h), LimitError if they are few that occur so often in each other that visiting them would
/// not end. `doing` completes the message: "… while printing a value".
void requireShallow(const c10::IValue& value, const char* doing);
/// The same, but that few values which stand for many (`x = [x, x]` forty levels deep) are refused where no limits
/// hold, too: for what an archive brings along, and what is shown of it.
void requireFewElements(const c10::IValue& value, const char* doing);

namespace detail {
[[gnu::cold]] void destroyNested(c10::IValue value);
}

/// Whether destroying the value may go deep.
inline bool holdsValues(const c10::IValue& value) {
  return value.isObject() || value.isList() || value.isTuple() || value.isGenericDict() || value.isFuture();
}

/// Lets go of a value; it is None then.
inline void release(c10::IValue& value) {
  if (holdsValues(value)) [[unlikely]]
    detail::destroyNested(std::move(value));
  else
    value = c10::IValue();
}
inline void release(c10::IValue&& value) {
  release(value);
}
/// Lets go of a value at the end of a scope.
class Releasing {
 public:
  explicit Releasing(c10::IValue& value) : value_(value) {}
  ~Releasing() { release(value_); }
  Releasing(const Releasing&) = delete;
  Releasing& operator=(const Releasing&) = delete;

 private:
  c10::IValue& value_;
};
/// Lets go of many, as of a list's elements.
void releaseAll(std::vector<c10::IValue>& values);

/// Values of such a type may hold any number of levels of others: what is destroyed with them is not bounded by the
/// type. False for lists of numbers or tensors, and the like.
bool mayNestDeeply(const c10::Type& type);

}  // namespace cresset
