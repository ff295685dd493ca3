// The limits of each dtype, from C++'s own std::numeric_limits.
//
// A dtype that is known only when the program runs is looked up by a function in TorchScript, one for each field, so
// that an archive which uses it can be read by torch.jit too.
#include "cresset/frontend/number_limits.h"

#include <c10/core/ScalarType.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e4m3fnuz.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Float8_e5m2fnuz.h>
#include <c10/util/Float8_e8m0fnu.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>
#include <utility>

#include "cresset/frontend/calls.h"
#include "cresset/frontend/compiler.h"
#include "cresset/ir/constants.h"
#include "cresset/program/library.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

using c10::ScalarType;

struct FloatLimits {
  ScalarType dtype;
  double eps, max, min, smallest_normal, resolution;
  int64_t bits;
};
template <typename T>
FloatLimits floatLimits(ScalarType dtype) {
  using L = std::numeric_limits<T>;
  auto number = [](T value) { return static_cast<double>(value); };
  return {
      dtype,
      number(L::epsilon()),
      number(L::max()),
      number(L::lowest()),
      number(L::min()),
      std::pow(10.0, -L::digits10),
      static_cast<int64_t>(sizeof(T) * 8)};
}

struct IntLimits {
  ScalarType dtype;
  int64_t max, min, bits;
  bool has_max = true;  // as an int of 64 bits
};
template <typename T>
IntLimits intLimits(ScalarType dtype) {
  using L = std::numeric_limits<T>;
  return {
      dtype, static_cast<int64_t>(L::max()), static_cast<int64_t>(L::min()), static_cast<int64_t>(sizeof(T) * 8),
      std::in_range<int64_t>(L::max())};
}

const auto& floatRows() {
  static const std::array rows = {
      floatLimits<float>(ScalarType::Float),
      floatLimits<double>(ScalarType::Double),
      floatLimits<c10::Half>(ScalarType::Half),
      floatLimits<c10::BFloat16>(ScalarType::BFloat16),
      floatLimits<float>(ScalarType::ComplexFloat),
      floatLimits<double>(ScalarType::ComplexDouble),
      floatLimits<c10::Half>(ScalarType::ComplexHalf),
      floatLimits<c10::Float8_e4m3fn>(ScalarType::Float8_e4m3fn),
      floatLimits<c10::Float8_e4m3fnuz>(ScalarType::Float8_e4m3fnuz),
      floatLimits<c10::Float8_e5m2>(ScalarType::Float8_e5m2),
      floatLimits<c10::Float8_e5m2fnuz>(ScalarType::Float8_e5m2fnuz),
      floatLimits<c10::Float8_e8m0fnu>(ScalarType::Float8_e8m0fnu),
  };
  return rows;
}

const auto& intRows() {
  static const std::array rows = {
      intLimits<uint8_t>(ScalarType::Byte),     intLimits<int8_t>(ScalarType::Char),
      intLimits<int16_t>(ScalarType::Short),    intLimits<int32_t>(ScalarType::Int),
      intLimits<int64_t>(ScalarType::Long),     intLimits<uint16_t>(ScalarType::UInt16),
      intLimits<uint32_t>(ScalarType::UInt32),  intLimits<uint64_t>(ScalarType::UInt64),
      intLimits<int8_t>(ScalarType::QInt8),     intLimits<uint8_t>(ScalarType::QUInt8),
      intLimits<int32_t>(ScalarType::QInt32),   intLimits<uint8_t>(ScalarType::QUInt4x2),
      intLimits<uint8_t>(ScalarType::QUInt2x4),
  };
  return rows;
}

constexpr std::string_view kFloatFields[] = {"bits", "eps", "max", "min", "resolution", "smallest_normal", "tiny"};
constexpr std::string_view kIntFields[] = {"bits", "max", "min"};

template <size_t N>
bool isOneOf(const std::string_view (&fields)[N], std::string_view field) {
  return std::find(std::begin(fields), std::end(fields), field) != std::end(fields);
}

/// The field's value; None if it does not fit.
c10::IValue fieldOf(const FloatLimits& row, std::string_view field) {
  if (field == "bits") return row.bits;
  if (field == "eps") return row.eps;
  if (field == "max") return row.max;
  if (field == "min") return row.min;
  return field == "resolution" ? row.resolution : row.smallest_normal;
}
c10::IValue fieldOf(const IntLimits& row, std::string_view field) {
  if (field == "bits") return row.bits;
  if (field == "min") return row.min;
  return row.has_max ? c10::IValue(row.max) : c10::IValue();
}

