// Constant values as text and back.
//
// A constant's text says nothing of its type; its output's type does. So a value is written as text only if reading
// that text by that type makes the same value: what is held as Any, tensors of several elements, objects and values
// whose own element types differ from the declared ones go to the constant table.
#include "cresset/ir/literal.h"
#include "cresset/ir/messages.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/empty.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "cresset/ir/printer.h"
#include "cresset/support/dict_entries.h"
#include "cresset/support/error.h"
#include "cresset/support/lexer.h"

namespace cresset {

using c10::TypeKind;

namespace {

template <typename T>
std::string withPoint(T v, std::to_chars_result (*format)(char*, char*, T)) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[64];
  std::string out(buffer, format(buffer, buffer + sizeof buffer, v).ptr);
  // What would read as an int gets a point: 1 -> "1.".
  if (out.find_first_of(".e") == std::string::npos) out += '.';
  return out;
}

c10::TypePtr unwrapOptional(const c10::TypePtr& type) {
  if (auto optional = type->cast<c10::OptionalType>()) return optional->getElementType();
  return type;
}

}  // namespace

std::string floatToText(double v) {
  return withPoint<double>(v, [](char* first, char* last, double d) {
    return std::to_chars(first, last, d, std::chars_format::general, std::numeric_limits<double>::max_digits10);
  });
}

std::string complexToText(std::complex<double> v) {
  std::string imaginary = floatToText(v.imag());
  return floatToText(v.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
}

// ---- numbers

bool atNumber(const IrScanner& scanner) {
  return scanner.at(IrToken::Number) || scanner.at('-') || scanner.atName("inf") || scanner.atName("nan") ||
         scanner.atName("infj") || scanner.atName("nanj");
}

namespace {

/// One unsigned part of a number. `imaginary` is set if it ends in j.
NumberLiteral parsePart(IrScanner& scanner, bool negative, bool* imaginary) {
  IrToken token = scanner.cur();
  *imaginary = false;
  if (scanner.at(IrToken::Name)) {
    std::string_view name = scanner.text(token);
    if (name.size() == 4 && name.back() == 'j') {
      *imaginary = true;
      name.remove_suffix(1);
    }
    double value = name == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    if (name != "inf" && name != "nan") scanner.reportExpected("a number");
    scanner.next();
    return negative ? -value : value;
  }
  scanner.expect(IrToken::Number);
  std::string text = (negative ? "-" : "") + std::string(scanner.text(token));
  if (text.back() == 'j') {
    *imaginary = true;
    text.pop_back();
  }
  const char* last = text.data() + text.size();
  if (text.find_first_of(".eE") == std::string::npos && !*imaginary) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last) scanner.fail("the number doesn't fit into 64 bits", token);
    return value;
  }
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(text.c_str(), nullptr);  // rounds to zero or infinity, as reading a program does
  } else if (error != std::errc() || end != last) {
    scanner.fail("malformed number", token);
  }
  return value;
}

double asDouble(const NumberLiteral& v) {
  return std::holds_alternative<int64_t>(v) ? static_cast<double>(std::get<int64_t>(v)) : std::get<double>(v);
}

}  // namespace

NumberLiteral parseNumber(IrScanner& scanner) {
  bool imaginary = false;
  NumberLiteral first = parsePart(scanner, scanner.nextIf('-'), &imaginary);
  if (imaginary) return std::complex<double>(0, asDouble(first));
  if (!scanner.at('+') && !scanner.at('-')) return first;
  IrToken sign = scanner.next();
  NumberLiteral second = parsePart(scanner, sign.kind == '-', &imaginary);
  if (!imaginary) scanner.fail("a sum in a constant must be a complex number such as 2.+3.j", sign);
  return std::complex<double>(asDouble(first), asDouble(second));
}

// ---- tensors of one element: {5}, {0.1}, {(0,2)}

