// `str.format`: Python's replacement fields.
//
// TorchScript's own `format` replaces "{}" only and leaves "{:.2f}" in the text, which is never what is meant. Here
// a field means what Python says or is an error. Plain fields keep TorchScript's way to print a value (format.h), so
// that messages of existing programs stay as they are.
#include <ATen/core/Tensor.h>
#include <ATen/ops/item_ops.h>
#include <c10/core/Scalar.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cresset/ops/format.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/nesting.h"

namespace cresset {

namespace {

[[noreturn]] void fail(const std::string& message) {
  throw std::runtime_error(message);
}

bool isContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

size_t lengthInCharacters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !isContinuation(c); }));
}

/// The number of bytes of the first `count` characters.
size_t bytesOf(const std::string& text, size_t count) {
  size_t i = 0;
  for (; i < text.size(); ++i) {
    if (!isContinuation(text[i]) && count-- == 0) break;
  }
  return i;
}

// ---- format specs: [[fill]align][sign][#][0][width][grouping][.precision][type] ----

struct Spec {
  std::string fill = " ";
  char align = 0;  // 0: the default of the value's type
  char sign = '-';
  bool alternate = false;
  size_t width = 0;
  char grouping = 0;
  std::optional<int> precision;
  char type = 0;
};

/// Widths and precisions past this are mistakes or attacks: they would only fill memory.
constexpr size_t kMaxWidth = 1'000'000;

size_t readNumber(const std::string& text, size_t& i) {
  size_t value = 0;
  while (i < text.size() && text[i] >= '0' && text[i] <= '9') {
    value = value * 10 + static_cast<size_t>(text[i++] - '0');
    if (value > kMaxWidth) fail("Too many decimal digits in format string: " + text);
  }
  return value;
}

Spec parseSpec(const std::string& text) {
  auto isAlign = [&](size_t i) { return i < text.size() && std::string("<>=^").find(text[i]) != std::string::npos; };
  auto isDigit = [&](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  Spec spec;
  size_t i = 0;
  if (const size_t first = bytesOf(text, 1); first > 0 && isAlign(first)) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    i = first + 1;
  } else if (isAlign(0)) {
    spec.align = text[i++];
  }
  if (i < text.size() && (text[i] == '+' || text[i] == '-' || text[i] == ' ')) spec.sign = text[i++];
  if (i < text.size() && text[i] == '#') spec.alternate = ++i > 0;
  if (i < text.size() && text[i] == '0') {
    ++i;
    if (!spec.align) {
      spec.fill = "0";
      spec.align = '=';
    }
  }
  spec.width = readNumber(text, i);
  if (i < text.size() && (text[i] == ',' || text[i] == '_')) spec.grouping = text[i++];
  if (i < text.size() && text[i] == '.') {
    if (!isDigit(++i)) fail("Format specifier missing precision: '" + text + "'");
    spec.precision = static_cast<int>(readNumber(text, i));
  }
  if (i < text.size()) spec.type = text[i++];
  if (i < text.size()) fail("Invalid format specifier '" + text + "'");
  return spec;
}

/// `digits` with separators; a leading run of zeros that '=' pads with takes part in the grouping.
std::string grouped(const std::string& digits, char separator, size_t size) {
  std::string result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % size == 0) result += separator;
    result += digits[i];
  }
  return result;
}

std::string pad(const Spec& spec, char default_align, const std::string& head, const std::string& body) {
  const size_t length = lengthInCharacters(head) + lengthInCharacters(body);
  const char align = spec.align ? spec.align : default_align;
  if (length >= spec.width) return head + body;
  const size_t missing = spec.width - length;
  const size_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string left, right;
  for (size_t i = 0; i < before; ++i) left += spec.fill;
  for (size_t i = before; i < missing; ++i) right += spec.fill;
  return align == '=' ? head + left + body : left + head + body + right;
}

/// Sign and prefix, the whole part, and what follows it, laid out.
std::string finishNumber(
    const Spec& spec, bool negative, const char* prefix, std::string whole, const std::string& rest) {
  std::string head = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  head += prefix;
  if (spec.grouping) {
    const size_t size = *prefix || spec.type == 'x' || spec.type == 'b' || spec.type == 'o' ? 4 : 3;
    std::string text = grouped(whole, spec.grouping, size);
    if (spec.align == '=' && spec.fill == "0") {
      while (head.size() + grouped("0" + whole, spec.grouping, size).size() + rest.size() <= spec.width)
        whole.insert(0, "0");
      text = grouped(whole, spec.grouping, size);
      // Where only a separator would fit, one zero more stands before it.
      if (head.size() + text.size() + rest.size() < spec.width) text = grouped("0" + whole, spec.grouping, size);
    }
    whole = std::move(text);
  }
  return pad(spec, '>', head, whole + rest);
}

std::string printed(const char* conversion, int precision, double value) {
  const int size = std::snprintf(nullptr, 0, conversion, precision, value);
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), conversion, precision, value);
  text.resize(static_cast<size_t>(size));
  return text;
}

