// Types as IR text and schemas write them.
//
// One grammar serves both. A base type, a constructor with arguments, a tuple or a class name is followed by any number
// of "[]" and "?". Alias annotations stand where schemas allow them: after a base type and after each "[]".
#include "cresset/ir/type_parser.h"

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "cresset/ir/literal.h"
#include "cresset/ir/messages.h"
#include "cresset/support/error.h"

namespace torch {
// Defined by libtorch_cpu; the header that declares it drags in the registration machinery.
TORCH_API c10::ClassTypePtr getCustomClass(const std::string& class_name);  // NOLINT(misc-use-internal-linkage)
}  // namespace torch

namespace cresset {

namespace {

/// c10 makes a type that can't be printed of Scalar??, and refuses NoneType?.
TypePtr optionalOf(const TypePtr& type) {
  const bool holds_none = type->kind() == c10::TypeKind::OptionalType || type->kind() == c10::TypeKind::NoneType;
  return holds_none ? type : TypePtr(c10::OptionalType::create(type));
}

const std::unordered_map<std::string_view, TypePtr>& baseTypes() {
  static const std::unordered_map<std::string_view, TypePtr> types = {
      {"Any", c10::AnyType::get()},
      {"AnyClassType", c10::AnyClassType::get()},
      {"AnyEnumType", c10::AnyEnumType::get()},
      {"AnyListType", c10::AnyListType::get()},
      {"AnyTupleType", c10::AnyTupleType::get()},
      {"Capsule", c10::CapsuleType::get()},
      {"ConstQuantizerPtr", c10::IntType::get()},
      {"Device", c10::DeviceObjType::get()},
      {"DeviceIndex", c10::IntType::get()},
      {"Dimname", c10::StringType::get()},
      {"Dynamic", c10::TensorType::get()},  // TorchScript's first name for Tensor
      {"Generator", c10::GeneratorType::get()},
      {"Layout", c10::LayoutType::get()},
      {"MemoryFormat", c10::MemoryFormatType::get()},
      {"None", c10::NoneType::get()},
      {"NoneType", c10::NoneType::get()},
      {"PyObject", c10::PyObjectType::get()},
      {"QScheme", c10::QSchemeType::get()},
      {"Quantizer", c10::QuantizerType::get()},
      {"Scalar", c10::NumberType::get()},
      {"ScalarType", c10::ScalarTypeType::get()},
      {"Storage", c10::StorageType::get()},
      {"Stream", c10::StreamObjType::get()},
      {"SymBool", c10::SymBoolType::get()},
      {"SymFloat", c10::SymFloatType::get()},
      {"SymInt", c10::SymIntType::get()},
      {"Tensor", c10::TensorType::get()},
      {"bool", c10::BoolType::get()},
      {"complex", c10::ComplexType::get()},
      {"float", c10::FloatType::get()},
      {"int", c10::IntType::get()},
      {"list", c10::AnyListType::get()},
      {"number", c10::NumberType::get()},
      {"str", c10::StringType::get()},
      {"tuple", c10::AnyTupleType::get()},
  };
  return types;
}

/// The dtype that a tensor type such as Float(2, 3) names.
std::optional<c10::ScalarType> dtypeOf(std::string_view name) {
  static const auto dtypes = [] {
    std::unordered_map<std::string_view, c10::ScalarType> map;
    for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
      auto dtype = static_cast<c10::ScalarType>(i);
      if (dtype != c10::ScalarType::Undefined) map.emplace(c10::toString(dtype), dtype);
    }
    return map;
  }();
  auto found = dtypes.find(name);
  return found == dtypes.end() ? std::nullopt : std::optional(found->second);
}

/// What a type is to programs: schemas tell some kinds of int apart that programs don't.
TypePtr erased(const TypePtr& real) {
  switch (real->kind()) {
    case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::MemoryFormatType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::SymIntType:
      return c10::IntType::get();
    default:
      return real;
  }
}

}  // namespace

