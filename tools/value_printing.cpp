// Values as exact, compact text: what text tests compare.
//
// torch's own printing rounds to four digits and wraps lines, so two values that differ in their last bit look the
// same. Here every number is the shortest that reads back to the same bits.
#include "value_printing.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <charconv>
#include <cmath>

#include "cresset/support/string_literal.h"

namespace cresset::tools {
namespace {

template <typename T>
std::string number(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string text(buffer, end);
  size_t e = text.find('e');
  int exponent = std::stoi(text.substr(e + 1));
  std::string sign = text[0] == '-' ? "-" : "";
  std::string digits;
  for (char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  // Python's rule for when an exponent is written.
  if (exponent < -4 || exponent >= 16) {
    std::string mantissa = digits.size() > 1 ? digits.substr(0, 1) + "." + digits.substr(1) : digits;
    std::string magnitude = std::to_string(std::abs(exponent));
    if (magnitude.size() < 2) magnitude = "0" + magnitude;
    return sign + mantissa + "e" + (exponent < 0 ? "-" : "+") + magnitude;
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

/// Without a ".0", as Python writes the parts of a complex number.
std::string part(double value) {
  std::string text = number(value);
  if (text.size() > 2 && text.substr(text.size() - 2) == ".0") text.resize(text.size() - 2);
  return text;
}

std::string complexNumber(c10::complex<double> value) {
  if (value.real() == 0 && !std::signbit(value.real())) return part(value.imag()) + "j";
  bool sign = std::signbit(value.imag()) && !std::isnan(value.imag());
  return "(" + part(value.real()) + (sign ? "" : "+") + part(value.imag()) + "j)";
}

/// Python's repr of a string: single quotes unless there are only single quotes inside.
std::string stringRepr(const std::string& text) {
  char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t i = 0; i < text.size();) {
    uint32_t code_point = 0;
    size_t n = decodeUtf8(std::string_view(text).substr(i), code_point);
    if (n > 1 && code_point >= 0xa0) {
      out += text.substr(i, n);
      i += n;
      continue;
    }
    unsigned char c = static_cast<unsigned char>(text[i++]);
    if (c == '\\' || c == static_cast<unsigned char>(quote)) {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c >= 0x7f) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\x%02x", c);
      out += buffer;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + quote;
}

const char* dtypeName(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return "bool";
    case at::kByte:
      return "uint8";
    case at::kChar:
      return "int8";
    case at::kShort:
      return "int16";
    case at::kInt:
      return "int32";
    case at::kLong:
      return "int64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kComplexHalf:
      return "complex32";
    case at::kComplexFloat:
      return "complex64";
    case at::kComplexDouble:
      return "complex128";
    default:
      return c10::toString(type);
  }
}

class TensorPrinter {
 public:
  explicit TensorPrinter(const at::Tensor& tensor) : type_(tensor.scalar_type()), sizes_(tensor.sizes().vec()) {
    // All dtypes are read through three wide ones, which hold each of their values exactly.
    at::ScalarType wide = at::isComplexType(type_)    ? at::kComplexDouble
                          : at::isFloatingType(type_) ? at::kDouble
                                                      : at::kLong;
    data_ = tensor.detach().cpu().to(wide).contiguous();
  }

  std::string text() {
    if (data_.numel() > 0) print(0);
    return data_.numel() > 0 ? out_ : "[]";
  }

 private:
  void print(size_t dim) {
    if (dim == sizes_.size()) {
      out_ += element(next_++);
      return;
    }
    out_ += '[';
    for (int64_t i = 0; i < sizes_[dim]; ++i) {
      if (i > 0) out_ += ", ";
      print(dim + 1);
    }
    out_ += ']';
  }
  std::string element(int64_t i) const {
    if (data_.scalar_type() == at::kComplexDouble)
      return complexNumber(data_.const_data_ptr<c10::complex<double>>()[i]);
    if (data_.scalar_type() == at::kDouble) {
      double value = data_.const_data_ptr<double>()[i];
      return type_ == at::kDouble ? number(value) : number(static_cast<float>(value));
    }
    int64_t value = data_.const_data_ptr<int64_t>()[i];
    if (type_ == at::kBool) return value ? "True" : "False";
    return std::to_string(value);
  }

  at::ScalarType type_;
  std::vector<int64_t> sizes_;
  at::Tensor data_;
  int64_t next_ = 0;
  std::string out_;
};

std::string tensorRepr(const at::Tensor& tensor) {
  if (!tensor.defined()) return "<undefined tensor>";
  if (tensor.layout() != at::kStrided || tensor.is_quantized() || tensor.is_meta()) {
    return "<tensor of size " + c10::str(tensor.sizes()) + ">";
  }
  std::string out = "tensor(" + TensorPrinter(tensor).text();
  if (tensor.numel() == 0 && !(tensor.dim() == 1)) out += ", size=(" + c10::Join(", ", tensor.sizes()) + ")";
  if (tensor.scalar_type() != at::kFloat) out += std::string(", dtype=") + dtypeName(tensor.scalar_type());
  if (tensor.requires_grad()) out += ", requires_grad=True";
  return out + ")";
}

}  // namespace

std::string reprOf(double value) {
  return number(value);
}

std::string reprOf(const c10::IValue& value) {
  auto join = [](const auto& items) {
    std::string out;
    for (const auto& item : items) {
      if (!out.empty()) out += ", ";
      out += reprOf(c10::IValue(item));
    }
    return out;
  };
  if (value.isNone()) return "None";
  if (value.isTensor()) return tensorRepr(value.toTensor());
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return number(value.toDouble());
  if (value.isComplexDouble()) return complexNumber(value.toComplexDouble());
  if (value.isString()) return stringRepr(value.toStringRef());
  if (value.isDevice()) return "device(" + value.toDevice().str() + ")";
  if (value.isTuple()) {
    const auto& tuple = value.toTupleRef();
    auto type = value.type()->cast<c10::TupleType>();
    if (type && type->schema() && type->name()) {
      std::string out;
      for (size_t i = 0; i < tuple.elements().size(); ++i) {
        out += (i > 0 ? ", " : "") + type->schema()->arguments()[i].name() + "=" + reprOf(tuple.elements()[i]);
      }
      return type->name()->name() + "(" + out + ")";
    }
    std::string items;
    for (const auto& e : tuple.elements()) items += (items.empty() ? "" : ", ") + reprOf(e);
    return "(" + items + (tuple.elements().size() == 1 ? ",)" : ")");
  }
  if (value.isList()) return "[" + join(value.toListRef()) + "]";
  if (value.isGenericDict()) {
    std::string out;
    for (const auto& entry : value.toGenericDict()) {
      if (!out.empty()) out += ", ";
      out += reprOf(entry.key()) + ": " + reprOf(entry.value());
    }
    return "{" + out + "}";
  }
  if (value.isEnum()) {
    auto holder = value.toEnumHolder();
    return holder->type()->qualifiedClassName().name() + "." + holder->name();
  }
  if (value.isObject()) return "<" + value.toObjectRef().type()->name()->name() + ">";
  if (value.isFuture()) return "<Future>";
  return "<" + value.tagKind() + ">";
}

}  // namespace cresset::tools