/// Python's repr(float).
std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const double size = std::fabs(value);
  const auto style =
      size != 0 && (size < 1e-4 || size >= 1e16) ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, style).ptr;
  std::string text(buffer.data(), end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string formatDouble(const Spec& spec, double value) {
  char type = spec.type ? spec.type : 'r';
  if (std::string("reEfFgGn%").find(type) == std::string::npos)
    fail(std::string("Unknown format code '") + type + "' for object of type 'float'");
  if (type == 'n') type = 'g';
  const bool upper = type == 'E' || type == 'F' || type == 'G';
  const bool negative = std::signbit(value) && !std::isnan(value);
  double size = std::fabs(value);
  std::string text;
  const int precision = spec.precision.value_or(6);
  if (std::isnan(value) || std::isinf(value)) {
    text = std::isnan(value) ? "nan" : "inf";
  } else if (type == 'r' && !spec.precision) {
    text = shortest(size);
  } else if (type == 'r') {
    // As 'g', with at least one digit after the point of a number that is written without an exponent; such a number
    // has one digit less before the exponent is used.
    text = printed("%.*g", std::max(precision, 1), size);
    if (text.find_first_of(".e") == std::string::npos) {
      text = static_cast<int>(text.size()) < std::max(precision, 1) ? text + ".0"
                                                                    : printed("%.*e", std::max(precision, 1) - 1, size);
    }
  } else if (type == '%') {
    text = printed(spec.alternate ? "%#.*f" : "%.*f", precision, size * 100) + "%";
  } else if (type == 'e' || type == 'E') {
    text = printed(spec.alternate ? "%#.*e" : "%.*e", precision, size);
  } else if (type == 'f' || type == 'F') {
    text = printed(spec.alternate ? "%#.*f" : "%.*f", precision, size);
  } else {
    text = printed(spec.alternate ? "%#.*g" : "%.*g", precision, size);
  }
  if (upper)
    std::transform(
        text.begin(), text.end(), text.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
  const size_t whole = std::min(text.find_first_not_of("0123456789"), text.size());
  Spec numeric = spec;
  if (whole == 0) numeric.grouping = 0;  // inf, nan
  return finishNumber(numeric, negative, "", text.substr(0, whole), text.substr(whole));
}

std::string formatInt(const Spec& spec, int64_t value) {
  const char type = spec.type ? spec.type : 'd';
  if (std::string("eEfFgG%").find(type) != std::string::npos) return formatDouble(spec, static_cast<double>(value));
  if (std::string("dnbcoxX").find(type) == std::string::npos)
    fail(std::string("Unknown format code '") + type + "' for object of type 'int'");
  if (spec.precision) fail("Precision not allowed in integer format specifier");
  if (type == 'c') {
    if (value < 0 || value > 0x7F) fail("%c of a number past 127 is not supported");
    return pad(spec, '<', "", std::string(1, static_cast<char>(value)));
  }
  const bool decimal = type == 'd' || type == 'n';
  const unsigned base = decimal ? 10 : type == 'b' ? 2 : type == 'o' ? 8 : 16;
  uint64_t rest = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const std::string_view alphabet = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), alphabet[rest % base]);
    rest /= base;
  } while (rest);
  const char* prefix = !spec.alternate || decimal ? ""
                       : type == 'b'              ? "0b"
                       : type == 'o'              ? "0o"
                       : type == 'X'              ? "0X"
                                                  : "0x";
  return finishNumber(spec, value < 0, prefix, digits, "");
}

std::string formatString(const Spec& spec, std::string text) {
  if (spec.type && spec.type != 's')
    fail(std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
  if (spec.sign != '-') fail("Sign not allowed in string format specifier");
  if (spec.alternate) fail("Alternate form (#) not allowed in string format specifier");
  if (spec.align == '=' && spec.fill != "0") fail("'=' alignment not allowed in string format specifier");
  if (spec.grouping) fail(std::string("Cannot specify '") + spec.grouping + "' with 's'.");
  if (spec.precision) text.resize(bytesOf(text, static_cast<size_t>(*spec.precision)));
  Spec plain = spec;
  if (plain.align == '=') plain.align = '<';
  return pad(plain, '<', "", text);
}

std::string formatValue(const c10::IValue& value, const std::string& spec_text) {
  if (spec_text.empty()) return toPrinted(value);
  const Spec spec = parseSpec(spec_text);
  if (value.isString()) return formatString(spec, value.toStringRef());
  if (value.isInt()) return formatInt(spec, value.toInt());
  if (value.isBool()) return formatInt(spec, value.toBool());
  if (value.isDouble()) return formatDouble(spec, value.toDouble());
  if (value.isTensor() && value.toTensor().defined() && value.toTensor().dim() == 0) {
    const c10::Scalar item = at::_ops::item::call(value.toTensor());
    if (item.isFloatingPoint()) return formatDouble(spec, item.toDouble());
    if (item.isBoolean()) return formatInt(spec, item.toBool());
    if (item.isIntegral(false)) return formatInt(spec, item.toLong());
  }
  fail("unsupported format string passed to " + value.tagKind() + ".__format__: '" + spec_text + "'");
}

// ---- conversions ----

std::string quoted(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, quote);
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n' || c == '\t' || c == '\r') {
      result += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\x%02x", byte);
      result += escape.data();
    } else {
      result += c;
    }
  }
  return result + quote;
}

