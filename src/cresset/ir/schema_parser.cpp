// Function schemas: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
//
// What comes out compares equal to what the dispatcher holds for the same text: real types (SymInt, ScalarType) beside
// erased ones (int), sizes of lists, alias sets with the containers' own.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include "cresset/ir/literal.h"
#include "cresset/ir/messages.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/type_parser.h"
#include "cresset/support/error.h"
#include "cresset/support/lexer.h"

namespace cresset {

using c10::TypeKind;

namespace {

class SchemaParser {
 public:
  SchemaParser(IrScanner& scanner, const TypeResolver& types) : scanner_(scanner), types_(scanner, types, true, true) {}

  c10::OperatorName parseName() {
    std::string name = std::string(scanner_.text(scanner_.expect(IrToken::Name)));
    while (scanner_.nextIf(IrToken::Scope)) {
      name.append("::").append(scanner_.text(scanner_.expect(IrToken::Name)));
    }
    // Names of operators have no '.', so the first one begins the overload; a function's own name keeps them.
    std::string overload;
    size_t scope = name.rfind("::");
    size_t dot = scope == std::string::npos ? std::string::npos : name.find('.', scope);
    if (dot != std::string::npos) {
      overload = name.substr(dot + 1);
      name.resize(dot);
    }
    return {std::move(name), std::move(overload)};
  }

  c10::FunctionSchema parse() {
    IrToken start = scanner_.cur();
    auto [name, overload] = parseName();
    std::vector<c10::Argument> arguments;
    bool is_vararg = false;
    bool keyword_only = false;
    bool had_default = false;
    scanner_.expect('(');
    parseListed([&] {
      if (is_vararg) scanner_.fail("... must be the last argument");
      if (scanner_.at('*')) {
        if (keyword_only) scanner_.fail("'*' stands twice");
        scanner_.next();
        keyword_only = true;
      } else if (scanner_.nextIf(IrToken::Dots)) {
        is_vararg = true;
      } else {
        IrToken at = scanner_.cur();
        arguments.push_back(parseArgument(keyword_only));
        bool has_default = arguments.back().default_value().has_value();
        if (had_default && !has_default && !keyword_only) {
          // c10 accepts that for arguments that write, for the sake of old out variants.
          if (!arguments.back().alias_info()) {
            scanner_.fail("argument '" + arguments.back().name() + "' without default follows one with a default", at);
          }
        }
        had_default |= has_default;
      }
    });
    std::vector<c10::Argument> returns;
    bool is_varret = false;
    scanner_.expect(IrToken::Arrow);
    auto parseOneReturn = [&] {
      if (is_varret) scanner_.fail("... must be the last return");
      if (scanner_.nextIf(IrToken::Dots)) {
        is_varret = true;
      } else {
        returns.push_back(parseReturn());
      }
    };
    if (scanner_.nextIf('(')) {
      parseListed(parseOneReturn);
    } else {
      parseOneReturn();
    }
    if (!scanner_.at(IrToken::End)) scanner_.reportExpected("the end of the schema");
    try {
      return c10::FunctionSchema(
          std::move(name), std::move(overload), std::move(arguments), std::move(returns), is_vararg, is_varret);
    } catch (const c10::Error& e) {
      scanner_.fail(e.what_without_backtrace(), start);
    }
  }

 private:
  template <typename F>
  void parseListed(F&& item) {  // after '('
    if (scanner_.nextIf(')')) return;
    do item();
    while (scanner_.nextIf(','));
    scanner_.expect(')');
  }

  /// A type with the "[2]" that only arguments have.
  ParsedType parseSized(std::optional<int32_t>& size) {
    ParsedType parsed = types_.parse();
    if (!scanner_.at('[')) return parsed;
    scanner_.next();
    IrToken token = scanner_.cur();
    NumberLiteral n = scanner_.at(IrToken::Number) ? parseNumber(scanner_) : NumberLiteral(0.);
    const auto* count = std::get_if<int64_t>(&n);
    if (!count || *count < 0 || *count > INT32_MAX) scanner_.fail("expected the length of the list", token);
    size = static_cast<int32_t>(*count);
    scanner_.expect(']');
    types_.wrapInList(parsed);
    if (scanner_.nextIf('?')) TypeParser::wrapInOptional(parsed);
    return parsed;
  }