int64_t TypeParser::parseInt(const char* what) {
  bool negative = scanner_.nextIf('-');
  if (!scanner_.at(IrToken::Number)) scanner_.reportExpected(what);
  IrToken token = scanner_.next();
  std::string digits = (negative ? "-" : "") + std::string(scanner_.text(token));
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    scanner_.fail(std::string("expected ") + what + ", a whole number of 64 bits", token);
  }
  return value;
}

std::optional<c10::AliasInfo> TypeParser::parseAlias() {
  if (!in_schema_ || !scanner_.at('(')) return std::nullopt;
  scanner_.next();
  auto parseSets = [&] {
    std::vector<Symbol> sets;
    do {
      if (scanner_.nextIf('*')) {
        sets.push_back(c10::AliasInfo::wildcardSet());
      } else {
        sets.push_back(Symbol::fromQualString("alias::" + std::string(scanner_.text(scanner_.expect(IrToken::Name)))));
      }
    } while (scanner_.nextIf('|'));
    // The wildcard includes all sets, so that naming others says nothing.
    auto wildcard = std::find(sets.begin(), sets.end(), c10::AliasInfo::wildcardSet());
    if (wildcard != sets.end()) sets = {c10::AliasInfo::wildcardSet()};
    // c10 prints small sets in the reverse of the order in which they grew.
    std::reverse(sets.begin(), sets.end());
    return sets;
  };
  c10::AliasInfo info;
  std::vector<Symbol> before = parseSets();
  for (Symbol set : before) info.addBeforeSet(set);
  info.setIsWrite(scanner_.nextIf('!'));
  for (Symbol set : scanner_.nextIf(IrToken::Arrow) ? parseSets() : before) info.addAfterSet(set);
  scanner_.expect(')');
  return info;
}

void TypeParser::wrapInList(ParsedType& inner) {
  bool same = inner.type == inner.real;
  inner.type = c10::ListType::create(inner.type);
  inner.real = same ? inner.type : c10::ListType::create(inner.real);
  auto container = parseAlias();
  if (inner.alias) {
    if (!container) {
      container.emplace();
      container->setIsWrite(inner.alias->isWrite());
    }
    container->addContainedType(std::move(*inner.alias));
  }
  inner.alias = std::move(container);
}

void TypeParser::wrapInOptional(ParsedType& inner) {
  bool same = inner.type == inner.real;
  inner.type = optionalOf(inner.type);
  inner.real = same ? inner.type : optionalOf(inner.real);
}

ParsedType TypeParser::parse() {
  if (++depth_ > kMaxNesting) scanner_.fail(messages::nestTooDeep("types", kMaxNesting));
  ParsedType result = parseAtom();
  for (int suffixes = 0;; ++suffixes) {
    if (suffixes > kMaxNesting) scanner_.fail(messages::nestTooDeep("types", kMaxNesting));
    if (scanner_.at('[') && scanner_.lookahead() == ']') {
      scanner_.next();
      scanner_.next();
      wrapInList(result);
    } else if (scanner_.nextIf('?')) {
      wrapInOptional(result);
    } else {
      break;
    }
  }
  --depth_;
  return result;
}

