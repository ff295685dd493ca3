// Lists: indexing, slicing, mutation, searching, sorting, reductions.
//
// Rows work on the list itself (List&), never on a typed copy; element types are checked by schema matching. Two
// tensors are equal, as elements, if `a.eq(b)` is true as a condition.
#include <ATen/core/jit_type.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/lt_ops.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "cresset/ops/format.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/ops/text_search.h"
#include "cresset/ops/type_parts.h"

namespace cresset {

namespace {

/// Checked access; `index` counts from the end if negative.
IValue& element(List& list, int64_t index) {
  int64_t i = wrapIndex(index, list.list.size());
  if (i < 0 || i >= static_cast<int64_t>(list.list.size())) raise("IndexError", "list index out of range");
  return list.list[static_cast<size_t>(i)];
}

template <typename T>
bool sameElement(const IValue& a, const IValue& b) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    return equalTensors(a.toTensor(), b.toTensor());
  } else if constexpr (std::is_same_v<T, std::string>) {
    return equalTexts(a.toStringRef(), b.toStringRef());
  } else {
    return Arg<T>::get(a) == Arg<T>::get(b);
  }
}

template <typename T>
auto findElement(List& list, const IValue& value) {
  return std::find_if(list.list.begin(), list.list.end(), [&](const IValue& v) { return sameElement<T>(value, v); });
}

/// As messages show an element: as C++ streams print it.
template <typename T>
std::string streamed(const IValue& value) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    return toPrinted(value);
  } else {
    std::ostringstream text;
    text << Arg<T>::get(value);
    return text.str();
  }
}

template <typename T>
bool less(const IValue& a, const IValue& b) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    return at::_ops::lt_Tensor::call(a.toTensor(), b.toTensor()).is_nonzero();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return lessTexts(a.toStringRef(), b.toStringRef());
  } else {
    return Arg<T>::get(a) < Arg<T>::get(b);
  }
}

/// What the values are in order, with equal ones in the order that they had. `less` may be a program's: whatever it
/// answers, raises or does to the list that `values` are of, all that happens is within this function's own vectors.
template <typename Less>
std::vector<IValue> sorted(const std::vector<IValue>& values, const Less& less) {
  requireMemory(2 * values.size() * sizeof(IValue));
  std::vector<IValue> from = values, into(values.size());
  const size_t size = values.size();
  for (size_t width = 1; width < size; width *= 2) {
    for (size_t begin = 0; begin < size; begin += 2 * width) {
      const size_t middle = std::min(begin + width, size), end = std::min(middle + width, size);
      size_t left = begin, right = middle;
      for (size_t out = begin; out < end; ++out) {
        if (left < middle && right < end) checkTimeLimit();
        const bool takes_right = left == middle || (right < end && less(from[right], from[left]));
        into[out] = std::move(from[takes_right ? right++ : left++]);
      }
    }
    from.swap(into);
  }
  return from;
}

template <typename Less>
void sortBy(List& list, const Less& less) {
  const size_t size = list.list.size();
  std::vector<IValue> result = sorted(list.list, less);
  if (list.list.size() != size) raise("ValueError", "list modified during sort");
  list.list.swap(result);
  releaseAll(result);
}

/// Stable. Sorting from greatest to least keeps equal elements in order, as Python's reverse=True does.
template <typename T>
void sortValues(List& list, bool reverse) {
  const auto order = [&](const IValue& a, const IValue& b) { return reverse ? less<T>(b, a) : less<T>(a, b); };
  if constexpr (std::is_arithmetic_v<T>) {
    requireMemory(list.list.size() * sizeof(IValue));  // what stable_sort takes for a while
    std::stable_sort(list.list.begin(), list.list.end(), order);
  } else {
    sortBy(list, order);
  }
}