  c10::Argument parseArgument(bool keyword_only) {
    std::optional<int32_t> size;
    ParsedType parsed = parseSized(size);
    std::string name(scanner_.text(scanner_.expect(IrToken::Name)));
    std::optional<c10::IValue> value;
    if (scanner_.nextIf('=')) value = parseDefault(parsed.real, size);
    return c10::Argument(
        std::move(name), parsed.type, parsed.real, size, std::move(value), keyword_only, std::move(parsed.alias));
  }

  c10::Argument parseReturn() {
    std::optional<int32_t> size;
    ParsedType parsed = parseSized(size);
    std::string name;
    if (scanner_.at(IrToken::Name)) name = scanner_.text(scanner_.next());
    return c10::Argument(std::move(name), parsed.type, parsed.real, size, std::nullopt, false, std::move(parsed.alias));
  }

  c10::IValue parseDefault(const TypePtr& type, std::optional<int32_t> size) {
    if (scanner_.nextIfName("None")) {
      // Schemas give None to plain tensors too ("Tensor weight=None"), which stands for an undefined one.
      TypeKind kind = type->kind();
      if (kind != TypeKind::OptionalType && kind != TypeKind::TensorType && kind != TypeKind::NoneType &&
          kind != TypeKind::GeneratorType && kind != TypeKind::AnyType) {
        scanner_.fail("None is no default for " + cresset::toString(*type));
      }
      return c10::IValue();
    }
    if (auto optional = type->cast<c10::OptionalType>()) {
      // The dispatcher holds what is written: "float? correction=1" has the int 1, "float p=1" the float 1.
      if (optional->getElementType()->kind() == TypeKind::FloatType && scanner_.at(IrToken::Number)) {
        return parseScalarDefault(c10::NumberType::get());
      }
      return parseDefault(optional->getElementType(), size);
    }
    if (auto list = type->cast<c10::ListType>()) {
      TypePtr element = list->getElementType();
      c10::impl::GenericList values(erasedElement(element));
      if (scanner_.nextIf('[')) {
        if (!scanner_.nextIf(']')) {
          do values.push_back(parseDefault(element, std::nullopt));
          while (scanner_.nextIf(','));
          scanner_.expect(']');
        }
      } else if (size) {
        // int[2] stride=1 means [1, 1].
        c10::IValue value = parseDefault(element, std::nullopt);
        for (int32_t i = 0; i < *size; ++i) values.push_back(value);
      } else {
        scanner_.reportExpected("a list");
      }
      return values;
    }
    return parseScalarDefault(type);
  }

  static TypePtr erasedElement(const TypePtr& type) {
    switch (type->kind()) {
      case TypeKind::SymIntType:
      case TypeKind::ScalarTypeType:
      case TypeKind::LayoutType:
      case TypeKind::MemoryFormatType:
        return c10::IntType::get();
      default:
        return type;
    }
  }