ParsedType TypeParser::parseAtom() {
  auto plain = [](const TypePtr& type, std::optional<c10::AliasInfo> alias = std::nullopt) {
    return ParsedType{type, type, std::move(alias)};
  };
  if (scanner_.at('(')) return plain(parseTuple());
  if (!scanner_.at(IrToken::Name)) scanner_.reportExpected("a type");
  IrToken token = scanner_.next();
  std::string_view name = scanner_.text(token);
  bool has_arguments = scanner_.at('(') || scanner_.at('[');

  if (name == "Future" && has_arguments) return plain(c10::FutureType::create(parseBracketed()));
  if (name == "RRef" && has_arguments) return plain(c10::RRefType::create(parseBracketed()));
  if (name == "Await" && has_arguments) return plain(c10::AwaitType::create(parseBracketed()));
  if (name == "Optional" && has_arguments) return plain(optionalOf(parseBracketed()));
  if (name == "List" && has_arguments) return plain(c10::ListType::create(parseBracketed()), parseAlias());
  if (name == "Tuple" && has_arguments) return plain(c10::TupleType::create(parseListed()));
  if (name == "Dict" && has_arguments) {
    IrToken open = scanner_.cur();
    auto types = parseListed();
    if (types.size() != 2) scanner_.fail("Dict has two type arguments, key and value", open);
    try {
      return plain(c10::DictType::create(types[0], types[1]), parseAlias());
    } catch (const Error&) {
      throw;
    } catch (const c10::Error&) {
      scanner_.fail("'" + types[0]->repr_str() + "' can't be the key type of a Dict", open);
    }
  }
  if (name == "Union" && has_arguments) {
    IrToken open = scanner_.cur();
    auto types = parseListed();
    if (types.empty()) scanner_.fail("Union needs types", open);
    if (types.size() == 1) return plain(types[0], parseAlias());
    c10::TypePtr type;
    try {
      type = c10::UnionType::create(std::move(types));
    } catch (const c10::Error&) {
      scanner_.fail("a Union needs types of which none holds all the others", open);
    }
    return plain(type, parseAlias());
  }
  if (name == "NamedTuple" && has_arguments) return plain(parseNamedTuple());
  if (name == "Enum" && scanner_.nextIf('<')) {
    IrToken inner = scanner_.expect(IrToken::Name);
    scanner_.expect('>');
    TypePtr type = parseClass(inner);
    if (type->kind() != c10::TypeKind::EnumType)
      scanner_.fail("'" + std::string(scanner_.text(inner)) + "' is no enum", inner);
    return plain(type);
  }
  if (name == "Function") {
    scanner_.fail("the type Function stands only at constants: %f : Function = prim::Constant[name=\"f\"]()", token);
  }
  if (name == "Tensor" && !in_schema_) return plain(parseTensor(token));
  // Float(2, 3), Float() and FloatTensor; a schema's Float would be a class of the user's.
  if (!in_schema_) {
    std::string_view stem = name;
    if (stem.size() > 6 && stem.ends_with("Tensor")) stem.remove_suffix(6);
    if (dtypeOf(stem) && (stem.size() != name.size() || scanner_.at('('))) return plain(parseTensor(token));
  }
  const auto& known = baseTypes();
  if (auto found = known.find(name); found != known.end()) {
    TypePtr type = erased(found->second);
    // Only schemas tell SymInt from int.
    return {type, in_schema_ ? found->second : type, parseAlias()};
  }
  if (name.find('.') == std::string_view::npos && name[0] >= 'a' && name[0] <= 'z' && allow_variables_) {
    TypePtr type = c10::VarType::create(std::string(name));
    return plain(type, parseAlias());
  }
  return plain(parseClass(token), parseAlias());
}

TypePtr TypeParser::parseBracketed() {
  IrToken open = scanner_.next();
  TypePtr inner = parseType();
  scanner_.expect(open.kind == '(' ? ')' : ']');
  return inner;
}

std::vector<TypePtr> TypeParser::parseListed() {
  int close = scanner_.next().kind == '(' ? ')' : ']';
  std::vector<TypePtr> types;
  if (scanner_.nextIf(close)) return types;
  do {
    types.push_back(parseType());
  } while (scanner_.nextIf(','));
  scanner_.expect(close);
  return types;
}

TypePtr TypeParser::parseTuple() {
  return c10::TupleType::create(parseListed());
}