/// Refuses what has no order. Recursion is over the nesting of tuples, which is shallow.
void requireSortable(const IValue& value) {
  if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) requireSortable(element);
    return;
  }
  const bool sortable = value.isInt() || value.isDouble() || value.isBool() || value.isString() || value.isTensor() ||
                        value.isDevice() || value.isObject();
  if (!sortable) {
    throw std::runtime_error(
        value.type()->repr_str() +
        " are not sortable. Only numbers, strings, devices, tensors, tuples of these, and objects of classes with "
        "__lt__ are");
  }
}

/// Values are compared without a look at their types.
bool haveOneType(const IValue& a, const IValue& b) {
  if (a.isTuple() && a.is(b)) return true;
  if (!a.isTuple() || !b.isTuple())
    return a.isObject() ? b.isObject() && a.type() == b.type() : a.tagKind() == b.tagKind();
  const auto &x = a.toTupleRef().elements(), &y = b.toTupleRef().elements();
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!haveOneType(x[i], y[i])) return false;
  }
  return true;
}

enum class Order { Less, Equal, Greater };

/// As c10::getLessThanComparator, which makes a comparator for each element of a tuple, compares them.
Order orderOf(const IValue& a, const IValue& b) {
  if (a.isTuple()) {
    if (a.is(b)) return Order::Equal;
    checkTimeLimit();
    const auto &x = a.toTupleRef().elements(), &y = b.toTupleRef().elements();
    for (size_t i = 0; i < x.size(); ++i) {
      if (const Order order = orderOf(x[i], y[i]); order != Order::Equal) return order;
    }
    return Order::Equal;
  }
  const bool is_less = a.isInt()      ? less<int64_t>(a, b)
                       : a.isDouble() ? less<double>(a, b)
                       : a.isString() ? less<std::string>(a, b)
                                      : c10::getLessThanComparator(a)(a, b);
  return is_less ? Order::Less : a == b ? Order::Equal : Order::Greater;
}

/// Tuples and objects of classes with __lt__; whatever a List[Any] holds.
void sortAny(List& list, bool reverse) {
  const std::vector<IValue>& values = list.list;
  if (values.empty()) return;
  for (const IValue& value : values) requireShallow(value, "comparing values");
  requireSortable(values[0]);
  for (const IValue& value : values) {
    checkTimeLimit();
    if (!haveOneType(values[0], value)) {
      constexpr const char* kDoing = "comparing values";
      throw std::runtime_error(
          "Only values of same type can be compared. Found " + typeOf(values[0], kDoing)->repr_str() + " and " +
          typeOf(value, kDoing)->repr_str());
    }
  }
  sortBy(
      list, [&](const IValue& a, const IValue& b) { return (reverse ? orderOf(b, a) : orderOf(a, b)) == Order::Less; });
}

/// Without a look at numbers and the like, whose destruction does nothing.
void clear(std::vector<IValue>& values) {
  const bool plain = std::none_of(values.begin(), values.end(), holdsValues);
  plain ? values.clear() : releaseAll(values);
}

IValue copyOf(const List& list) {
  requireMemory(list.list.size() * sizeof(IValue));
  return newList(list.list, list.elementType);
}

IValue slice(const List& list, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  auto range = sliceRange(list.list.size(), start, end, step);
  std::vector<IValue> result;
  requireMemory(static_cast<size_t>(range.count) * sizeof(IValue));
  result.reserve(static_cast<size_t>(range.count));
  for (int64_t i = 0; i < range.count; ++i)
    result.push_back(list.list[static_cast<size_t>(range.start + i * range.step)]);
  return newList(std::move(result), list.elementType);
}

void extend(List& list, const List& other) {
  const size_t n = other.list.size();  // before the loop: a list may be extended by itself
  const size_t size = list.list.size() + n, capacity = list.list.capacity();
  if (size > capacity) {
    const size_t grown = std::max(size, 2 * capacity);  // a list that grows by a few at a time is not copied each time
    requireMemory(grown * sizeof(IValue));
    list.list.reserve(grown);
  }
  for (size_t i = 0; i < n; ++i) list.list.push_back(other.list[i]);
}

