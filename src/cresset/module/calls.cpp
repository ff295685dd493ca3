// Calls from C++ and the command line: arguments checked against the schema, defaults filled in, then run.
//
// The messages keep torch::jit's phrases, since users' programs and tests match on them.
#include <ATen/core/function_schema.h>

#include <sstream>

#include "cresset/module/module.h"
#include "cresset/module/values.h"
#include "cresset/ops/format.h"
#include "cresset/ops/messages.h"
#include "cresset/support/error.h"
#include "cresset/tracer/tracer.h"

namespace cresset {

namespace {

/// A value for messages: short, and never a big tensor's contents.
std::string describeValue(const IValue& value) {
  if (value.isTensor() && (!value.toTensor().defined() || value.toTensor().numel() > 8)) return "a tensor";
  std::string result = toPrinted(value);
  if (result.size() > 200) result = result.substr(0, 200) + "…";
  return result;
}

}  // namespace

void checkAndNormalizeInputs(const c10::FunctionSchema& schema, std::vector<IValue>& inputs, const Kwargs& kwargs) {
  const auto& arguments = schema.arguments();
  if (inputs.size() > arguments.size() && !schema.is_vararg()) {
    // People don't count the object of a method.
    const size_t self = !arguments.empty() && arguments[0].name() == "self" && inputs[0].isObject() ? 1 : 0;
    throw UserError(messages::tooManyArguments(schema, arguments.size() - self, inputs.size() - self));
  }
  size_t positional = std::min(inputs.size(), arguments.size());
  for (size_t i = 0; i < positional; ++i) {
    if (arguments[i].kwarg_only()) {
      throw UserError(messages::tooManyPositional(schema, i, inputs.size()));
    }
  }
  size_t used_keywords = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = arguments[i];
    auto keyword = kwargs.empty() ? kwargs.end() : kwargs.find(argument.name());
    if (i < positional) {
      if (keyword != kwargs.end()) {
        throw UserError(messages::argumentTwice(schema, argument.name()));
      }
    } else if (keyword != kwargs.end()) {
      inputs.push_back(keyword->second);
      ++used_keywords;
    } else if (argument.default_value()) {
      inputs.push_back(*argument.default_value());
      continue;  // defaults were checked when the function was defined
    } else {
      throw UserError(messages::missingArgument(schema, argument.name()));
    }
    if (inputs[i].isTensor() && argument.type()->kind() == c10::TypeKind::TensorType) continue;
    auto converted = convertTo(inputs[i], argument.type());
    if (!converted) {
      throw UserError(schema.formatTypeMismatchMsg(argument, describeType(inputs[i]), i, describeValue(inputs[i])));
    }
    inputs[i] = std::move(*converted);
  }
  if (used_keywords != kwargs.size()) {
    for (const auto& [name, value] : kwargs) {
      if (!schema.argumentIndexWithName(name)) {
        throw UserError(messages::unknownArgument(schema, name));
      }
    }
  }
}

IValue callFunction(Function& function, std::vector<IValue> inputs, const Kwargs& kwargs) {
  checkAndNormalizeInputs(function.getSchema(), inputs, kwargs);
  runOrTrace(function, inputs);
  CRESSET_CHECK(inputs.size() == 1, "a function leaves one result: " + function.qualname().qualifiedName());
  return std::move(inputs.back());
}

}  // namespace cresset