/// NamedTuple[__torch__.Point](x : int, y : float = 1.), the name being optional.
TypePtr TypeParser::parseNamedTuple() {
  std::optional<c10::QualifiedName> name;
  IrToken token = scanner_.cur();
  if (scanner_.nextIf('[')) {
    name.emplace(std::string(scanner_.text(scanner_.expect(IrToken::Name))));
    scanner_.expect(']');
  }
  std::vector<std::string> names;
  std::vector<TypePtr> types;
  std::vector<c10::IValue> defaults;
  scanner_.expect('(');
  if (!scanner_.nextIf(')')) {
    do {
      IrToken field = scanner_.expect(IrToken::Name);
      names.emplace_back(scanner_.text(field));
      scanner_.expect(':');
      types.push_back(parseType());
      if (scanner_.nextIf('=')) {
        defaults.push_back(parseConstantText(scanner_, types.back(), nullptr));
      } else if (!defaults.empty()) {
        scanner_.fail("a field without default follows one with a default", field);
      }
    } while (scanner_.nextIf(','));
    scanner_.expect(')');
  }
  if (name && types_) {
    // The program's own type, so that it is the same object as in the program's signatures.
    TypePtr known = types_(name->qualifiedName());
    if (known && known->kind() == c10::TypeKind::TupleType) return known;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::find(names.begin(), names.begin() + static_cast<ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<ptrdiff_t>(i)) {
      scanner_.fail("two fields are called '" + names[i] + "'", token);
    }
  }
  return defaults.empty() ? c10::TupleType::createNamed(name, names, types)
                          : c10::TupleType::createNamed(name, names, types, defaults);
}

