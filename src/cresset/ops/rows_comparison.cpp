// Comparisons of scalars, strings, devices, enums and lists, and identity.
#include <ATen/core/Tensor.h>
#include <ATen/core/enum_type.h>
#include <ATen/ops/eq_ops.h>

#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/ops/text_search.h"

namespace cresset {

namespace {

/// Of two numbers the int, if they differ in type.
template <typename Other, typename T>
decltype(auto) converted(const T& value) {
  if constexpr (std::is_same_v<T, int64_t> && std::is_same_v<Other, double>)
    return static_cast<double>(value);
  else
    return (value);
}

// A comparison mixes int and float by converting the int, as C++ does and TorchScript documents.
#define COMPARISON(NAME, OP)                        \
  struct NAME {                                     \
    template <typename A, typename B>               \
    bool operator()(const A& a, const B& b) const { \
      return converted<B>(a) OP converted<A>(b);    \
    }                                               \
  }
COMPARISON(Eq, ==);
COMPARISON(Ne, !=);
COMPARISON(Lt, <);
COMPARISON(Gt, >);
COMPARISON(Le, <=);
COMPARISON(Ge, >=);

/// Scalars: of complex ones only equality is defined.
template <typename Op>
bool compareScalars(const IValue& a, const IValue& b) {
  auto number = [](const IValue& v) {
    return v.isInt() ? static_cast<double>(v.toInt()) : v.isBool() ? v.toBool() : v.toDouble();
  };
  if (a.isComplexDouble() || b.isComplexDouble()) {
    if constexpr (std::is_same_v<Op, Eq> || std::is_same_v<Op, Ne>) {
      auto as_complex = [&](const IValue& v) { return v.isComplexDouble() ? v.toComplexDouble() : complex(number(v)); };
      return Op()(as_complex(a), as_complex(b));
    } else {
      fail("TypeError: complex numbers have no order");
    }
  }
  if (!a.isDouble() && !b.isDouble()) {
    auto as_int = [](const IValue& v) { return v.isInt() ? v.toInt() : static_cast<int64_t>(v.toBool()); };
    return Op()(as_int(a), as_int(b));
  }
  return Op()(number(a), number(b));
}

template <typename T>
bool listsEqual(const List& a, const List& b) {
  // A list equals itself, whatever is in it: nan too.
  if (!std::is_same_v<T, at::Tensor> && &a == &b) return true;
  if (a.list.size() != b.list.size()) return false;
  for (size_t i = 0; i < a.list.size(); ++i) {
    if constexpr (std::is_same_v<T, at::Tensor>) {
      // Python asks eq() of two elements, and the result for its truth.
      if (!equalTensors(a.list[i].toTensor(), b.list[i].toTensor())) return false;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!equalTexts(a.list[i].toStringRef(), b.list[i].toStringRef())) return false;
    } else {
      if (!(Arg<T>::get(a.list[i]) == Arg<T>::get(b.list[i]))) return false;
    }
  }
  return true;
}

template <typename T>
constexpr Kernel listEq() {
  return kernel([](List& a, List& b) { return listsEqual<T>(a, b); });
}
template <typename T>
constexpr Kernel listNe() {
  return kernel([](List& a, List& b) { return !listsEqual<T>(a, b); });
}

/// Members of one enum class have distinct names, so that their values need no comparison.
bool sameEnum(const IValue& a, const IValue& b) {
  auto x = a.toEnumHolder(), y = b.toEnumHolder();
  return x->name() == y->name() && *x->type() == *y->type();
}

#define PAIR(NAME, OVERLOAD, A, B, OP, CA, CB) \
  { NAME OVERLOAD "(" A " a, " B " b) -> bool", kernelOf<OP, CA, CB>() }
#define NUMBERS(NAME, OP)                                                                                             \
  PAIR(NAME, ".int", "int", "int", OP, int64_t, int64_t), PAIR(NAME, ".float", "float", "float", OP, double, double), \
      PAIR(NAME, ".int_float", "int", "float", OP, int64_t, double),                                                  \
      PAIR(NAME, ".float_int", "float", "int", OP, double, int64_t)
#define SCALARS(NAME, OP)                                                                                      \
  {                                                                                                            \
    NAME "(Scalar a, Scalar b) -> bool", kernel([](IValue& a, IValue& b) { return compareScalars<OP>(a, b); }) \
  }
#define STRINGS(NAME, OP)                                                                                            \
  {                                                                                                                  \
    NAME ".str(str a, str b) -> bool", kernel([](const std::string& a, const std::string& b) { return OP()(a, b); }) \
  }
#define ORDER(NAME, OP) NUMBERS(NAME, OP), SCALARS(NAME, OP), STRINGS(NAME, OP)
#define EQUALITY(NAME, OP, LIST)                                                                                     \
  {NAME ".int_list(int[] a, int[] b) -> bool", LIST<int64_t>()},                                                     \
      {NAME ".device(Device a, Device b) -> bool", kernel([](c10::Device a, c10::Device b) { return OP()(a, b); })}, \
      PAIR(NAME, ".bool", "bool", "bool", OP, bool, bool),                                                           \
      {NAME ".enum(AnyEnumType a, AnyEnumType b) -> bool",                                                           \
       kernel([](IValue& a, IValue& b) { return OP()(sameEnum(a, b), true); })},                                     \
      PAIR(NAME, ".int", "int", "int", OP, int64_t, int64_t),                                                        \
      PAIR(NAME, ".complex", "complex", "complex", OP, complex, complex),                                            \
      PAIR(NAME, ".float", "float", "float", OP, double, double),                                                    \
      PAIR(NAME, ".int_float", "int", "float", OP, int64_t, double),                                                 \
      PAIR(NAME, ".float_int", "float", "int", OP, double, int64_t),                                                 \
      PAIR(NAME, ".float_complex", "float", "complex", OP, double, complex),                                         \
      PAIR(NAME, ".complex_float", "complex", "float", OP, complex, double), SCALARS(NAME, OP), STRINGS(NAME, OP),   \
      {NAME ".float_list(float[] a, float[] b) -> bool", LIST<double>()},                                            \
      {NAME ".Tensor_list(Tensor[] a, Tensor[] b) -> bool", LIST<at::Tensor>()},                                     \
      {NAME ".bool_list(bool[] a, bool[] b) -> bool", LIST<bool>()}, {                                               \
    NAME ".str_list(str[] a, str[] b) -> bool", LIST<std::string>()                                                  \
  }

constexpr Row kComparisonRows[] = {
    EQUALITY("aten::eq", Eq, listEq),
    EQUALITY("aten::ne", Ne, listNe),
    ORDER("aten::lt", Lt),
    ORDER("aten::gt", Gt),
    ORDER("aten::le", Le),
    ORDER("aten::ge", Ge),
    {"aten::__is__(t1 self, t2 obj) -> bool", kernel([](IValue& a, IValue& b) { return a.is(b); })},
    {"aten::__isnot__(t1 self, t2 obj) -> bool", kernel([](IValue& a, IValue& b) { return !a.is(b); })},
};
#undef COMPARISON
#undef PAIR
#undef NUMBERS
#undef SCALARS
#undef STRINGS
#undef ORDER
#undef EQUALITY

}  // namespace

std::span<const Row> comparisonRows() {
  return kComparisonRows;
}

}  // namespace cresset
