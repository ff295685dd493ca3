// Scalar arithmetic: + - * / // % ** & | ^ << >>, min, max, abs, divmod and the like over int, float, complex, bool and
// Scalar.
//
// Integers are 64 bits and wrap around (computed unsigned, where C++ defines it). Division and remainder round towards
// negative infinity as Python's do; a division by zero raises, and INT64_MIN // -1 wraps, where the machine instruction
// would trap.
#include <cmath>
#include <limits>
#include <numeric>

#include "cresset/ops/messages.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"

namespace cresset {

namespace {

template <typename T>
constexpr bool kIsInt = std::is_same_v<T, int64_t>;
template <typename A, typename B>
constexpr bool kBothInt = kIsInt<A>&& kIsInt<B>;
template <typename A, typename B>
constexpr bool kAnyComplex = std::is_same_v<A, complex> || std::is_same_v<B, complex>;

template <typename T>
complex complexOf(const T& number) {
  if constexpr (kIsInt<T>)
    return complex(static_cast<double>(number));
  else
    return complex(number);
}

int64_t wrap(uint64_t v) {
  return static_cast<int64_t>(v);
}

int64_t floorDivide(int64_t a, int64_t b) {
  if (b == 0) fail("division by 0");
  if (b == -1) return wrap(-static_cast<uint64_t>(a));
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
int64_t remainder(int64_t a, int64_t b) {
  if (b == 0) fail(messages::divisionByZero());
  if (b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
/// What TorchScript computes for floats; differs from Python's in that the quotient of an infinite divisor is nan.
double remainder(double a, double b) {
  return std::fmod(std::fmod(a, b) + b, b);
}

/// An operand of complex arithmetic. A real one stays real: adding it leaves the sign of a zero imaginary part alone.
complex part(complex v) {
  return v;
}
double part(double v) {
  return v;
}
double part(int64_t v) {
  return static_cast<double>(v);
}

struct Add {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kBothInt<A, B>)
      return wrap(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else if constexpr (kAnyComplex<A, B>)
      return part(a) + part(b);
    else
      return static_cast<double>(a) + static_cast<double>(b);
  }
};
struct Sub {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kBothInt<A, B>)
      return wrap(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    else if constexpr (kAnyComplex<A, B>)
      return part(a) - part(b);
    else
      return static_cast<double>(a) - static_cast<double>(b);
  }
};
struct Mul {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kBothInt<A, B>)
      return wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else if constexpr (kAnyComplex<A, B>)
      return part(a) * part(b);
    else
      return static_cast<double>(a) * static_cast<double>(b);
  }
};
struct Div {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kAnyComplex<A, B>)
      return complexOf(a) / complexOf(b);
    else
      return static_cast<double>(a) / static_cast<double>(b);
  }
};
struct FloorDiv {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kBothInt<A, B>)
      return floorDivide(a, b);
    else
      return std::floor(static_cast<double>(a) / static_cast<double>(b));
  }
};
struct Remainder {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kBothInt<A, B>)
      return remainder(a, b);
    else
      return remainder(static_cast<double>(a), static_cast<double>(b));
  }
};
double powFloat(double base, double exponent) {
  if (base == 0 && exponent < 0) fail("0.0 cannot be raised to a negative power");
  return std::pow(base, exponent);
}

