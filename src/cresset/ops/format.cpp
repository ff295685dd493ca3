// See format.h.
#include "cresset/ops/format.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "cresset/ops/limits.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/operator_clients.h"

namespace cresset {

std::string toPrinted(const c10::IValue& value) {
  if (value.isString()) return value.toStringRef();
  if (value.isInt()) return std::to_string(value.toInt());
  requireShallow(value, "printing a value");
  c10::IValue read = value;
  if (value.isTensor()) {
    read = elementsForReading(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> elements;
    for (const at::Tensor& tensor : value.toTensorVector()) elements.push_back(elementsForReading(tensor));
    read = elements;
  }
  const ClientPause pause;
  std::ostringstream out;
  out << read;
  return std::move(out).str();
}

void appendPart(std::string& text, const std::string& part) {
  const size_t size = text.size() + part.size();
  // Room for twice the text, as strings grow, beside the old one.
  requireMemory(size > text.capacity() ? std::max(size, 2 * text.capacity()) + text.capacity() : size);
  text += part;
}

std::string printedLine(std::span<const c10::IValue> values) {
  std::string line;
  for (const auto& value : values) {
    if (&value != values.data()) line += ' ';
    line += toPrinted(value);
  }
  line += '\n';
  return line;
}

namespace {

[[noreturn]] void refuse(char specifier, const char* wanted, const c10::IValue& found) {
  throw std::runtime_error(
      std::string("%") + specifier + " requires " + wanted + " for formatting, but got " + found.tagKind());
}

std::string printfDouble(char specifier, double value) {
  char format[] = {'%', specifier, '\0'};
  std::array<char, 512> buffer{};
  int n = std::snprintf(buffer.data(), buffer.size(), format, value);
  return std::string(buffer.data(), static_cast<size_t>(n));
}

std::string formatOne(char specifier, const c10::IValue& value) {
  bool number = value.isInt() || value.isDouble() || value.isBool();
  auto as_double = [&] {
    return value.isDouble() ? value.toDouble() : value.isInt() ? static_cast<double>(value.toInt()) : value.toBool();
  };
  switch (specifier) {
    case 'd':
    case 'i':
      if (!number) refuse(specifier, "a number", value);
      if (value.isDouble()) return std::to_string(static_cast<int64_t>(value.toDouble()));
      return std::to_string(value.isInt() ? value.toInt() : static_cast<int64_t>(value.toBool()));
    case 'e':
    case 'E':
    case 'f':
    case 'F':
      if (!number) refuse(specifier, "a number", value);
      return printfDouble(specifier, as_double());
    case 'c':
      if (value.isInt()) return std::string(1, static_cast<char>(value.toInt()));
      if (value.isString() && value.toStringRef().size() == 1) return value.toStringRef();
      refuse(specifier, "an int or char", value);
    case 's':
      return toPrinted(value);
    default:
      throw std::runtime_error(
          std::string("The specifier %") + specifier + " is not supported in TorchScript format strings");
  }
}

}  // namespace

std::string formatPercent(const std::string& format, std::span<const c10::IValue> args) {
  // `"%d %d" % pair`: a tuple stands for its elements, as in Python.
  std::vector<c10::IValue> elements;
  if (args.size() == 1 && args[0].isTuple()) {
    elements = args[0].toTupleRef().elements().vec();
    args = elements;
  }
  std::string result;
  size_t used = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      result += format[i];
      continue;
    }
    if (++i == format.size()) throw std::runtime_error("Incomplete format specifier");
    if (format[i] == '%') {
      result += '%';
      continue;
    }
    if (used >= args.size()) throw std::runtime_error("Too few arguments for format string");
    const c10::IValue& value = args[used++];
    if (value.isString()) requireMemory(result.size() + value.toStringRef().size());
    appendPart(result, formatOne(format[i], value));
  }
  if (used < args.size()) throw std::runtime_error("Too many arguments for format string");
  return result;
}

std::string inBase(int64_t value, unsigned base, const char* prefix) {
  uint64_t rest = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[rest % base]);
    rest /= base;
  } while (rest);
  return (value < 0 ? "-" : "") + std::string(prefix) + digits;
}

}  // namespace cresset
