// One operator: what its schema and the dispatcher's tags say of it, and how it is called.
#include "cresset/ops/operator.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>

#include "cresset/ops/policy.h"

namespace cresset {

ScriptRaise::ScriptRaise(std::string python_class, std::string message)
    : python_class_(std::move(python_class)), message_(std::move(message)) {}

namespace {

std::string fullNameOf(const c10::FunctionSchema& schema) {
  return schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
}

bool writesArgument(const c10::FunctionSchema& schema) {
  for (const auto& argument : schema.arguments()) {
    if (argument.alias_info() && argument.alias_info()->isWrite()) return true;
  }
  return false;
}

bool returnsAlias(const c10::FunctionSchema& schema) {
  for (const auto& result : schema.returns()) {
    if (result.alias_info()) return true;
  }
  return false;
}

Trait traitsOf(const c10::OperatorHandle& handle) {
  Trait traits = Trait::None;
  const auto& schema = handle.schema();
  if (handle.hasTag(at::Tag::nondeterministic_seeded)) traits = traits | Trait::SideEffect | Trait::Nondeterministic;
  if (handle.hasTag(at::Tag::nondeterministic_bitwise)) traits = traits | Trait::Nondeterministic;
  // An operator that returns nothing and writes nothing is called for something else that it does; and a schema that
  // was inferred from a C++ signature says nothing about writes.
  bool conservative = schema.aliasAnalysis() == c10::AliasAnalysisKind::CONSERVATIVE;
  if (conservative || (schema.returns().empty() && !schema.is_varret() && !writesArgument(schema))) {
    traits = traits | Trait::SideEffect;
  }
  return traits;
}

}  // namespace

Operator::Operator(c10::FunctionSchema schema, Kernel kernel, Trait traits, Restriction restriction)
    : schema_(std::move(schema)),
      kind_(Symbol::fromQualString(schema_.name())),
      full_name_(fullNameOf(schema_)),
      kernel_(kernel),
      traits_(traits),
      restriction_(restriction),
      mutable_(writesArgument(schema_)) {
  if (schema_.returns().empty() && !schema_.is_varret() && !mutable_) traits_ = traits_ | Trait::SideEffect;
}

Operator::Operator(const c10::OperatorHandle& handle)
    : schema_(handle.schema()),
      kind_(Symbol::fromQualString(schema_.name())),
      full_name_(fullNameOf(schema_)),
      handle_(new c10::OperatorHandle(handle)),
      traits_(traitsOf(handle)),
      restriction_(restrictionOf(schema_)),
      mutable_(writesArgument(schema_)) {}

Operator::~Operator() = default;

void Operator::call(Stack& stack, size_t num_args) const {
  if (kernel_) {
    kernel_(stack, num_args);
  } else if (const c10::OperatorHandle* registered = handle()) {
    registered->callBoxed(&stack);
  } else {
    throwUnregistered();
  }
}

void Operator::throwUnregistered() const {
  throw std::runtime_error(
      "The operator " + full_name_ +
      " was registered when this code was compiled, but the library that registered it has been unloaded or destroyed "
      "since. Register it again with the same schema, or compile the program again.");
}

bool Operator::isPure() const {
  return !mutable_ && traits_ == Trait::None && !returnsAlias(schema_);
}

}  // namespace cresset
