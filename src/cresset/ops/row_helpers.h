// How rows are written: a kernel is a plain lambda over typed arguments, and `kernel(lambda)` makes the function that
// reads them from the stack, calls it and writes the result over the first of them. All of it is inlined into one
// function per row, so a scalar row costs what its arithmetic costs plus two tag checks.
//
// Argument types: int64_t, double, bool, complex, at::Scalar, Tensor (const at::Tensor&), str (const std::string&),
// List& and Dict& (the list or dict itself, not a copy), c10::Device, std::optional of them, c10::IValue& (may be moved
// from). A std::tuple result is several results. c10::IValue results are pushed as they are.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DispatchKeySet.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/ops/operator.h"
#include "cresset/support/error.h"

namespace cresset {

using c10::IValue;
using List = c10::detail::ListImpl;
using Dict = c10::detail::DictImpl;
using complex = c10::complex<double>;

/// The list or dict that a value refers to. Throws if it is none.
inline List& listOf(const IValue& value) {
  CRESSET_CHECK(value.isList(), "a value whose type is no list's");
  return *static_cast<List*>(static_cast<c10::intrusive_ptr_target*>(const_cast<void*>(value.internalToPointer())));
}
inline Dict& dictOf(const IValue& value) {
  CRESSET_CHECK(value.isGenericDict(), "a value whose type is no dict's");
  return *static_cast<Dict*>(static_cast<c10::intrusive_ptr_target*>(const_cast<void*>(value.internalToPointer())));
}

/// A new list value that takes the elements.
inline IValue newList(std::vector<IValue> elements, c10::TypePtr element_type) {
  c10::impl::GenericList list(std::move(element_type));
  IValue value(list);
  listOf(value).list = std::move(elements);
  return value;
}
IValue newStringList(std::vector<std::string> elements);
IValue newIntList(at::IntArrayRef elements);

/// The dtype of a number, which a script may have computed. Throws if it is none: ATen indexes tables with it.
at::ScalarType scalarTypeOf(int64_t number);
bool isScalarType(int64_t number);

inline void drop(Stack& stack, size_t n) {
  stack.resize(stack.size() - n);
}

template <typename T>
struct Arg;
template <>
struct Arg<int64_t> {
  static int64_t get(const IValue& v) { return v.toInt(); }
};
template <>
struct Arg<double> {
  static double get(const IValue& v) { return v.toDouble(); }
};
template <>
struct Arg<bool> {
  static bool get(const IValue& v) { return v.toBool(); }
};
template <>
struct Arg<complex> {
  static complex get(const IValue& v) { return v.toComplexDouble(); }
};
template <>
struct Arg<at::Scalar> {
  static at::Scalar get(const IValue& v) { return v.toScalar(); }
};
template <>
struct Arg<at::Tensor> {
  static const at::Tensor& get(const IValue& v) { return v.toTensor(); }
};
template <>
struct Arg<std::string> {
  static const std::string& get(const IValue& v) { return v.toStringRef(); }
};
template <>
struct Arg<List> {
  static List& get(const IValue& v) { return listOf(v); }
};
template <>
struct Arg<Dict> {
  static Dict& get(const IValue& v) { return dictOf(v); }
};
template <>
struct Arg<c10::Device> {
  static c10::Device get(const IValue& v) { return v.toDevice(); }
};
template <>
struct Arg<IValue> {
  static IValue& get(IValue& v) { return v; }
};
template <typename T>
struct Arg<std::optional<T>> {
  static std::optional<T> get(const IValue& v) {
    if (v.isNone()) return std::nullopt;
    return Arg<T>::get(v);
  }
};
template <>
struct Arg<std::vector<int64_t>> {
  static std::vector<int64_t> get(const IValue& v) { return v.toIntVector(); }
};
template <>
struct Arg<std::vector<at::Tensor>> {
  static std::vector<at::Tensor> get(const IValue& v) { return v.toTensorVector(); }
};

template <typename T>
constexpr bool kIsTuple = false;
template <typename... T>
constexpr bool kIsTuple<std::tuple<T...>> = true;

template <typename F, typename Signature>
struct Caller;
template <typename F, typename R, typename... A>
struct Caller<F, R (F::*)(A...) const> {
  static void run(Stack& stack, size_t) { call(stack, std::index_sequence_for<A...>()); }

  template <size_t... I>
  static void call(Stack& stack, std::index_sequence<I...>) {
    constexpr size_t n = sizeof...(A);
    [[maybe_unused]] IValue* in = stack.data() + (stack.size() - n);
    if constexpr (std::is_void_v<R>) {
      F{}(Arg<std::remove_cvref_t<A>>::get(in[I])...);
      drop(stack, n);
    } else if constexpr (kIsTuple<R>) {
      R results = F{}(Arg<std::remove_cvref_t<A>>::get(in[I])...);
      drop(stack, n);
      std::apply([&](auto&... result) { (stack.emplace_back(std::move(result)), ...); }, results);
    } else if constexpr (n == 0) {
      stack.emplace_back(F{}());
    } else {
      IValue result(F{}(Arg<std::remove_cvref_t<A>>::get(in[I])...));
      in[0] = std::move(result);
      if constexpr (n > 1) drop(stack, n - 1);
    }
  }
};

/// The kernel of a lambda without captures.
template <typename F>
constexpr Kernel kernel(F) {
  return &Caller<F, decltype(&F::operator())>::run;
}

/// The kernel of a function object type that is generic, for given argument types.
template <typename Op, typename... A>
constexpr Kernel kernelOf() {
  return kernel([](A... args) { return Op{}(args...); });
}

constexpr Trait kEffect = Trait::SideEffect;
constexpr Trait kRandom = Trait::SideEffect | Trait::Nondeterministic;

/// For the errors that TorchScript raises as RuntimeError, which are most; its message then often names the class that
/// Python would raise ("KeyError: x").
[[noreturn]] inline void fail(const std::string& message) {
  throw std::runtime_error(message);
}

[[noreturn]] inline void raise(const char* python_class, std::string message) {
  throw ScriptRaise(std::string("builtins.") + python_class, std::move(message));
}

/// `index` counted from the end if negative; may still be out of range.
inline int64_t wrapIndex(int64_t index, size_t size) {
  return index < 0 ? index + static_cast<int64_t>(size) : index;
}

/// Python's slice bounds: first index, number of elements. Throws on a step of 0, and on a negative one, which
/// TorchScript doesn't have.
struct SliceRange {
  int64_t start, step, count;
};
SliceRange sliceRange(size_t size, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);

}  // namespace cresset