namespace {

template <typename T>
std::string elementToText(T v) {
  std::string out = withPoint<T>(v, [](char* first, char* last, T d) { return std::to_chars(first, last, d); });
  if (out.ends_with('.')) out.pop_back();
  return out;
}

bool isFloat64(c10::ScalarType dtype) {
  return dtype == c10::ScalarType::Double || dtype == c10::ScalarType::ComplexDouble;
}

bool printElement(std::string& out, const at::Tensor& t, const c10::TypePtr& type) {
  auto declared = type->cast<c10::TensorType>();
  if (!t.defined() || !declared || t.layout() != c10::kStrided || !t.device().is_cpu() || t.requires_grad())
    return false;
  if (t.is_quantized() || t.is_conj() || t.is_neg() || t.numel() != 1 || t.unsafeGetTensorImpl()->is_wrapped_number())
    return false;
  if (*declared != *c10::TensorType::create(t)) return false;
  auto dtype = t.scalar_type();
  if (c10::isComplexType(dtype)) {
    if (dtype == c10::ScalarType::ComplexHalf) return false;
    c10::complex<double> v = t.item().toComplexDouble();
    auto part = [&](double d) { return isFloat64(dtype) ? elementToText(d) : elementToText(static_cast<float>(d)); };
    out += "{(" + part(v.real()) + "," + part(v.imag()) + ")}";
  } else if (dtype == c10::ScalarType::Bool) {
    out += t.item().toBool() ? "{1}" : "{0}";
  } else if (dtype == c10::ScalarType::Half || dtype == c10::ScalarType::BFloat16 || dtype == c10::ScalarType::Float) {
    out += "{" + elementToText(t.item().toFloat()) + "}";
  } else if (dtype == c10::ScalarType::Double) {
    out += "{" + elementToText(t.item().toDouble()) + "}";
  } else if (
      dtype == c10::ScalarType::Byte || dtype == c10::ScalarType::Char || dtype == c10::ScalarType::Short ||
      dtype == c10::ScalarType::Int || dtype == c10::ScalarType::Long) {
    out += "{" + std::to_string(t.item().toLong()) + "}";
  } else {
    return false;
  }
  return true;
}

c10::IValue parseElement(IrScanner& scanner, const c10::TypePtr& type) {
  IrToken open = scanner.expect('{');
  NumberLiteral number;
  if (scanner.nextIf('(')) {
    double real = asDouble(parseNumber(scanner));
    scanner.expect(',');
    double imaginary = asDouble(parseNumber(scanner));
    scanner.expect(')');
    number = std::complex<double>(real, imaginary);
  } else {
    number = parseNumber(scanner);
  }
  scanner.expect('}');
  auto tensor = type->cast<c10::TensorType>();
  auto sizes = tensor ? tensor->sizes().concrete_sizes() : std::nullopt;
  if (!tensor || !tensor->scalarType() || !sizes) {
    scanner.fail("a tensor of one element needs a type with dtype and sizes, such as Float() or Long(1, 1)", open);
  }
  for (int64_t size : *sizes)
    if (size != 1) scanner.fail("the type is not of one element", open);
  if (tensor->device() && !tensor->device()->is_cpu()) scanner.fail("only CPU tensors can be written as text", open);
  c10::ScalarType dtype = *tensor->scalarType();
  if (std::holds_alternative<std::complex<double>>(number) && !c10::isComplexType(dtype)) {
    scanner.fail("a complex element in a tensor that isn't complex", open);
  }
  at::Tensor result = at::empty(*sizes, c10::TensorOptions().dtype(dtype));
  if (auto* i = std::get_if<int64_t>(&number)) {
    result.fill_(c10::Scalar(*i));
  } else if (auto* d = std::get_if<double>(&number)) {
    if (c10::isIntegralType(dtype, /*includeBool=*/true)) scanner.fail("a fraction in a tensor of integers", open);
    result.fill_(c10::Scalar(*d));
  } else {
    result.fill_(c10::Scalar(c10::complex<double>(std::get<2>(number).real(), std::get<2>(number).imag())));
  }
  return result;
}

// ---- values

/// TorchScript names the type of a literal list or dict that doesn't show it.
bool needsAnnotation(const c10::TypePtr& element) {
  return element->kind() == TypeKind::OptionalType || element->kind() == TypeKind::UnionType ||
         element->kind() == TypeKind::AnyType || element->kind() == TypeKind::NumberType;
}

}  // namespace

