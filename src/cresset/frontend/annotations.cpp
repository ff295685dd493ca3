// Annotations to types. Names mean, in this order: TorchScript's own types, what the resolver knows, types of the
// program by qualified name, C++ classes by qualified name.
#include <ATen/core/class_type.h>
#include <torch/custom_class_detail.h>

#include <functional>
#include <string_view>
#include <unordered_map>

#include "cresset/frontend/annotations.h"
#include "cresset/frontend/calls.h"
#include "cresset/frontend/compiler.h"
#include "cresset/frontend/messages.h"
#include "cresset/frontend/tuple_sizes.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

using Arguments = std::vector<TypePtr>;

const std::unordered_map<std::string_view, TypePtr>& namedTypes() {
  using namespace c10;
  static const auto* types = new std::unordered_map<std::string_view, TypePtr>{
      {"Tensor", TensorType::get()},
      {"torch.Tensor", TensorType::get()},
      {"torch.nn.Parameter", TensorType::get()},
      {"torch.FloatTensor", TensorType::get()},
      {"torch.DoubleTensor", TensorType::get()},
      {"torch.HalfTensor", TensorType::get()},
      {"torch.BFloat16Tensor", TensorType::get()},
      {"torch.ByteTensor", TensorType::get()},
      {"torch.CharTensor", TensorType::get()},
      {"torch.ShortTensor", TensorType::get()},
      {"torch.IntTensor", TensorType::get()},
      {"torch.LongTensor", TensorType::get()},
      {"torch.BoolTensor", TensorType::get()},
      {"int", IntType::get()},
      {"float", FloatType::get()},
      {"bool", BoolType::get()},
      {"complex", ComplexType::get()},
      {"str", StringType::get()},
      {"number", NumberType::get()},
      {"Scalar", NumberType::get()},
      {"None", NoneType::get()},
      {"NoneType", NoneType::get()},
      {"Any", AnyType::get()},
      {"typing.Any", AnyType::get()},
      {"object", AnyType::get()},
      {"list", AnyListType::get()},
      {"tuple", AnyTupleType::get()},
      {"Device", DeviceObjType::get()},
      {"torch.device", DeviceObjType::get()},
      {"Stream", StreamObjType::get()},
      {"torch.Stream", StreamObjType::get()},
      {"Generator", GeneratorType::get()},
      {"torch.Generator", GeneratorType::get()},
      {"torch._C.Generator", GeneratorType::get()},
      {"Storage", StorageType::get()},
      {"Capsule", CapsuleType::get()},
      {"torch.dtype", IntType::get()},
      {"torch.layout", IntType::get()},
      {"torch.memory_format", IntType::get()},
      {"torch.qscheme", IntType::get()},
      {"torch.Size", ListType::ofInts()}};
  return *types;
}

struct Constructor {
  std::string_view name;
  size_t arity;  // 0: any number
  TypePtr (*make)(const Arguments&);
};

TypePtr makeUnion(const Arguments& types) {
  if (types.size() == 1) return types[0];
  const TypePtr none = c10::NoneType::get();
  if (types.size() == 2 && (*types[0] == *none || *types[1] == *none)) {
    const TypePtr& other = *types[0] == *none ? types[1] : types[0];
    // Of a Union it is the Union with None: types have one form.
    if (other->kind() != c10::TypeKind::UnionType)
      return *other == *none ? none : TypePtr(c10::OptionalType::create(other));
  }
  try {
    return c10::UnionType::create(types);
  } catch (const c10::Error&) {  // its message calls this a bug of PyTorch's
    throw UserError("Union expected types of which none holds all the others");
  }
}

constexpr Constructor kConstructors[] = {
    {"List", 1, [](const Arguments& a) -> TypePtr { return c10::ListType::create(a[0]); }},
    {"list", 1, [](const Arguments& a) -> TypePtr { return c10::ListType::create(a[0]); }},
    {"Dict", 2, [](const Arguments& a) -> TypePtr { return c10::DictType::create(a[0], a[1]); }},
    {"dict", 2, [](const Arguments& a) -> TypePtr { return c10::DictType::create(a[0], a[1]); }},
    {"Tuple", 0, [](const Arguments& a) -> TypePtr { return c10::TupleType::create(a); }},
    {"tuple", 0, [](const Arguments& a) -> TypePtr { return c10::TupleType::create(a); }},
    {"Optional", 1,
     [](const Arguments& a) -> TypePtr {
       if (a[0]->kind() == c10::TypeKind::UnionType) return makeUnion({a[0], c10::NoneType::get()});
       return c10::OptionalType::create(a[0]);
     }},
    {"Union", 0, makeUnion},
    {"Future", 1, [](const Arguments& a) -> TypePtr { return c10::FutureType::create(a[0]); }},
    {"RRef", 1, [](const Arguments& a) -> TypePtr { return c10::RRefType::create(a[0]); }},
    {"Await", 1, [](const Arguments& a) -> TypePtr { return c10::AwaitType::create(a[0]); }},
    {"_Await", 1, [](const Arguments& a) -> TypePtr { return c10::AwaitType::create(a[0]); }},
    {"Final", 1, [](const Arguments& a) -> TypePtr { return a[0]; }},
};

