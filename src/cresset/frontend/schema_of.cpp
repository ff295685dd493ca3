// The schema that a `def` line declares.
#include <ATen/core/class_type.h>
#include <ATen/core/function_schema.h>

#include <string_view>
#include <unordered_set>

#include "cresset/frontend/annotations.h"
#include "cresset/frontend/calls.h"
#include "cresset/frontend/compiler.h"
#include "cresset/frontend/messages.h"
#include "cresset/ops/limits.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// `x: BroadcastingList2[int] = 1` means [1, 1].
c10::IValue repeated(const c10::IValue& value, const TypePtr& list, int32_t count) {
  const TypePtr element = list->expectRef<c10::ListType>().getElementType();
  c10::impl::GenericList values(element);
  for (int32_t i = 0; i < count; ++i) values.push_back(value);
  return c10::IValue(values);
}

TypePtr listOf(const TypePtr& type) {
  auto optional = type->cast<c10::OptionalType>();
  return optional ? optional->getElementType() : type;
}

/// `Optional[BroadcastingList2[int]]`.
std::optional<std::pair<TypePtr, int32_t>> optionalBroadcastingList(
    const Expr& annotation, const std::function<TypePtr(const Expr&)>& read) {
  if (annotation.kind() != TK_SUBSCRIPT) return std::nullopt;
  const Subscript subscript(annotation.tree());
  const std::string name = dottedName(subscript.value());
  const auto arguments = typeArguments(subscript);
  if (arguments.size() != 1 || name.substr(name.rfind('.') + 1) != "Optional") return std::nullopt;
  return broadcastingList(arguments[0], read);
}

c10::Argument argumentOf(const Param& param, Program& program, const ResolverPtr& resolver) {
  TypePtr type = inferredTensorType();
  std::optional<int32_t> repeat;
  if (param.type().present()) {
    const Expr annotation = param.type().get();
    auto read = [&](const Expr& e) { return typeOfAnnotation(e, program, resolver); };
    if (auto broadcasting = broadcastingList(annotation, read)) {
      type = broadcasting->first;
      repeat = broadcasting->second;
    } else if (auto optional = optionalBroadcastingList(annotation, read)) {
      type = c10::OptionalType::create(optional->first);
      repeat = optional->second;
    } else {
      type = read(annotation);
    }
  }
  std::optional<c10::IValue> default_value;
  if (resolver) default_value = resolver->resolveDefault(param.name().name(), type, param.range());
  if (default_value && repeat && (default_value->isInt() || default_value->isDouble()))
    default_value = repeated(*default_value, listOf(type), *repeat);
  if (!default_value && param.defaultValue().present()) {
    const Expr expr = param.defaultValue().get();
    try {
      const bool scalar =
          repeat && expr.kind() != TK_LIST_LITERAL && expr.kind() != TK_TUPLE_LITERAL && expr.kind() != TK_NONE;
      if (scalar) {
        const TypePtr list = listOf(type);
        const TypePtr element = list->expectRef<c10::ListType>().getElementType();
        default_value = repeated(evaluateConstant(expr, element, program, resolver), list, *repeat);
      } else {
        default_value = evaluateConstant(expr, type, program, resolver);
      }
    } catch (const UserError& error) {
      throw UserError("in the default of parameter '" + param.name().name() + "': " + error.message(), error.range());
    }
  }
  return c10::Argument(param.name().name(), type, repeat, std::move(default_value), param.kwargOnly());
}

/// What a __setstate__ without annotations takes: what __getstate__ returns.
void deriveState(const Def& def, const TypePtr& self_type, std::vector<c10::Argument>& arguments) {
  const auto params = def.decl().params();
  const bool derived =
      def.name().name() == "__setstate__" && self_type && params.size() == 2 && !params[1].type().present();
  auto cls = derived ? self_type->cast<c10::ClassType>() : nullptr;
  torch::jit::Function* getter = cls ? cls->findMethod("__getstate__") : nullptr;
  if (!getter && cls && cls->is_module()) {
    throw UserError(
        "a module that defines __setstate__ has to define and export __getstate__ too, which says what the state is",
        def.range());
  }
  if (!getter) return;
  const auto& returns = schemaForCall(*getter, def.range()).returns();
  if (returns.size() == 1) arguments[1] = arguments[1].cloneWithType(returns[0].type());
}

}  // namespace

c10::FunctionSchema schemaOf(const Def& def, Program& program, const ResolverPtr& resolver, const TypePtr& self_type) {
  std::vector<c10::Argument> arguments;
  std::unordered_set<std::string_view> names;
  bool had_default = false;
  size_t index = 0;
  for (const Param param : def.decl().params()) {
    const std::string& name = param.name().name();
    checkTimeLimit();
    if (!names.insert(name).second) throw UserError(messages::parameterTwice(name), param.range());
    if (index++ == 0 && self_type) {
      // The receiver's type is the class, however an archive spells it.
      arguments.emplace_back(name, self_type);
      continue;
    }
    arguments.push_back(argumentOf(param, program, resolver));
    if (arguments.back().default_value()) {
      had_default = true;
    } else if (had_default && !param.kwargOnly()) {
      throw UserError("the parameter '" + name + "' has no default but follows one that has", param.range());
    }
  }
  if (self_type && arguments.empty()) {
    throw UserError("methods must have a self argument: '" + def.name().name() + "' has none", def.range());
  }
  deriveState(def, self_type, arguments);
  std::vector<c10::Argument> returns;
  if (def.decl().returnType().present()) {
    returns.emplace_back("", typeOfAnnotation(def.decl().returnType().get(), program, resolver));
  }
  return c10::FunctionSchema(def.name().name(), "", std::move(arguments), std::move(returns));
}

}  // namespace cresset