std::string wrongKind(bool floating) {
  return floating ? "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
                  : "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'";
}
constexpr const char* kTooLarge = "the largest number of torch.uint64 does not fit into an int";

template <typename Rows>
c10::IValue lookUp(
    const Rows& rows, ScalarType dtype, std::string_view field, bool floating, const SourceRange& range) {
  for (const auto& row : rows) {
    if (row.dtype != dtype) continue;
    c10::IValue value = fieldOf(row, field);
    if (value.isNone()) throw UserError(kTooLarge, range);
    return value;
  }
  throw UserError(wrongKind(floating), range);
}

std::string literal(const c10::IValue& value) {
  // The smallest int has no literal of its own.
  if (value.isInt() && value.toInt() == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807 - 1)";
  if (value.isInt()) return std::to_string(value.toInt());
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.17e", value.toDouble());
  return text.data();
}

template <typename Rows>
std::string textOf(const Rows& rows, const std::string& name, std::string_view field, bool floating) {
  const bool is_int = !floating || field == "bits";
  std::string text = "def " + name + "(dtype: int) -> " + (is_int ? "int" : "float") + ":\n";
  for (const auto& row : rows) {
    const c10::IValue value = fieldOf(row, field);
    text += "  if dtype == " + std::to_string(static_cast<int>(row.dtype)) + ":\n    ";
    text +=
        value.isNone() ? "raise ValueError(\"" + std::string(kTooLarge) + "\")\n" : "return " + literal(value) + "\n";
  }
  return text + "  raise TypeError(\"" + wrongKind(floating) + "\")\n";
}

class Limits : public SugaredValue {
 public:
  Limits(bool floating, Value* dtype) : floating_(floating), dtype_(dtype) {}
  std::string kind() const override { return floating_ ? "torch.finfo" : "torch.iinfo"; }
  std::string missingAttr(const std::string& name) const override {
    return kind() + " has no attribute '" + name + "' in scripts";
  }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& field) override {
    if (!(floating_ ? isOneOf(kFloatFields, field) : isOneOf(kIntFields, field))) return nullptr;
    if (auto constant = toIValue(dtype_); constant && constant->isInt()) {
      const auto dtype = static_cast<ScalarType>(constant->toInt());
      cx.graph.setLocation(range);
      return std::make_shared<SimpleValue>(cx.graph.insertConstant(
          floating_ ? lookUp(floatRows(), dtype, field, true, range) : lookUp(intRows(), dtype, field, false, range)));
    }
    Function& function = lookUpFunction(libraryOf(cx.program), field);
    return std::make_shared<SimpleValue>(insertFunctionCall(range, cx, function, {NamedValue(dtype_, range)}, {}));
  }

 private:
  Function& lookUpFunction(Program& program, const std::string& field) const {
    const c10::QualifiedName home("__torch__.cresset");
    const std::string name = (floating_ ? "finfo_" : "iinfo_") + field;
    const c10::QualifiedName full(home, name);
    if (!program.findFunction(full)) {
      DefineOptions options;
      options.prefix = home;
      std::string text = floating_ ? textOf(floatRows(), name, field, true) : textOf(intRows(), name, field, false);
      defineSource(program, std::make_shared<Source>(std::move(text), kind() + "." + field), options);
    }
    return *program.findFunction(full);
  }
  bool floating_;
  Value* dtype_;
};

class LimitsFunction : public SugaredValue {
 public:
  explicit LimitsFunction(bool floating) : floating_(floating) {}
  std::string kind() const override { return floating_ ? "type 'torch.finfo'" : "type 'torch.iinfo'"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t) override {
    const bool named = args.empty() && kwargs.size() == 1 && kwargs[0].name == "type";
    if (!named) requireArgs(range, floating_ ? "torch.finfo()" : "torch.iinfo()", 1, args.size(), kwargs.size());
    Value* dtype = (named ? kwargs[0] : args[0]).get(cx.graph);
    if (dtype->type()->kind() != c10::TypeKind::IntType)
      throw UserError((floating_ ? "torch.finfo" : "torch.iinfo") + std::string("() takes a dtype"), range);
    return std::make_shared<Limits>(floating_, dtype);
  }

 private:
  bool floating_;
};

}  // namespace

SugaredValuePtr limitsFunction(bool floating) {
  return std::make_shared<LimitsFunction>(floating);
}

}  // namespace cresset