/// Python's repr, of the types whose repr does not depend on anything else.
void appendRepr(std::string& out, const c10::IValue& value) {
  requireMemory(out.size());
  if (value.isString()) {
    out += quoted(value.toStringRef());
  } else if (value.isNone()) {
    out += "None";
  } else if (value.isBool()) {
    out += value.toBool() ? "True" : "False";
  } else if (value.isInt()) {
    out += std::to_string(value.toInt());
  } else if (value.isDouble()) {
    out += shortest(value.toDouble());
  } else if (value.isList()) {
    const char* separator = "[";
    if (value.toListRef().empty()) out += separator;
    for (const c10::IValue& item : value.toListRef()) {
      out += std::exchange(separator, ", ");
      appendRepr(out, item);
    }
    out += ']';
  } else if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    const char* separator = "(";
    if (elements.empty()) out += separator;
    for (const c10::IValue& item : elements) {
      out += std::exchange(separator, ", ");
      appendRepr(out, item);
    }
    out += elements.size() == 1 ? ",)" : ")";
  } else if (value.isGenericDict()) {
    const char* separator = "{";
    if (value.toGenericDict().empty()) out += separator;
    for (const auto& entry : value.toGenericDict()) {
      out += std::exchange(separator, ", ");
      appendRepr(out, entry.key());
      out += ": ";
      appendRepr(out, entry.value());
    }
    out += '}';
  } else {
    fail("the conversion !r is not supported for a value of type " + value.tagKind());
  }
}

std::string repr(const c10::IValue& value) {
  requireShallow(value, "printing a value");
  std::string text;
  appendRepr(text, value);
  return text;
}

// ---- fields ----

class Fields {
 public:
  Fields(const std::string& format, std::span<const c10::IValue> args) : format_(format), args_(args) {}

  std::string run() {
    std::string result;
    while (at_ < format_.size()) {
      const char c = format_[at_++];
      if (c != '{' && c != '}') {
        result += c;
      } else if (at_ < format_.size() && format_[at_] == c) {
        result += c;
        ++at_;
      } else if (c == '}') {
        fail("Single '}' encountered in format string: " + format_);
      } else {
        appendPart(result, field(0));
      }
    }
    return result;
  }

 private:
  /// Stands after the '{'; reads the '}' too.
  std::string field(int depth) {
    if (depth > 1) fail("Max string recursion exceeded in format string: " + format_);
    const size_t begin = at_;
    while (at_ < format_.size() && std::string("!:{}").find(format_[at_]) == std::string::npos) ++at_;
    const c10::IValue& value = argument(format_.substr(begin, at_ - begin));
    char conversion = 0;
    if (next() == '!') {
      ++at_;
      conversion = next();
      ++at_;
      if (next() != ':' && next() != '}') fail("expected ':' or '}' after a conversion in format string: " + format_);
    }
    std::string spec;
    if (next() == ':') {
      for (++at_; next() != '}';) {
        if (format_[at_] == '{') {
          ++at_;
          appendPart(spec, field(depth + 1));
        } else {
          spec += format_[at_++];
        }
      }
    }
    if (next() != '}') failUnclosed();
    ++at_;
    switch (conversion) {
      case 0:
        return formatValue(value, spec);
      case 's':
        return formatValue(toPrinted(value), spec);
      case 'r':
        return formatValue(repr(value), spec);
      default:
        fail(std::string("Unknown conversion specifier '!") + conversion + "' in format string: " + format_);
    }
  }

  [[noreturn]] void failUnclosed() const { fail("expected '}' before end of string: " + format_); }

  char next() const {
    if (at_ >= format_.size()) failUnclosed();
    return format_[at_];
  }

  const c10::IValue& argument(const std::string& name) {
    size_t index = 0;
    if (name.empty()) {
      if (numbered_) fail("cannot switch from manual field specification to automatic field numbering");
      automatic_ = true;
      index = used_++;
    } else {
      size_t end = 0;
      index = readNumber(name, end);
      if (end != name.size()) fail("the field '{" + name + "}' is not supported in a format string: use {} or {0}");
      if (automatic_) fail("cannot switch from automatic field numbering to manual field specification");
      numbered_ = true;
    }
    if (index >= args_.size()) fail("Too few arguments for format string: " + format_);
    return args_[index];
  }

  const std::string& format_;
  std::span<const c10::IValue> args_;
  size_t at_ = 0, used_ = 0;
  bool automatic_ = false, numbered_ = false;
};

}  // namespace

std::string formatBraces(const std::string& format, std::span<const c10::IValue> args) {
  return Fields(format, args).run();
}

}  // namespace cresset