bool printConstantText(std::string& out, const c10::IValue& value, const c10::TypePtr& declared, int depth) {
  if (depth > kMaxNesting) return false;
  if (value.isNone()) {
    out += "None";
    return declared->kind() == TypeKind::NoneType || declared->kind() == TypeKind::OptionalType;
  }
  c10::TypePtr type = unwrapOptional(declared);
  auto printAll = [&](const auto& items, auto&& typeOf) {
    bool first = true;
    size_t i = 0;
    for (const c10::IValue& item : items) {
      if (!first) out += ", ";
      first = false;
      if (!printConstantText(out, item, typeOf(i++), depth + 1)) return false;
    }
    return true;
  };
  if (value.isBool()) {
    out += value.toBool() ? "True" : "False";
    return type->kind() == TypeKind::BoolType;
  }
  if (value.isInt()) {
    out += std::to_string(value.toInt());
    return type->kind() == TypeKind::IntType || type->kind() == TypeKind::NumberType;
  }
  if (value.isDouble()) {
    out += floatToText(value.toDouble());
    return type->kind() == TypeKind::FloatType || type->kind() == TypeKind::NumberType;
  }
  if (value.isComplexDouble()) {
    c10::complex<double> v = value.toComplexDouble();
    out += complexToText({v.real(), v.imag()});
    return type->kind() == TypeKind::ComplexType || type->kind() == TypeKind::NumberType;
  }
  if (value.isString()) {
    out += quoteString(value.toStringRef());
    return type->kind() == TypeKind::StringType;
  }
  if (value.isDevice()) {
    out += quoteString(value.toDevice().str());
    return type->kind() == TypeKind::DeviceObjType;
  }
  if (value.isTensor()) return depth == 0 && printElement(out, value.toTensor(), type);
  if (value.isEnum()) {
    auto holder = value.toEnumHolder();
    out += holder->qualifiedClassName() + "." + holder->name();
    return *type == *c10::TypePtr(holder->type());
  }
  if (value.isList()) {
    auto list_type = type->cast<c10::ListType>();
    auto list = value.toList();
    if (!list_type || *list.elementType() != *list_type->getElementType()) return false;
    bool annotate = list.empty() || needsAnnotation(list_type->getElementType());
    if (annotate) out += "annotate(" + type->annotation_str() + ", ";
    out += "[";
    if (!printAll(value.toListRef(), [&](size_t) { return list_type->getElementType(); })) return false;
    out += annotate ? "])" : "]";
    return true;
  }
  if (value.isTuple()) {
    auto tuple_type = type->cast<c10::TupleType>();
    const auto& elements = value.toTupleRef().elements();
    if (!tuple_type || tuple_type->elements().size() != elements.size()) return false;
    out += "(";
    if (!printAll(elements, [&](size_t i) { return tuple_type->elements()[i]; })) return false;
    out += elements.size() == 1 ? ",)" : ")";
    return true;
  }
  if (value.isGenericDict()) {
    auto dict_type = type->cast<c10::DictType>();
    auto dict = value.toGenericDict();
    if (!dict_type || *dict.keyType() != *dict_type->getKeyType() || *dict.valueType() != *dict_type->getValueType())
      return false;
    bool annotate = dict.empty() || needsAnnotation(dict_type->getValueType());
    if (annotate) out += "annotate(" + type->annotation_str() + ", ";
    out += "{";
    bool first = true;
    for (const auto& entry : dict) {
      if (!first) out += ", ";
      first = false;
      if (!printConstantText(out, entry.key(), dict_type->getKeyType(), depth + 1)) return false;
      out += ": ";
      if (!printConstantText(out, entry.value(), dict_type->getValueType(), depth + 1)) return false;
    }
    out += annotate ? "})" : "}";
    return true;
  }
  return false;
}

bool atTableReference(const IrScanner& scanner) {
  return scanner.at(IrToken::Name) && scanner.text(scanner.cur()).starts_with("CONSTANTS.");
}

const c10::IValue& parseTableReference(IrScanner& scanner, const ConstantTable* constants) {
  IrToken token = scanner.expect(IrToken::Name);
  std::string_view name = scanner.text(token).substr(std::string_view("CONSTANTS.").size());
  size_t index = 0;
  const char* last = name.data() + name.size();
  if (name.size() < 2 || name[0] != 'c' || std::from_chars(name.data() + 1, last, index).ptr != last) {
    scanner.fail("expected CONSTANTS.c0, CONSTANTS.c1, …", token);
  }
  if (!constants || index >= constants->size()) {
    scanner.fail(
        "the constant table has " + std::to_string(constants ? constants->size() : 0) + " entries; there is no c" +
            std::to_string(index),
        token);
  }
  return (*constants)[index];
}

namespace {

/// Skips the type in `annotate(List[int], …)`: the declared type says it already.
void skipAnnotation(IrScanner& scanner) {
  scanner.expect('(');
  int open = 0;
  while (open > 0 || !scanner.at(',')) {
    if (scanner.at('[') || scanner.at('(')) ++open;
    if (scanner.at(']') || scanner.at(')')) --open;
    if (open < 0 || scanner.at(IrToken::End)) scanner.reportExpected("','");
    scanner.next();
  }
  scanner.next();
}

template <typename F>
void parseItems(IrScanner& scanner, int open, int close, F&& item) {
  scanner.expect(open);
  while (!scanner.nextIf(close)) {
    item();
    if (!scanner.nextIf(',')) {
      scanner.expect(close);
      return;
    }
  }
}

c10::IValue parseEnum(IrScanner& scanner, const c10::EnumTypePtr& type) {
  IrToken token = scanner.expect(IrToken::Name);
  std::string_view name = scanner.text(token);
  std::string prefix = type->qualifiedClassName().qualifiedName() + ".";
  if (name.starts_with(prefix)) {
    for (const auto& [member, value] : type->enumNamesValues()) {
      if (name.substr(prefix.size()) == member) {
        return c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(type, member, value));
      }
    }
  }
  scanner.fail(
      "'" + std::string(name) + "' is no member of the enum " + type->qualifiedClassName().qualifiedName(), token);
}

}  // namespace

