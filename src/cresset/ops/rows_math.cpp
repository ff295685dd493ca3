// The math module: elementary functions of int, float, complex and Scalar.
//
// Domain errors return nan or inf, as TorchScript's do, and never raise.
#include <algorithm>
#include <cmath>

#include "cresset/ops/messages.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"

namespace cresset {

namespace {

constexpr double kPi = 3.14159265358979323846;

int64_t toInteger(double v) {
  if (!(v >= -9223372036854775808.0 && v < 9223372036854775808.0)) {
    fail("Cannot convert float " + std::to_string(v) + " to integer");
  }
  return static_cast<int64_t>(v);
}

#define FUNCTION(NAME, EXPRESSION)                           \
  struct NAME {                                              \
    double operator()(double v) const { return EXPRESSION; } \
  }
#define COMPLEX_FUNCTION(NAME, EXPRESSION)                                          \
  struct NAME {                                                                     \
    double operator()(double v) const { return std::EXPRESSION(v); }                \
    complex operator()(complex v) const { return c10_complex_math::EXPRESSION(v); } \
  }

COMPLEX_FUNCTION(Sin, sin);
COMPLEX_FUNCTION(Cos, cos);
COMPLEX_FUNCTION(Tan, tan);
COMPLEX_FUNCTION(Asin, asin);
COMPLEX_FUNCTION(Acos, acos);
COMPLEX_FUNCTION(Atan, atan);
COMPLEX_FUNCTION(Sinh, sinh);
COMPLEX_FUNCTION(Cosh, cosh);
COMPLEX_FUNCTION(Tanh, tanh);
COMPLEX_FUNCTION(Asinh, asinh);
COMPLEX_FUNCTION(Acosh, acosh);
COMPLEX_FUNCTION(Atanh, atanh);
COMPLEX_FUNCTION(Exp, exp);
COMPLEX_FUNCTION(Log, log);
COMPLEX_FUNCTION(Log10, log10);
COMPLEX_FUNCTION(Sqrt, sqrt);
FUNCTION(Expm1, std::expm1(v));
FUNCTION(Log1p, std::log1p(v));
FUNCTION(Erf, std::erf(v));
FUNCTION(Erfc, std::erfc(v));
FUNCTION(Gamma, std::tgamma(v));
FUNCTION(Lgamma, std::lgamma(v));
FUNCTION(Fabs, std::fabs(v));
FUNCTION(Degrees, v*(180.0 / kPi));
FUNCTION(Radians, v*(kPi / 180.0));
FUNCTION(Round, std::nearbyint(v));

double asDouble(const IValue& v) {
  return v.isDouble() ? v.toDouble() : v.isBool() ? v.toBool() : static_cast<double>(v.toInt());
}

/// TorchScript rounds the results of functions of a Scalar (a number of unknown type, such as `x.item()`) to float.
template <typename F>
IValue onScalar(const IValue& v) {
  if (v.isComplexDouble()) {
    if constexpr (std::is_invocable_v<F, complex>) {
      if constexpr (std::is_same_v<std::invoke_result_t<F, complex>, complex>) return IValue(F()(v.toComplexDouble()));
    }
    fail(messages::noComplexNumbers());
  }
  return IValue(static_cast<double>(static_cast<float>(F()(asDouble(v)))));
}

#define REAL(NAME, F)                                                                                    \
  {"aten::" NAME ".int(int a) -> float", kernel([](int64_t a) { return F()(static_cast<double>(a)); })}, \
      {"aten::" NAME ".float(float a) -> float", kernelOf<F, double>()}, {                               \
    "aten::" NAME ".Scalar(Scalar a) -> Scalar", kernel([](IValue& a) { return onScalar<F>(a); })        \
  }
#define WITH_COMPLEX(NAME, F)                                                                            \
  {"aten::" NAME ".int(int a) -> float", kernel([](int64_t a) { return F()(static_cast<double>(a)); })}, \
      {"aten::" NAME ".float(float a) -> float", kernelOf<F, double>()},                                 \
      {"aten::" NAME ".complex(complex a) -> complex", kernelOf<F, complex>()}, {                        \
    "aten::" NAME ".Scalar(Scalar a) -> Scalar", kernel([](IValue& a) { return onScalar<F>(a); })        \
  }
#define ROUNDING(NAME, F)                                                                                  \
  {"aten::" NAME ".int(int a) -> int", kernel([](int64_t a) { return a; })},                               \
      {"aten::" NAME ".float(float a) -> int", kernel([](double a) { return toInteger(F(a)); })}, {        \
    "aten::" NAME ".Scalar(Scalar a) -> Scalar",                                                           \
        kernel([](IValue& a) { return a.isDouble() ? IValue(toInteger(F(a.toDouble()))) : std::move(a); }) \
  }

constexpr Row kMathRows[] = {
    WITH_COMPLEX("sin", Sin),
    WITH_COMPLEX("cos", Cos),
    WITH_COMPLEX("tan", Tan),
    WITH_COMPLEX("asin", Asin),
    WITH_COMPLEX("acos", Acos),
    WITH_COMPLEX("atan", Atan),
    WITH_COMPLEX("sinh", Sinh),
    WITH_COMPLEX("cosh", Cosh),
    WITH_COMPLEX("tanh", Tanh),
    WITH_COMPLEX("asinh", Asinh),
    WITH_COMPLEX("acosh", Acosh),
    WITH_COMPLEX("atanh", Atanh),
    WITH_COMPLEX("exp", Exp),
    WITH_COMPLEX("log", Log),
    WITH_COMPLEX("log10", Log10),
    WITH_COMPLEX("sqrt", Sqrt),
    REAL("expm1", Expm1),
    REAL("log1p", Log1p),
    REAL("erf", Erf),
    REAL("erfc", Erfc),
    REAL("gamma", Gamma),
    REAL("lgamma", Lgamma),
    REAL("fabs", Fabs),
    REAL("degrees", Degrees),
    REAL("radians", Radians),
    REAL("round", Round),
    ROUNDING("ceil", std::ceil),
    ROUNDING("floor", std::floor),
    {"aten::angle.int(int a) -> float", kernel([](int64_t a) { return a < 0 ? kPi : 0.0; })},
    {"aten::angle.float(float a) -> float", kernel([](double a) { return std::signbit(a) ? kPi : 0.0; })},
    {"aten::angle.complex(complex a) -> float", kernel([](complex a) { return std::arg(a); })},
    {"aten::angle.Scalar(Scalar a) -> Scalar", kernel([](IValue& a) -> IValue {
       if (a.isComplexDouble()) return std::arg(a.toComplexDouble());
       double v = asDouble(a);
       return static_cast<double>(static_cast<float>(std::signbit(v) ? kPi : 0.0));
     })},
    {"aten::isnan.float(float a) -> bool", kernel([](double a) { return std::isnan(a); })},
    {"aten::isnan.complex(complex a) -> bool",
     kernel([](complex a) { return std::isnan(a.real()) || std::isnan(a.imag()); })},
    {"aten::isinf.float(float a) -> bool", kernel([](double a) { return std::isinf(a); })},
    {"aten::isinf.complex(complex a) -> bool",
     kernel([](complex a) { return std::isinf(a.real()) || std::isinf(a.imag()); })},
    {"aten::isfinite.float(float a) -> bool", kernel([](double a) { return std::isfinite(a); })},
    {"aten::isfinite.complex(complex a) -> bool",
     kernel([](complex a) { return std::isfinite(a.real()) && std::isfinite(a.imag()); })},
    {"aten::modf(float a) -> (float, float)", kernel([](double a) {
       double whole = 0;
       double fraction = std::modf(a, &whole);
       return std::tuple(fraction, whole);
     })},
    {"aten::frexp(float a) -> (float, int)", kernel([](double a) {
       int exponent = 0;
       double mantissa = std::frexp(a, &exponent);
       return std::tuple(mantissa, static_cast<int64_t>(exponent));
     })},
    {"aten::ldexp(float x, int i) -> float",
     kernel([](double x, int64_t i) { return std::ldexp(x, static_cast<int>(std::clamp<int64_t>(i, -5000, 5000))); })},
};
#undef FUNCTION
#undef COMPLEX_FUNCTION
#undef REAL
#undef WITH_COMPLEX
#undef ROUNDING

}  // namespace

std::span<const Row> mathRows() {
  return kMathRows;
}

}  // namespace cresset