std::vector<IValue> repeated(const List& list, int64_t times) {
  std::vector<IValue> result;
  if (times <= 0 || list.list.empty()) return result;
  size_t count = 0;
  const bool is_huge =
      __builtin_mul_overflow(list.list.size(), static_cast<size_t>(times), &count) || count > result.max_size();
  requireMemory(is_huge ? SIZE_MAX / 2 : count * sizeof(IValue));
  if (is_huge)
    raise(
        "MemoryError", "a list of " + std::to_string(list.list.size()) + " elements can't be repeated " +
                           std::to_string(times) + " times");
  result.reserve(count);
  for (int64_t i = 0; i < times; ++i) result.insert(result.end(), list.list.begin(), list.list.end());
  return result;
}

template <typename T, bool kMax>
IValue extremum(List& list) {
  if (list.list.empty()) fail(std::string(kMax ? "max" : "min") + "() arg is an empty sequence");
  const IValue* best = list.list.data();
  for (const IValue& v : list.list) {
    if (kMax ? less<T>(*best, v) : less<T>(v, *best)) best = &v;
  }
  return *best;
}

/// The lexicographically lesser or greater list; the second if they are equal.
template <typename T, bool kMax>
IValue extremeList(IValue& a, IValue& b) {
  auto& x = listOf(a).list;
  auto& y = listOf(b).list;
  bool first = kMax ? std::lexicographical_compare(y.begin(), y.end(), x.begin(), x.end(), less<T>)
                    : std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), less<T>);
  return first ? std::move(a) : std::move(b);
}

template <typename T, typename R>
R sumOf(List& list) {
  if constexpr (std::is_same_v<R, int64_t>) {
    uint64_t sum = 0;
    for (const IValue& v : list.list) sum += static_cast<uint64_t>(static_cast<int64_t>(Arg<T>::get(v)));
    return static_cast<int64_t>(sum);
  } else {
    R sum(0);
    for (const IValue& v : list.list) sum += Arg<T>::get(v);
    return sum;
  }
}

template <typename T>
bool truth(const IValue& v) {
  if constexpr (std::is_same_v<T, std::string>)
    return !v.toStringRef().empty();
  else
    return Arg<T>::get(v) != T(0);
}

#define SEARCH(T, C, INDEX)                                                                               \
  {"aten::index." INDEX "(" T "[] self, " T " el) -> int", kernel([](List& list, IValue& el) -> int64_t { \
     auto it = findElement<C>(list, el);                                                                  \
     if (it == list.list.end()) fail("'" + streamed<C>(el) + "' is not in list");                         \
     return it - list.list.begin();                                                                       \
   })},                                                                                                   \
      {"aten::count." T "(" T "[] self, " T " el) -> int", kernel([](List& list, IValue& el) {            \
         int64_t n = 0;                                                                                   \
         for (const IValue& v : list.list) n += sameElement<C>(el, v);                                    \
         return n;                                                                                        \
       })},                                                                                               \
      {"aten::remove." T "(" T "[](a!) self, " T " el) -> ()", kernel([](List& list, IValue& el) {        \
         auto it = findElement<C>(list, el);                                                              \
         if (it == list.list.end()) fail("list.remove(x): x not in list");                                \
         list.list.erase(it);                                                                             \
       })},                                                                                               \
      {"aten::sort." T "(" T "[](a!) self, bool reverse=False) -> ()",                                    \
       kernel([](List& list, bool reverse) { sortValues<C>(list, reverse); })},                           \
  {                                                                                                       \
    "aten::sorted." T "(" T "[](a) input) -> " T "[]", kernel([](List& list) {                            \
      IValue result = copyOf(list);                                                                       \
      sortValues<C>(listOf(result), false);                                                               \
      return result;                                                                                      \
    })                                                                                                    \
  }