/// After "Tensor", "Float" or "FloatTensor": (2, *, strides=[4, 1], requires_grad=0, device=cpu) and [Undefined]. A
/// type that says nothing but "Tensor" is the general one.
TypePtr TypeParser::parseTensor(const IrToken& token) {
  std::string_view name = scanner_.text(token);
  std::optional<c10::ScalarType> dtype;
  bool has_rank = false;
  if (name != "Tensor") {
    bool ranked = !name.ends_with("Tensor");
    dtype = dtypeOf(ranked ? name : name.substr(0, name.size() - 6));
    has_rank = ranked;
  }
  std::vector<c10::ShapeSymbol> sizes;
  std::optional<std::vector<std::optional<int64_t>>> strides;
  std::optional<bool> requires_grad;
  std::optional<c10::Device> device;
  bool all_sizes_known = true;
  bool parenthesized = scanner_.nextIf('(');
  // c10 sorts strides in quadratic time; its kernels take no more dimensions than this.
  constexpr size_t kMaxDims = 64;
  auto parseDim = [&]() -> std::optional<int64_t> {
    if (scanner_.nextIf('*')) return std::nullopt;
    IrToken at = scanner_.cur();
    int64_t size = parseInt("a size or '*'");
    if (size < 0) scanner_.fail("sizes and strides are not negative", at);
    return size;
  };
  bool in_options = false;
  if (parenthesized && !scanner_.nextIf(')')) {
    do {
      const bool is_symbol = scanner_.at(IrToken::Name) && scanner_.text(scanner_.cur()) == "SS";
      if (!scanner_.at(IrToken::Name) || is_symbol) {
        if (in_options) scanner_.fail("sizes come first");
        has_rank = true;
        // SS(-2): the size that all have of which the symbol -2 says it.
        std::optional<int64_t> symbol;
        if (is_symbol) {
          scanner_.next();
          scanner_.expect('(');
          const IrToken at = scanner_.cur();
          symbol = parseInt("a symbol, which is negative");
          if (*symbol >= 0) scanner_.fail("symbols of sizes are negative", at);
          scanner_.expect(')');
        }
        std::optional<int64_t> size = is_symbol ? std::nullopt : parseDim();
        all_sizes_known &= size.has_value();
        if (sizes.size() == kMaxDims) scanner_.fail("a tensor has at most " + std::to_string(kMaxDims) + " dimensions");
        if (symbol)
          sizes.push_back(c10::ShapeSymbol::fromStaticSize(*symbol));
        else
          sizes.push_back(size ? c10::ShapeSymbol::fromStaticSize(*size) : c10::ShapeSymbol::newSymbol());
        continue;
      }
      in_options = true;
      IrToken option = scanner_.next();
      std::string_view key = scanner_.text(option);
      scanner_.expect('=');
      if (key == "strides") {
        strides.emplace();
        scanner_.expect('[');
        if (!scanner_.nextIf(']')) {
          do strides->push_back(parseDim());
          while (scanner_.nextIf(','));
          scanner_.expect(']');
        }
        if (strides->size() != sizes.size()) scanner_.fail("there must be as many strides as sizes", option);
      } else if (key == "requires_grad") {
        requires_grad = parseInt("0 or 1") != 0;
      } else if (key == "device") {
        IrToken kind = scanner_.expect(IrToken::Name);
        std::string spelled(scanner_.text(kind));
        if (scanner_.nextIf(':')) spelled += ":" + std::to_string(parseInt("a device index"));
        try {
          device = c10::Device(spelled);
        } catch (const c10::Error&) {
          scanner_.fail(messages::noDevice(spelled), kind);
        }
      } else {
        scanner_.fail("unknown property of a tensor type: '" + std::string(key) + "'", option);
      }
    } while (scanner_.nextIf(','));
    scanner_.expect(')');
  }
  std::optional<bool> undefined;
  if (dtype || has_rank) undefined = false;
  if (scanner_.at('[') && scanner_.lookahead() == IrToken::Name) {
    scanner_.next();
    scanner_.expectName("Undefined");
    scanner_.expect(']');
    undefined = true;
  }
  if (!dtype && !has_rank && !requires_grad && !device && !undefined) return c10::TensorType::get();
  c10::SymbolicShape shape = has_rank ? c10::SymbolicShape(sizes) : c10::SymbolicShape();
  c10::VaryingShape<c10::Stride> stride_properties =
      has_rank ? c10::VaryingShape<c10::Stride>(sizes.size()) : c10::VaryingShape<c10::Stride>();
  if (strides) {
    std::vector<int64_t> known_sizes, known_strides;
    for (const auto& size : sizes)
      if (size.is_static()) known_sizes.push_back(size.static_size());
    for (const auto& stride : *strides)
      if (stride) known_strides.push_back(*stride);
    if (all_sizes_known && known_strides.size() == sizes.size()) {
      return c10::TensorType::create(
          dtype, device, c10::VaryingShape<int64_t>(known_sizes), c10::VaryingShape<int64_t>(known_strides),
          requires_grad, undefined);
    }
    // Without all sizes, which stride is the innermost and what is contiguous isn't known.
    std::vector<std::optional<c10::Stride>> properties;
    for (size_t i = 0; i < strides->size(); ++i) {
      const auto& stride = (*strides)[i];
      properties.push_back(
          stride ? std::optional(c10::Stride(i, std::nullopt, static_cast<size_t>(*stride))) : std::nullopt);
    }
    stride_properties = c10::VaryingShape<c10::Stride>(std::move(properties));
  }
  return c10::TensorType::create(
      dtype, device, std::move(shape), std::move(stride_properties), requires_grad, undefined);
}

TypePtr TypeParser::parseClass(const IrToken& token) {
  std::string name(scanner_.text(token));
  if (types_) {
    if (TypePtr type = types_(name)) return type;
  }
  if (name.starts_with("__torch__.torch.classes.")) {
    if (auto type = torch::getCustomClass(name)) return type;
  }
  scanner_.fail("unknown type '" + name + "'", token);
}

TypePtr parseType(const std::string& text, const TypeResolver& types, bool allow_type_variables) {
  IrScanner scanner(std::make_shared<Source>(text, "<type>"));
  TypePtr type = TypeParser(scanner, types, allow_type_variables, false).parseType();
  if (!scanner.at(IrToken::End)) scanner.reportExpected("the end of the type");
  return type;
}

}  // namespace cresset