  c10::IValue parseScalarDefault(const TypePtr& type) {
    TypeKind kind = type->kind();
    IrToken start = scanner_.cur();
    auto refuse = [&]() -> c10::IValue { scanner_.fail("this is no default for " + cresset::toString(*type), start); };
    bool takes_float = kind == TypeKind::FloatType || kind == TypeKind::SymFloatType || kind == TypeKind::NumberType;
    bool takes_int = kind == TypeKind::IntType || kind == TypeKind::SymIntType || kind == TypeKind::NumberType ||
                     kind == TypeKind::ScalarTypeType || kind == TypeKind::LayoutType ||
                     kind == TypeKind::MemoryFormatType;
    if (scanner_.at(IrToken::String)) {
      std::string text = parseStringLiteral(scanner_.range(scanner_.next()));
      if (kind == TypeKind::StringType) return text;
      if (kind != TypeKind::DeviceObjType) return refuse();
      try {
        return c10::Device(text);
      } catch (const c10::Error&) {
        scanner_.fail(messages::noDevice(text), start);
      }
    }
    if (atNumber(scanner_)) {
      NumberLiteral number = parseNumber(scanner_);
      if (auto* i = std::get_if<int64_t>(&number)) {
        if (takes_int) return *i;
        if (takes_float) return static_cast<double>(*i);
        if (kind == TypeKind::ComplexType) return c10::complex<double>(static_cast<double>(*i), 0);
      } else if (auto* d = std::get_if<double>(&number)) {
        if (takes_float) return *d;
        if (kind == TypeKind::ComplexType) return c10::complex<double>(*d, 0);
      } else if (kind == TypeKind::ComplexType || kind == TypeKind::NumberType) {
        auto v = std::get<std::complex<double>>(number);
        return c10::complex<double>(v.real(), v.imag());
      }
      return refuse();
    }
    if (scanner_.at(IrToken::Name)) {
      std::string name(scanner_.text(scanner_.next()));
      if (name == "True" || name == "False") {
        if (kind == TypeKind::BoolType || kind == TypeKind::SymBoolType || kind == TypeKind::NumberType)
          return name == "True";
        return refuse();
      }
      if (takes_int) {
        if (auto value = namedInt(name)) return *value;
      }
      if (kind == TypeKind::DeviceObjType || kind == TypeKind::StringType) return refuse();
      scanner_.fail("unknown constant '" + name + "'", start);
    }
    scanner_.reportExpected("a default value");
  }

  /// The enumerators that schemas call by name; IValues hold them as ints.
  static std::optional<int64_t> namedInt(const std::string& name) {
    auto of = [](auto v) { return static_cast<int64_t>(v); };
    if (name == "Mean") return 1;  // at::Reduction::Mean
    if (name == "contiguous_format") return of(c10::MemoryFormat::Contiguous);
    if (name == "preserve_format") return of(c10::MemoryFormat::Preserve);
    if (name == "channels_last") return of(c10::MemoryFormat::ChannelsLast);
    if (name == "channels_last_3d") return of(c10::MemoryFormat::ChannelsLast3d);
    if (name == "strided") return of(c10::Layout::Strided);
    if (name == "sparse_coo") return of(c10::Layout::Sparse);
    if (name == "bool") return of(c10::ScalarType::Bool);
    if (name == "uint8") return of(c10::ScalarType::Byte);
    if (name == "int8") return of(c10::ScalarType::Char);
    if (name == "short" || name == "int16") return of(c10::ScalarType::Short);
    if (name == "int" || name == "int32") return of(c10::ScalarType::Int);
    if (name == "long" || name == "int64") return of(c10::ScalarType::Long);
    if (name == "half" || name == "float16") return of(c10::ScalarType::Half);
    if (name == "bfloat16") return of(c10::ScalarType::BFloat16);
    if (name == "float" || name == "float32") return of(c10::ScalarType::Float);
    if (name == "double" || name == "float64") return of(c10::ScalarType::Double);
    return std::nullopt;
  }

  IrScanner& scanner_;
  TypeParser types_;
};

}  // namespace

c10::FunctionSchema parseSchema(const std::string& text, const TypeResolver& types) {
  IrScanner scanner(std::make_shared<Source>(text, "<schema>"));
  return SchemaParser(scanner, types).parse();
}

std::variant<c10::OperatorName, c10::FunctionSchema> parseSchemaOrName(
    const std::string& text, const TypeResolver& types) {
  if (text.find('(') != std::string::npos) return parseSchema(text, types);
  return parseName(text);
}

c10::OperatorName parseName(const std::string& text) {
  IrScanner scanner(std::make_shared<Source>(text, "<name>"));
  auto name = SchemaParser(scanner, {}).parseName();
  if (!scanner.at(IrToken::End)) scanner.reportExpected("the end of the name");
  return name;
}

}  // namespace cresset