/// `name` without a module from which constructors are imported: typing.List -> List.
std::string_view withoutModule(std::string_view name) {
  static constexpr std::string_view kModules[] = {
      "typing.", "torch.jit.", "torch.futures.", "torch.distributed.rpc.", "torch._awaits.", "torch.", "t."};
  for (std::string_view module : kModules) {
    if (name.starts_with(module)) return name.substr(module.size());
  }
  return name;
}

const Constructor* findConstructor(std::string_view name) {
  name = withoutModule(name);
  for (const Constructor& constructor : kConstructors) {
    if (constructor.name == name) return &constructor;
  }
  return nullptr;
}

/// What to write instead of a constructor that Python has and TorchScript has not.
std::string hintFor(std::string_view name) {
  if (name == "Callable") return ": functions can't be passed as values";
  for (std::string_view sequence :
       {"Sequence", "Iterable", "Iterator", "Collection", "MutableSequence", "Set", "set", "frozenset", "FrozenSet",
        "Deque", "deque"}) {
    if (name == sequence) return ": write List";
  }
  if (name == "Mapping" || name == "MutableMapping" || name == "DefaultDict" || name == "OrderedDict")
    return ": write Dict";
  if (name == "Literal") return ": write the type of the values";
  return "";
}

/// c10 refuses some types (keys of a Dict, unions of one type) with errors of its own.
TypePtr construct(const Constructor& constructor, const Arguments& arguments, const SourceRange& range) {
  if (constructor.arity && arguments.size() != constructor.arity) {
    const std::string expected = constructor.arity == 1 ? "exactly one element type" : "exactly 2 element types";
    throw UserError(
        std::string(constructor.name) + " expected " + expected + " but found " + std::to_string(arguments.size()),
        range);
  }
  try {
    return constructor.make(arguments);
  } catch (const UserError& error) {
    throw UserError(error.message(), range);
  } catch (const c10::Error& error) {
    throw UserError(error.msg(), range);
  }
}

class AnnotationReader {
 public:
  AnnotationReader(Program& program, const ResolverPtr& resolver) : program_(program), resolver_(resolver) {}

  TypePtr read(const Expr& expr) {
    switch (expr.kind()) {
      case TK_NONE:
        return c10::NoneType::get();
      case TK_STRINGLITERAL:
        return readString(StringLiteral(expr.tree()));
      case TK_VAR:
      case '.':
        return readName(expr);
      case TK_SUBSCRIPT:
        return readConstructor(Subscript(expr.tree()));
      case '|':
        return readUnion(expr);
      case TK_ELLIPSIS:
        throw UserError(messages::tupleOfAnyLength(), expr.range());
      default:
        throw UserError(
            "Expression of type " + tokenName(expr.kind()) + " cannot be used in a type expression", expr.range());
    }
  }

 private:
  TypePtr readString(const StringLiteral& literal) {
    auto source = std::make_shared<Source>(literal.text(), "annotation");
    try {
      return read(SourceParser(std::move(source)).parseType());
    } catch (const UserError& error) {
      throw UserError(error.message(), literal.range());  // the place in the program, not in the string
    }
  }

  TypePtr readUnion(const Expr& expr) {
    // A chain of `|` nests to the left.
    Arguments types;
    Expr rest = expr;
    while (rest.kind() == '|') {
      types.insert(types.begin(), read(BinOp(rest.tree()).rhs()));
      rest = BinOp(rest.tree()).lhs();
    }
    types.insert(types.begin(), read(rest));
    static constexpr Constructor kUnion{"Union", 0, makeUnion};
    return construct(kUnion, types, expr.range());
  }

  TypePtr readName(const Expr& expr) {
    const std::string name = dottedName(expr);
    if (name.empty()) throw UserError("a type expression may select from names only", expr.range());
    const bool shadows = resolver_ && resolver_->shadowsTypes();
    if (shadows) {
      if (auto type = resolver_->resolveType(name, expr.range())) return type;
    }
    if (auto it = namedTypes().find(name); it != namedTypes().end()) return it->second;
    if (resolver_ && !shadows) {
      if (auto type = resolver_->resolveType(name, expr.range())) return type;
    }
    if (auto type = program_.findType(c10::QualifiedName(name))) return type;
    if (name.starts_with("__torch__.torch.classes.") || name.starts_with("torch.classes.")) {
      if (auto type = torch::getCustomClass(name.starts_with("torch.") ? "__torch__." + name : name)) return type;
    }
    if (findConstructor(name)) {
      const std::string base(withoutModule(name));
      const bool two = base == "Dict" || base == "dict";
      throw UserError(
          "Attempted to use " + base +
              (two ? " without contained types. Please add contained type, e.g. " + base + "[int, int]"
                   : " without a contained type. Please add a contained type, e.g. " + base + "[int]"),
          expr.range());
    }
    if (withoutModule(name) == "Callable") {
      throw UserError("Unknown type name 'Callable': functions can't be passed as values", expr.range());
    }
    throw UserError("Unknown type name '" + name + "'", expr.range());
  }