struct Pow {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kAnyComplex<A, B>)
      return c10_complex_math::pow(a, b);  // mixed: a real operand has no zero imaginary part
    else
      return powFloat(static_cast<double>(a), static_cast<double>(b));
  }
};
/// Of Scalars: 0 to a negative power is inf, where the typed overloads raise.
struct PowOfScalars {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kAnyComplex<A, B>)
      return c10_complex_math::pow(complexOf(a), complexOf(b));
    else
      return std::pow(static_cast<double>(a), static_cast<double>(b));
  }
};
struct Min {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kBothInt<A, B>)
      return a < b ? a : b;
    else
      return static_cast<double>(a) < static_cast<double>(b) ? static_cast<double>(a) : static_cast<double>(b);
  }
};
struct Max {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kBothInt<A, B>)
      return a > b ? a : b;
    else
      return static_cast<double>(a) > static_cast<double>(b) ? static_cast<double>(a) : static_cast<double>(b);
  }
};
struct Fmod {
  template <typename A, typename B>
  double operator()(A a, B b) const {
    return std::fmod(static_cast<double>(a), static_cast<double>(b));
  }
};
struct MathRemainder {
  template <typename A, typename B>
  double operator()(A a, B b) const {
    return std::remainder(static_cast<double>(a), static_cast<double>(b));
  }
};
struct CopySign {
  template <typename A, typename B>
  double operator()(A a, B b) const {
    return std::copysign(static_cast<double>(a), static_cast<double>(b));
  }
};
struct Atan2 {
  template <typename A, typename B>
  double operator()(A a, B b) const {
    return std::atan2(static_cast<double>(a), static_cast<double>(b));
  }
};
struct Polar {
  template <typename A, typename B>
  complex operator()(A a, B b) const {
    return c10::polar(static_cast<double>(a), static_cast<double>(b));
  }
};
/// Of a real operand, the real logarithm: nan below zero.
double logOf(double v) {
  return std::log(v);
}
complex logOf(complex v) {
  return c10_complex_math::log(v);
}
struct LogBase {
  template <typename A, typename B>
  auto operator()(A a, B b) const {
    if constexpr (kAnyComplex<A, B>)
      return logOf(part(a)) / logOf(part(b));
    else
      return std::log(static_cast<double>(a)) / std::log(static_cast<double>(b));
  }
};

template <typename F>
auto visitScalar(const IValue& v, F f) {
  if (v.isInt()) return f(v.toInt());
  if (v.isBool()) return f(static_cast<int64_t>(v.toBool()));
  return f(v.toDouble());
}

template <typename F>
auto visitNumber(const IValue& v, F f) {
  return v.isComplexDouble() ? IValue(f(v.toComplexDouble())) : visitScalar(v, [&](auto x) { return IValue(f(x)); });
}

/// Op on Scalars: int if both are, else float. Complex only if Op takes it.
template <typename Op, bool kTakesComplex>
struct OnScalars {
  IValue operator()(const IValue& a, const IValue& b) const {
    if (a.isComplexDouble() || b.isComplexDouble()) {
      if constexpr (kTakesComplex) {
        return visitNumber(a, [&](auto x) { return visitNumber(b, [&](auto y) { return IValue(Op()(x, y)); }); });
      } else {
        fail(messages::noComplexNumbers());
      }
    }
    return visitScalar(a, [&](auto x) { return visitScalar(b, [&](auto y) { return IValue(Op()(x, y)); }); });
  }
};

template <typename Op, bool kTakesComplex>
constexpr Kernel onScalars() {
  return kernel([](IValue& a, IValue& b) { return OnScalars<Op, kTakesComplex>()(a, b); });
}

#define PAIR(NAME, OVERLOAD, A, B, R, OP, CA, CB) \
  { NAME OVERLOAD "(" A " a, " B " b) -> " R, kernelOf<OP, CA, CB>() }
#define INT_FLOAT(NAME, OP, RI)                                               \
  PAIR(NAME, ".int", "int", "int", RI, OP, int64_t, int64_t),                 \
      PAIR(NAME, ".float", "float", "float", "float", OP, double, double),    \
      PAIR(NAME, ".int_float", "int", "float", "float", OP, int64_t, double), \
      PAIR(NAME, ".float_int", "float", "int", "float", OP, double, int64_t)
