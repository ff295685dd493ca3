// Constants as source. See code_printer.h.
//
// Every float prints as the shortest text that reads back to it, every string as a literal of the same bytes.
#include <ATen/core/enum_type.h>

#include <array>
#include <charconv>
#include <cmath>

#include "cresset/archive/code_printer_impl.h"
#include "cresset/support/string_literal.h"

namespace cresset {

namespace {

std::string floatLiteral(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);  // shortest that reads back
  std::string text(buffer.data(), end);
  return text.find_first_of(".e") == std::string::npos ? text + "." : text;
}

/// `torch.inf` negated is a node of its own; only nonnegative and finite numbers have literals.
bool hasFloatLiteral(double value) {
  return !(std::isinf(value) && value < 0);
}

class LiteralPrinter {
 public:
  LiteralPrinter(const CodeOptions& options, size_t& unnamed) : options_(options), unnamed_(unnamed) {}

  std::string print(const c10::IValue& value) {
    if (auto text = scalar(value)) return *text;
    if (!options_.constants || options_.literal_containers) {
      if (auto text = container(value)) return *text;
    }
    if (!options_.constants) return "CONSTANTS.c" + std::to_string(unnamed_++);
    return "CONSTANTS.c" + std::to_string(options_.constants->number(value));
  }

 private:
  std::optional<std::string> scalar(const c10::IValue& value) const {
    if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) return "None";
    if (value.isBool()) return value.toBool() ? "True" : "False";
    if (value.isInt()) return std::to_string(value.toInt());
    if (value.isDouble()) {
      if (!options_.constants || hasFloatLiteral(value.toDouble())) return floatLiteral(value.toDouble());
      return std::nullopt;
    }
    if (value.isString()) return quoteString(value.toStringRef());
    if (value.isDevice()) return "torch.device(" + quoteString(value.toDevice().str()) + ")";
    if (value.isEnum()) {
      const auto& holder = *value.toEnumHolder();
      CodeNames plain;
      CodeNames& names = options_.names ? *options_.names : plain;
      return names.ofType(holder.type()) + "." + holder.name();
    }
    if (value.isComplexDouble()) {
      const auto z = value.toComplexDouble();
      // -0. as a real part would be lost.
      const bool imaginary = z.real() == 0 && !std::signbit(z.real()) && !std::signbit(z.imag());
      if (imaginary) return floatLiteral(z.imag()) + "j";
    }
    return std::nullopt;
  }

  /// For people: what is made anew wherever it stands.
  std::optional<std::string> container(const c10::IValue& value) {
    auto join = [&](const auto& items) {
      std::string text;
      for (const c10::IValue& item : items) text += (text.empty() ? "" : ", ") + print(item);
      return text;
    };
    if (value.isDouble()) return floatLiteral(value.toDouble());
    if (value.isComplexDouble()) {
      const auto z = value.toComplexDouble();
      return "complex(" + floatLiteral(z.real()) + ", " + floatLiteral(z.imag()) + ")";
    }
    if (value.isList()) {
      const auto items = value.toListRef();
      return items.empty() ? "annotate(" + value.type()->annotation_str() + ", [])" : "[" + join(items) + "]";
    }
    if (value.isTuple()) {
      const auto& items = value.toTupleRef().elements();
      const std::string text = join(items);
      const auto type = value.type()->cast<c10::TupleType>();
      if (type && type->name()) return type->name()->qualifiedName() + "(" + text + ")";
      return "(" + text + (items.size() == 1 ? ",)" : ")");
    }
    if (value.isGenericDict() && !value.toGenericDict().empty()) {
      std::string text;
      for (const auto& entry : value.toGenericDict())
        text += (text.empty() ? "" : ", ") + print(entry.key()) + ": " + print(entry.value());
      return "{" + text + "}";
    }
    return std::nullopt;
  }

  const CodeOptions& options_;
  size_t& unnamed_;
};

}  // namespace

size_t CodeConstants::number(const c10::IValue& value) {
  const void* identity = nullptr;
  if (value.isTensor()) {
    identity = value.toTensor().unsafeGetTensorImpl();
  } else if (value.isPtrType()) {
    identity = value.internalToPointer();
  }
  if (identity) {
    const auto [it, fresh] = known_.emplace(identity, values.size());
    if (!fresh) return it->second;
  }
  values.push_back(value);
  return values.size() - 1;
}

std::string printConstant(const c10::IValue& value, const CodeOptions& options) {
  size_t unnamed = 0;
  return printConstant(value, options, unnamed);
}

std::string printConstant(const c10::IValue& value, const CodeOptions& options, size_t& unnamed) {
  return LiteralPrinter(options, unnamed).print(value);
}

}  // namespace cresset