c10::IValue parseConstantText(
    IrScanner& scanner, const c10::TypePtr& declared, const ConstantTable* constants, int depth) {
  if (depth > kMaxNesting) scanner.fail("constants nest deeper than " + std::to_string(kMaxNesting) + " levels");
  if (atTableReference(scanner)) return parseTableReference(scanner, constants);
  IrToken start = scanner.cur();
  c10::TypePtr type = unwrapOptional(declared);
  auto mismatch = [&](const char* what) {
    scanner.fail(std::string(what) + " can't be a constant of type " + cresset::toString(*declared), start);
  };
  auto inner = [&](const c10::TypePtr& t) { return parseConstantText(scanner, t, constants, depth + 1); };
  if (scanner.nextIfName("None")) {
    if (declared->kind() != TypeKind::NoneType && declared->kind() != TypeKind::OptionalType) mismatch("None");
    return c10::IValue();
  }
  if (scanner.atName("True") || scanner.atName("False")) {
    bool value = scanner.text(scanner.next()) == "True";
    if (type->kind() != TypeKind::BoolType) mismatch("a bool");
    return value;
  }
  if (scanner.atName("annotate") && scanner.lookahead() == '(') {
    scanner.next();
    skipAnnotation(scanner);
    c10::IValue value = inner(type);
    scanner.expect(')');
    return value;
  }
  if (type->kind() == TypeKind::EnumType) return parseEnum(scanner, type->expect<c10::EnumType>());
  if (atNumber(scanner)) {
    NumberLiteral number = parseNumber(scanner);
    if (auto* i = std::get_if<int64_t>(&number)) {
      if (type->kind() == TypeKind::BoolType && (*i == 0 || *i == 1)) return *i == 1;
      if (type->kind() == TypeKind::FloatType) return static_cast<double>(*i);
      if (type->kind() != TypeKind::IntType && type->kind() != TypeKind::NumberType) mismatch("an int");
      return *i;
    }
    if (auto* d = std::get_if<double>(&number)) {
      if (type->kind() != TypeKind::FloatType && type->kind() != TypeKind::NumberType) mismatch("a float");
      return *d;
    }
    if (type->kind() != TypeKind::ComplexType && type->kind() != TypeKind::NumberType) mismatch("a complex number");
    return c10::complex<double>(std::get<2>(number).real(), std::get<2>(number).imag());
  }
  if (scanner.at(IrToken::String)) {
    std::string text = parseStringLiteral(scanner.range(scanner.next()));
    if (type->kind() == TypeKind::DeviceObjType) {
      try {
        return c10::Device(text);
      } catch (const c10::Error&) {
        scanner.fail(messages::noDevice(text), start);
      }
    }
    if (type->kind() != TypeKind::StringType) mismatch("a str");
    return text;
  }
  if (scanner.at('[')) {
    auto list_type = type->cast<c10::ListType>();
    if (!list_type) mismatch("a list");
    c10::impl::GenericList list(list_type->getElementType());
    parseItems(scanner, '[', ']', [&] { list.push_back(inner(list_type->getElementType())); });
    return list;
  }
  if (scanner.at('(')) {
    auto tuple_type = type->cast<c10::TupleType>();
    if (!tuple_type) mismatch("a tuple");
    std::vector<c10::IValue> elements;
    size_t count = tuple_type->elements().size();
    parseItems(scanner, '(', ')', [&] {
      if (elements.size() == count) scanner.fail("the tuple has more than " + std::to_string(count) + " elements");
      elements.push_back(inner(tuple_type->elements()[elements.size()]));
    });
    if (elements.size() != count) scanner.fail("the tuple has not " + std::to_string(count) + " elements", start);
    if (tuple_type->schema()) return c10::ivalue::Tuple::createNamed(std::move(elements), tuple_type);
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (scanner.at('{') && type->kind() == TypeKind::TensorType) return parseElement(scanner, type);
  if (scanner.at('{')) {
    auto dict_type = type->cast<c10::DictType>();
    if (!dict_type) mismatch("a dict");
    c10::impl::GenericDict dict(dict_type->getKeyType(), dict_type->getValueType());
    parseItems(scanner, '{', '}', [&] {
      c10::IValue key = inner(dict_type->getKeyType());
      scanner.expect(':');
      c10::IValue value = inner(dict_type->getValueType());
      try {
        assignEntry(dict, std::move(key), std::move(value));
      } catch (const std::runtime_error& error) {
        scanner.fail(error.what());
      }
    });
    return dict;
  }
  if (scanner.at('<')) scanner.fail("this text leaves the constant out; print the graph with a constant table");
  scanner.reportExpected("a constant of type " + cresset::toString(*declared));
}

}  // namespace cresset