#define WITH_COMPLEX(NAME, OP)                                                          \
  PAIR(NAME, ".int", "int", "int", "int", OP, int64_t, int64_t),                        \
      PAIR(NAME, ".complex", "complex", "complex", "complex", OP, complex, complex),    \
      PAIR(NAME, ".float", "float", "float", "float", OP, double, double),              \
      PAIR(NAME, ".int_complex", "int", "complex", "complex", OP, int64_t, complex),    \
      PAIR(NAME, ".complex_int", "complex", "int", "complex", OP, complex, int64_t),    \
      PAIR(NAME, ".float_complex", "float", "complex", "complex", OP, double, complex), \
      PAIR(NAME, ".complex_float", "complex", "float", "complex", OP, complex, double), \
      PAIR(NAME, ".int_float", "int", "float", "float", OP, int64_t, double),           \
      PAIR(NAME, ".float_int", "float", "int", "float", OP, double, int64_t), {         \
    NAME "(Scalar a, Scalar b) -> Scalar", onScalars<OP, true>()                        \
  }

int64_t shiftLeft(int64_t a, int64_t b) {
  return wrap(static_cast<uint64_t>(a) << (b & 63));
}

int64_t powInt(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t result = 1, base = static_cast<uint64_t>(a);
  for (; b; b >>= 1, base *= base) {
    if (b & 1) result *= base;
  }
  return wrap(result);
}

template <typename A, typename B>
std::tuple<double, double> divmodFloat(A x, B y) {
  double a = static_cast<double>(x), b = static_cast<double>(y);
  if (b == 0) fail("ZeroDivisionError: float divmod()");
  if constexpr (std::is_same_v<A, B>) {
    double rem = std::fmod(a, b);
    if (rem != 0 && (rem < 0) != (b < 0)) rem += b;
    return {(a - rem) / b, rem};
  } else {
    // TorchScript takes the quotient of an int and a float through an int.
    double quotient = std::floor(a / b);
    if (!(std::abs(quotient) < 9223372036854775808.0)) {
      fail(
          "Cannot convert float " +
          std::string(
              quotient != quotient ? "nan"
              : quotient > 0       ? "inf"
                                   : "-inf") +
          " to integer");
    }
    quotient = static_cast<double>(static_cast<int64_t>(quotient));
    return {quotient, a - quotient * b};
  }
}

