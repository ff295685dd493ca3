// Conversions between scalars, strings and one-element tensors.
//
// The Implicit ones stand where schema matching put them: they take a tensor only if it could be meant as a number, and
// say so otherwise.
#include <charconv>
#include <cmath>
#include <limits>

#include "cresset/ops/format.h"
#include "cresset/ops/messages.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/support/string_literal.h"

namespace cresset {

namespace {

/// As x86 converts: out of range and nan become INT64_MIN, where C++ leaves the result undefined.
int64_t truncate(double v) {
  if (!(v >= -9223372036854775808.0 && v < 9223372036854775808.0)) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

double itemAsDouble(const at::Tensor& t) {
  return t.item().toDouble();
}
int64_t itemAsInt(const at::Tensor& t) {
  return t.item().toLong();
}

void checkImplicit(const at::Tensor& t, bool to_int) {
  if (t.requires_grad()) throw std::runtime_error("Cannot input a tensor that requires grad as a scalar argument");
  if (!t.sizes().empty())
    throw std::runtime_error("Cannot input a tensor of dimension other than 0 as a scalar argument");
  if (to_int && !c10::isIntegralType(t.scalar_type(), /*includeBool=*/false)) {
    throw std::runtime_error(
        std::string("Cannot input a tensor of type ") + c10::toString(t.scalar_type()) + " as an integral argument");
  }
}

int64_t parseInt(const std::string& text) {
  auto refuse = [&]() { fail("invalid literal for int() with base 10: '" + text + "'"); };
  size_t begin = 0;
  while (begin < text.size() && std::isspace(static_cast<unsigned char>(text[begin]))) ++begin;
  if (begin < text.size() && text[begin] == '+' && begin + 1 < text.size() && text[begin + 1] != '-') ++begin;
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse();
  return value;
}

double parseFloat(const std::string& text) {
  auto refuse = [&]() { fail("could not convert string to float: '" + text + "'"); };
  if (text.empty() || text.find('\0') != std::string::npos) refuse();
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || end != text.c_str() + text.size()) refuse();
  return value;
}

template <typename T>
double real(const T& v) {
  if constexpr (std::is_same_v<T, at::Tensor>)
    return itemAsDouble(v);
  else
    return static_cast<double>(v);
}

#define COMPLEX(OVERLOAD, A, B, CA, CB)                                            \
  {                                                                                \
    "aten::Complex." OVERLOAD "(" A " x, " B " y) -> complex",                     \
        kernel([](const CA& x, const CB& y) { return complex(real(x), real(y)); }) \
  }

constexpr Row kConversionRows[] = {
    {"aten::Bool.Tensor(Tensor a) -> bool", kernel([](const at::Tensor& a) { return a.is_nonzero(); })},
    {"aten::Bool.int(int a) -> bool", kernel([](int64_t a) { return a != 0; })},
    {"aten::Bool.float(float a) -> bool", kernel([](double a) { return a != 0; })},
    {"aten::Int.Tensor(Tensor a) -> int", kernel([](const at::Tensor& a) { return itemAsInt(a); })},
    {"aten::Int.bool(bool a) -> int", kernel([](bool a) { return static_cast<int64_t>(a); })},
    {"aten::Int.float(float a) -> int", kernel([](double a) { return truncate(a); })},
    {"aten::Int.Scalar(Scalar a) -> int", kernel([](IValue& a) -> int64_t {
       if (a.isInt()) return a.toInt();
       try {
         return a.toScalar().toLong();
       } catch (const std::runtime_error&) {
         fail(messages::intOverflow());
       }
     })},
    {"aten::Int.str(str a) -> int", kernel([](const std::string& a) { return parseInt(a); })},
    {"aten::Float.Tensor(Tensor a) -> float", kernel([](const at::Tensor& a) { return itemAsDouble(a); })},
    {"aten::Float.Scalar(Scalar a) -> float", kernel([](IValue& a) {
       if (a.isComplexDouble()) return a.toComplexDouble().real();
       return a.isDouble() ? a.toDouble() : a.toScalar().toDouble();
     })},
    {"aten::Float.int(int a) -> float", kernel([](int64_t a) { return static_cast<double>(a); })},
    {"aten::Float.bool(bool a) -> float", kernel([](bool a) { return static_cast<double>(a); })},
    {"aten::Float.str(str a) -> float", kernel([](const std::string& a) { return parseFloat(a); })},
    {"aten::Complex.Scalar(Scalar a) -> complex",
     kernel([](IValue& a) { return a.isComplexDouble() ? a.toComplexDouble() : complex(a.toScalar().toDouble()); })},
    {"aten::Complex.Tensor_Tensor(Tensor a, Tensor b) -> complex",
     kernel([](const at::Tensor& a, const at::Tensor& b) { return complex(itemAsDouble(a), itemAsDouble(b)); })},
    COMPLEX("int_bool", "int", "bool", int64_t, bool),
    COMPLEX("bool_int", "bool", "int", bool, int64_t),
    COMPLEX("float_bool", "float", "bool", double, bool),
    COMPLEX("bool_float", "bool", "float", bool, double),
    COMPLEX("float_int", "float", "int", double, int64_t),
    COMPLEX("int_float", "int", "float", int64_t, double),
    COMPLEX("int_int", "int", "int", int64_t, int64_t),
    COMPLEX("bool_bool", "bool", "bool", bool, bool),
    COMPLEX("float_float", "float", "float", double, double),
    COMPLEX("Tensor_float", "Tensor", "float", at::Tensor, double),
    COMPLEX("float_Tensor", "float", "Tensor", double, at::Tensor),
    COMPLEX("Tensor_int", "Tensor", "int", at::Tensor, int64_t),
    COMPLEX("int_Tensor", "int", "Tensor", int64_t, at::Tensor),
    COMPLEX("Tensor_bool", "Tensor", "bool", at::Tensor, bool),
    COMPLEX("bool_Tensor", "bool", "Tensor", bool, at::Tensor),
    {"aten::IntImplicit(Tensor a) -> int", kernel([](const at::Tensor& a) {
       checkImplicit(a, true);
       return a.item().toLong();
     })},
    {"aten::FloatImplicit(Tensor a) -> float", kernel([](const at::Tensor& a) {
       checkImplicit(a, false);
       return a.item().toDouble();
     })},
    {"aten::ComplexImplicit(Tensor a) -> complex", kernel([](const at::Tensor& a) {
       checkImplicit(a, false);
       return a.item().toComplexDouble();
     })},
    {"aten::ScalarImplicit(Tensor a) -> Scalar", kernel([](const at::Tensor& a) {
       checkImplicit(a, false);
       return a.item();
     })},
    {"aten::str(t elem) -> str", kernel([](IValue& v) { return v.isString() ? std::move(v) : IValue(toPrinted(v)); })},
    {"aten::hex(int i) -> str", kernel([](int64_t i) { return inBase(i, 16, "0x"); })},
    {"aten::oct(int i) -> str", kernel([](int64_t i) { return inBase(i, 8, "0o"); })},
    {"aten::bin(int i) -> str", kernel([](int64_t i) { return inBase(i, 2, "0b"); })},
    {"aten::ord(str string) -> int", kernel([](const std::string& s) {
       if (s.size() == 1) return static_cast<int64_t>(static_cast<unsigned char>(s[0]));
       uint32_t code_point = 0;
       if (s.empty() || decodeUtf8(s, code_point) != s.size())
         fail("String for ord() must be 1 character, found " + std::to_string(s.size()));
       return static_cast<int64_t>(code_point);
     })},
    {"aten::chr(int i) -> str", kernel([](int64_t i) {
       if (i < 0 || i >= 0x110000) {
         fail("chr() arg not in range(0x110000), found " + std::to_string(i));
       }
       std::string text;
       appendUtf8(text, static_cast<uint32_t>(i));
       return text;
     })},
    {"aten::Size(int[] sizes) -> int[]", kernel([](IValue& sizes) { return std::move(sizes); })},
};
#undef COMPLEX

}  // namespace

std::span<const Row> conversionRows() {
  return kConversionRows;
}

}  // namespace cresset