  TypePtr readConstructor(const Subscript& expr) {
    if (auto broadcasting = broadcastingList(expr, [this](const Expr& e) { return read(e); }))
      return broadcasting->first;
    std::string name = dottedName(expr.value());
    if (resolver_ && !name.empty()) {
      if (std::string known = resolver_->resolveConstructor(name); !known.empty()) name = std::move(known);
    }
    if (name.empty()) throw UserError("Subscripted type must be a type identifier", expr.range());
    const Constructor* constructor = findConstructor(name);
    if (!constructor) {
      throw UserError(messages::unknownType(name) + hintFor(withoutModule(name)), expr.range());
    }
    Arguments arguments;
    for (const Expr& argument : typeArguments(expr)) arguments.push_back(read(argument));
    return construct(*constructor, arguments, expr.range());
  }

  Program& program_;
  const ResolverPtr& resolver_;
};

}  // namespace

std::string dottedName(const Expr& expr) {
  std::string name;
  Expr rest = expr;
  while (rest.kind() == '.') {
    const Select select(rest.tree());
    name = "." + select.selector().name() + name;
    rest = select.value();
  }
  return rest.kind() == TK_VAR ? Var(rest.tree()).name() + name : "";
}

std::vector<Expr> typeArguments(const Subscript& expr) {
  std::vector<Expr> arguments;
  for (const Expr index : expr.indices()) {
    // Tuple[()] has the empty tuple for its index.
    if (index.kind() == TK_TUPLE_LITERAL) {
      for (const Expr element : SequenceLiteral(index.tree()).elements()) arguments.push_back(element);
    } else {
      arguments.push_back(index);
    }
  }
  return arguments;
}

bool isFinal(const Expr& annotation) {
  const Expr name = annotation.kind() == TK_SUBSCRIPT ? Subscript(annotation.tree()).value() : annotation;
  return withoutModule(dottedName(name)) == "Final";
}

std::optional<std::pair<TypePtr, int32_t>> broadcastingList(
    const Expr& annotation, const std::function<TypePtr(const Expr&)>& read) {
  constexpr std::string_view kPrefix = "BroadcastingList";
  if (annotation.kind() == '|' && BinOp(annotation.tree()).rhs().kind() == TK_NONE) {
    auto found = broadcastingList(BinOp(annotation.tree()).lhs(), read);
    if (found) found->first = c10::OptionalType::create(found->first);
    return found;
  }
  if (annotation.kind() == TK_VAR) {
    // torch.nn.common_types: what modules are given as a size. TorchScript knows the names, not the Union behind them.
    const std::string& name = Var(annotation.tree()).name();
    const bool is_size = name.size() == 9 && name.starts_with("_size_") && name.ends_with("_t");
    if (!is_size || name[6] < '1' || name[6] > '6') return std::nullopt;
    return std::make_pair(TypePtr(c10::ListType::ofInts()), name[6] - '0');
  }
  if (annotation.kind() != TK_SUBSCRIPT) return std::nullopt;
  const Subscript subscript(annotation.tree());
  const std::string name(withoutModule(dottedName(subscript.value())));
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string digits = name.substr(kPrefix.size());
  const auto arguments = typeArguments(subscript);
  if (digits.size() != 1 || digits[0] < '1' || digits[0] > '6') {
    throw UserError(
        messages::unknownType(name) + ": the size of a BroadcastingList must be a positive integer: " + digits +
            " is none of 1 to 6",
        annotation.range());
  }
  TypePtr element = arguments.size() == 1 ? read(arguments[0]) : nullptr;
  const bool valid =
      element && (element->kind() == c10::TypeKind::IntType || element->kind() == c10::TypeKind::FloatType);
  if (!valid) throw UserError(name + " takes one element type, int or float", annotation.range());
  return std::make_pair(TypePtr(c10::ListType::create(element)), digits[0] - '0');
}

TypePtr typeOfAnnotation(const Expr& annotation, Program& program, const ResolverPtr& resolver) {
  TypePtr type = AnnotationReader(program, resolver).read(annotation);
  if (!type->containedTypes().empty()) TupleSizes().check(annotation.range(), type);
  return type;
}

const TypePtr& inferredTensorType() {
  static const TypePtr type = c10::TensorType::getInferred();
  return type;
}

}  // namespace cresset