constexpr Row kArithmeticRows[] = {
    WITH_COMPLEX("aten::add", Add),
    WITH_COMPLEX("aten::sub", Sub),
    WITH_COMPLEX("aten::mul", Mul),
    PAIR("aten::div", ".int", "int", "int", "float", Div, int64_t, int64_t),
    PAIR("aten::div", ".complex", "complex", "complex", "complex", Div, complex, complex),
    PAIR("aten::div", ".float", "float", "float", "float", Div, double, double),
    {"aten::div(Scalar a, Scalar b) -> float", onScalars<Div, true>()},
    INT_FLOAT("aten::floordiv", FloorDiv, "int"),
    {"aten::floordiv(Scalar a, Scalar b) -> Scalar", onScalars<FloorDiv, false>()},
    INT_FLOAT("aten::remainder", Remainder, "int"),
    {"aten::remainder(Scalar a, Scalar b) -> Scalar", onScalars<Remainder, false>()},
    PAIR("aten::pow", ".int", "int", "int", "float", Pow, int64_t, int64_t),
    PAIR("aten::pow", ".complex", "complex", "complex", "complex", Pow, complex, complex),
    PAIR("aten::pow", ".float", "float", "float", "float", Pow, double, double),
    PAIR("aten::pow", ".int_float", "int", "float", "float", Pow, int64_t, double),
    PAIR("aten::pow", ".float_int", "float", "int", "float", Pow, double, int64_t),
    PAIR("aten::pow", ".float_complex", "float", "complex", "complex", Pow, double, complex),
    PAIR("aten::pow", ".complex_float", "complex", "float", "complex", Pow, complex, double),
    {"aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> float", onScalars<PowOfScalars, true>()},
    {"aten::pow.int_to_int(int a, int b) -> int", kernel([](int64_t a, int64_t b) { return powInt(a, b); })},
    INT_FLOAT("prim::min", Min, "int"),
    {"prim::min(Scalar a, Scalar b) -> Scalar", onScalars<Min, false>()},
    INT_FLOAT("prim::max", Max, "int"),
    {"prim::max(Scalar a, Scalar b) -> Scalar", onScalars<Max, false>()},
    INT_FLOAT("aten::fmod", Fmod, "float"),
    {"aten::fmod(Scalar a, Scalar b) -> float", onScalars<Fmod, false>()},
    INT_FLOAT("aten::mathremainder", MathRemainder, "float"),
    {"aten::mathremainder(Scalar a, Scalar b) -> float", onScalars<MathRemainder, false>()},
    INT_FLOAT("aten::copysign", CopySign, "float"),
    {"aten::copysign(Scalar a, Scalar b) -> float", onScalars<CopySign, false>()},
    INT_FLOAT("aten::atan2", Atan2, "float"),
    {"aten::atan2.Scalar_Scalar(Scalar a, Scalar b) -> float", onScalars<Atan2, false>()},
    PAIR("aten::polar", ".int", "int", "int", "complex", Polar, int64_t, int64_t),
    PAIR("aten::polar", ".float", "float", "float", "complex", Polar, double, double),
    PAIR("aten::polar", ".int_float", "int", "float", "complex", Polar, int64_t, double),
    PAIR("aten::polar", ".float_int", "float", "int", "complex", Polar, double, int64_t),
    {"aten::polar.Scalar_Scalar(Scalar a, Scalar b) -> Scalar", onScalars<Polar, false>()},
    PAIR("aten::log", ".int_int", "int", "int", "float", LogBase, int64_t, int64_t),
    PAIR("aten::log", ".float_float", "float", "float", "float", LogBase, double, double),
    PAIR("aten::log", ".complex_complex", "complex", "complex", "complex", LogBase, complex, complex),
    PAIR("aten::log", ".int_float", "int", "float", "float", LogBase, int64_t, double),
    PAIR("aten::log", ".float_int", "float", "int", "float", LogBase, double, int64_t),
    PAIR("aten::log", ".int_complex", "int", "complex", "complex", LogBase, int64_t, complex),
    PAIR("aten::log", ".complex_int", "complex", "int", "complex", LogBase, complex, int64_t),
    PAIR("aten::log", ".float_complex", "float", "complex", "complex", LogBase, double, complex),
    PAIR("aten::log", ".complex_float", "complex", "float", "complex", LogBase, complex, double),
    {"aten::log.Scalar_Scalar(Scalar a, Scalar b) -> float", onScalars<LogBase, true>()},

    {"aten::__and__.int(int a, int b) -> int", kernel([](int64_t a, int64_t b) { return a & b; })},
    {"aten::__or__.int(int a, int b) -> int", kernel([](int64_t a, int64_t b) { return a | b; })},
    {"aten::__xor__.int(int a, int b) -> int", kernel([](int64_t a, int64_t b) { return a ^ b; })},
    {"aten::__and__.bool(bool a, bool b) -> bool", kernel([](bool a, bool b) { return a && b; })},
    {"aten::__or__.bool(bool a, bool b) -> bool", kernel([](bool a, bool b) { return a || b; })},
    {"aten::__xor__.bool(bool a, bool b) -> bool", kernel([](bool a, bool b) { return a != b; })},
    {"aten::__not__(bool self) -> bool", kernel([](bool a) { return !a; })},
    {"aten::__lshift__.int(int a, int b) -> int", kernel([](int64_t a, int64_t b) { return shiftLeft(a, b); })},
    {"aten::__rshift__.int(int a, int b) -> int", kernel([](int64_t a, int64_t b) { return a >> (b & 63); })},
    {"aten::__round_to_zero_floordiv.int(int a, int b) -> int", kernel([](int64_t a, int64_t b) -> int64_t {
       if (b == 0) fail("division by 0");
       return b == -1 ? wrap(-static_cast<uint64_t>(a)) : a / b;
     })},
    {"aten::neg.int(int a) -> int", kernel([](int64_t a) { return wrap(-static_cast<uint64_t>(a)); })},
    {"aten::neg.float(float a) -> float", kernel([](double a) { return -a; })},
    {"aten::neg.complex(complex a) -> complex", kernel([](complex a) { return -a; })},
    {"aten::neg.Scalar(Scalar a) -> Scalar", kernel([](IValue& a) -> IValue {
       if (a.isComplexDouble()) return -a.toComplexDouble();
       if (a.isDouble()) return static_cast<double>(static_cast<float>(-a.toDouble()));  // as mathRows() round
       return wrap(-static_cast<uint64_t>(visitScalar(a, [](auto x) { return static_cast<int64_t>(x); })));
     })},
    {"prim::abs.int(int a) -> int", kernel([](int64_t a) { return a < 0 ? wrap(-static_cast<uint64_t>(a)) : a; })},
    {"prim::abs.float(float a) -> float", kernel([](double a) { return std::abs(a); })},
    {"prim::abs.complex(complex a) -> float", kernel([](complex a) { return std::abs(a); })},
    {"prim::abs.Scalar(Scalar a) -> Scalar", kernel([](IValue& a) -> IValue {
       if (a.isComplexDouble()) return std::abs(a.toComplexDouble());
       if (a.isDouble()) return static_cast<double>(static_cast<float>(std::abs(a.toDouble())));
       int64_t v = visitScalar(a, [](auto x) { return static_cast<int64_t>(x); });
       return v < 0 ? wrap(-static_cast<uint64_t>(v)) : v;
     })},
    {"aten::divmod.int(int x, int y) -> (int, int)", kernel([](int64_t x, int64_t y) {
       if (y == 0) fail(messages::divisionByZero());
       return std::tuple(floorDivide(x, y), remainder(x, y));
     })},
    {"aten::divmod.float(float x, float y) -> (float, float)",
     kernel([](double x, double y) { return divmodFloat(x, y); })},
    {"aten::divmod.int_float(int x, float y) -> (float, float)",
     kernel([](int64_t x, double y) { return divmodFloat(x, y); })},
    {"aten::divmod.float_int(float x, int y) -> (float, float)",
     kernel([](double x, int64_t y) { return divmodFloat(x, y); })},
    {"aten::gcd.int(int a, int b) -> int", kernel([](int64_t a, int64_t b) {
       uint64_t x = a < 0 ? -static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
       uint64_t y = b < 0 ? -static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
       return wrap(std::gcd(x, y));
     })},
    {"aten::factorial.int(int a) -> int", kernel([](int64_t a) {
       if (a < 0) fail("factorial() not defined for negative values");
       uint64_t result = 1;
       // 66! and all beyond are multiples of 2**64.
       for (int64_t i = 2; i <= a && i <= 66; ++i) result *= static_cast<uint64_t>(i);
       return wrap(result);
     })},
    {"aten::__range_length(int lo, int hi, int step) -> int", kernel([](int64_t lo, int64_t hi, int64_t step) {
       if (step == 0) fail("range() arg 3 must not be zero");
       // Unsigned, since `hi - lo` may not fit.
       uint64_t l = static_cast<uint64_t>(lo), h = static_cast<uint64_t>(hi), s = static_cast<uint64_t>(step);
       if (step > 0 && lo < hi) return wrap(1 + (h - 1 - l) / s);
       if (step < 0 && lo > hi) return wrap(1 + (l - 1 - h) / (0 - s));
       return int64_t(0);
     })},
    {"aten::__derive_index(int index, int start, int step) -> int", kernel([](int64_t i, int64_t start, int64_t step) {
       return wrap(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(step));
     })},
};
#undef PAIR
#undef INT_FLOAT
#undef WITH_COMPLEX

}  // namespace

std::span<const Row> arithmeticRows() {
  return kArithmeticRows;
}

}  // namespace cresset