#define CONTAINS(T, C)                                                                             \
  {                                                                                                \
    "aten::__contains__." T "_list(" T "[] l, " T " item) -> bool",                                \
        kernel([](List& list, IValue& el) { return findElement<C>(list, el) != list.list.end(); }) \
  }
#define EXTREMA(NAME, MAX, T, C)                                                                               \
  {"prim::" NAME "." T "_list(" T "[] l, " T "[] r) -> " T "[]",                                               \
   kernel([](IValue& a, IValue& b) { return extremeList<C, MAX>(a, b); })},                                    \
  {                                                                                                            \
    "prim::" NAME ".self_" T "(" T "[] self) -> " T, kernel([](List& list) { return extremum<C, MAX>(list); }) \
  }
#define ANY(T, C)                                                                                    \
  {                                                                                                  \
    "aten::any." T "(" T "[] self) -> bool",                                                         \
        kernel([](List& list) { return std::any_of(list.list.begin(), list.list.end(), truth<C>); }) \
  }
#define ALL(T, C)                                                                                    \
  {                                                                                                  \
    "aten::all." T "(" T "[] self) -> bool",                                                         \
        kernel([](List& list) { return std::all_of(list.list.begin(), list.list.end(), truth<C>); }) \
  }

constexpr Row kListRows[] = {
    {"aten::__getitem__.t(t[](a) list, int idx) -> t(*)",
     kernel([](List& list, int64_t index) { return IValue(element(list, index)); })},
    {"aten::select.t(t[](a) list, int idx) -> t(*)",
     kernel([](List& list, int64_t index) { return IValue(element(list, index)); })},
    {"aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)",
     kernel([](IValue& list, int64_t index, IValue& el) {
       release(std::exchange(element(listOf(list), index), std::move(el)));
       return std::move(list);
     })},
    {"aten::Delete.t(t[](a!) self, int idx) -> ()", kernel([](List& list, int64_t index) {
       if (list.list.empty()) raise("IndexError", "pop index out of range");
       IValue& found = element(list, index);
       const auto place = list.list.begin() + (&found - list.list.data());
       IValue removed = std::move(found);
       list.list.erase(place);
       release(removed);
     })},
    {"aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", kernel([](IValue& list, IValue& el) {
       listOf(list).list.push_back(std::move(el));
       return std::move(list);
     })},
    {"aten::extend.t(t[](a!) self, t[] other) -> ()", kernel([](List& list, List& other) { extend(list, other); })},
    {"aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()", kernel([](List& list, int64_t index, IValue& el) {
       auto size = static_cast<int64_t>(list.list.size());
       if (list.list.size() == list.list.capacity()) requireMemory(2 * list.list.capacity() * sizeof(IValue));
       list.list.insert(
           list.list.begin() + std::clamp<int64_t>(wrapIndex(index, list.list.size()), 0, size), std::move(el));
     })},
    {"aten::pop.t(t[](a!) self, int idx=-1) -> t(*)", kernel([](List& list, int64_t index) {
       if (list.list.empty()) raise("IndexError", "pop from empty list");
       IValue& found = element(list, index);
       const auto place = list.list.begin() + (&found - list.list.data());
       IValue result = std::move(found);
       list.list.erase(place);
       return result;
     })},
    {"aten::clear.t(t[](a!) self) -> ()", kernel([](List& list) { clear(list.list); })},
    {"aten::reverse.t(t[](a!) self) -> ()",
     kernel([](List& list) { std::reverse(list.list.begin(), list.list.end()); })},
    {"aten::copy.t(t[](a) self) -> t[]", kernel([](List& list) { return copyOf(list); })},
    {"aten::list.t(t[] l) -> t[]", kernel([](List& list) { return copyOf(list); })},
    {"aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]",
     kernel([](List& list, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
       return slice(list, start, end, step);
     })},
    {"aten::len.t(t[] a) -> int", kernel([](List& list) { return static_cast<int64_t>(list.list.size()); })},
    {"aten::len.any(Any[] a) -> int", kernel([](List& list) { return static_cast<int64_t>(list.list.size()); })},
    {"aten::add.t(t[] a, t[] b) -> t[]", kernel([](List& a, List& b) {
       std::vector<IValue> result;
       requireMemory((a.list.size() + b.list.size()) * sizeof(IValue));
       result.reserve(a.list.size() + b.list.size());
       result.insert(result.end(), a.list.begin(), a.list.end());
       result.insert(result.end(), b.list.begin(), b.list.end());
       return newList(std::move(result), a.elementType);
     })},
    {"aten::add_.t(t[](a!) self, t[] b) -> t[]", kernel([](IValue& list, List& other) {
       extend(listOf(list), other);
       return std::move(list);
     })},
    {"aten::mul.left_t(t[] l, int n) -> t[]",
     kernel([](List& list, int64_t n) { return newList(repeated(list, n), list.elementType); })},
    {"aten::mul.right_(int n, t[] l) -> t[]",
     kernel([](int64_t n, List& list) { return newList(repeated(list, n), list.elementType); })},
    {"aten::mul_.t(t[](a!) l, int n) -> t[](a!)", kernel([](IValue& list, int64_t n) {
       List& l = listOf(list);
       std::vector<IValue> old = std::exchange(l.list, repeated(l, n));
       clear(old);
       return std::move(list);
     })},
    SEARCH("int", int64_t, "list_int"),
    SEARCH("float", double, "list_float"),
    SEARCH("bool", bool, "list_bool"),
    SEARCH("Tensor", at::Tensor, "list_Tensor"),
    SEARCH("str", std::string, "list_str"),
    CONTAINS("int", int64_t),
    CONTAINS("float", double),
    CONTAINS("str", std::string),
    {"aten::sort.any(t[](a!) self, bool reverse=False) -> ()",
     kernel([](List& list, bool reverse) { sortAny(list, reverse); })},
    {"aten::sorted.any(t[](a) self) -> t[]", kernel([](List& list) {
       IValue result = copyOf(list);
       sortAny(listOf(result), false);
       return result;
     })},
    EXTREMA("min", false, "int", int64_t),
    EXTREMA("min", false, "float", double),
    EXTREMA("min", false, "bool", bool),
    EXTREMA("max", true, "int", int64_t),
    EXTREMA("max", true, "float", double),
    EXTREMA("max", true, "bool", bool),
    {"aten::sum.int(int[] self) -> int", kernel([](List& list) { return sumOf<int64_t, int64_t>(list); })},
    {"aten::sum.float(float[] self) -> float", kernel([](List& list) { return sumOf<double, double>(list); })},
    {"aten::sum.complex(complex[] self) -> complex", kernel([](List& list) { return sumOf<complex, complex>(list); })},
    {"aten::sum.bool(bool[] self) -> int", kernel([](List& list) { return sumOf<bool, int64_t>(list); })},
    ANY("str", std::string),
    ANY("int", int64_t),
    ANY("float", double),
    ANY("bool", bool),
    ALL("int", int64_t),
    ALL("float", double),
    ALL("bool", bool),
    {"prim::rangelist(int n) -> int[]", kernel([](int64_t n) {
       std::vector<IValue> result;
       requireMemory(static_cast<size_t>(std::clamp<int64_t>(n, 0, INT64_MAX / 32)) * sizeof(IValue));
       result.reserve(static_cast<size_t>(std::max<int64_t>(n, 0)));
       for (int64_t i = 0; i < n; ++i) result.emplace_back(i);
       return newList(std::move(result), c10::IntType::get());
     })},
};
#undef SEARCH
#undef CONTAINS
#undef EXTREMA
#undef ANY
#undef ALL

}  // namespace

std::span<const Row> listRows() {
  return kListRows;
}

}  // namespace cresset
