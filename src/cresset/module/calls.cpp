// Calls from C++ and the command line: arguments checked against the schema, defaults filled in, then run.
//
// The messages keep torch::jit's phrases, since users' programs and tests match on them.
#include <ATen/core/function_schema.h>

#include <sstream>

#include "cresset/module/module.h"
#include "cresset/module/values.h"
#include "cresset/ops/format.h"
#include "cresset/support/error.h"
#include "cresset/tracer/tracer.h"

namespace cresset {

namespace {

std::string describe(const c10::FunctionSchema& schema) {
  std::ostringstream text;
  text << schema;
  return text.str();
}

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
    throw UserError(
        schema.name() + "() expected at most " + std::to_string(arguments.size() - self) +
        " argument(s) but received " + std::to_string(inputs.size() - self) +
        " argument(s). Declaration: " + describe(schema));
  }
  size_t positional = std::min(inputs.size(), arguments.size());
  for (size_t i = 0; i < positional; ++i) {
    if (arguments[i].kwarg_only()) {
      throw UserError(
          schema.name() + "() takes " + std::to_string(i) + " positional argument(s) but " +
          std::to_string(inputs.size()) + " was/were given.  Declaration: " + describe(schema));
    }
  }
  size_t used_keywords = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = arguments[i];
    auto keyword = kwargs.empty() ? kwargs.end() : kwargs.find(argument.name());
    if (i < positional) {
      if (keyword != kwargs.end()) {
        throw UserError(
            "Argument '" + argument.name() +
            "' specified both as positional and keyword argument. Schema: " + describe(schema));
      }
    } else if (keyword != kwargs.end()) {
      inputs.push_back(keyword->second);
      ++used_keywords;
    } else if (argument.default_value()) {
      inputs.push_back(*argument.default_value());
      continue;  // defaults were checked when the function was defined
    } else {
      throw UserError(
          schema.name() + "() is missing value for argument '" + argument.name() +
          "'. Declaration: " + describe(schema));
    }
    auto converted = convertTo(inputs[i], argument.type());
    if (!converted) {
      throw UserError(schema.formatTypeMismatchMsg(argument, describeType(inputs[i]), i, describeValue(inputs[i])));
    }
    inputs[i] = std::move(*converted);
  }
  if (used_keywords != kwargs.size()) {
    for (const auto& [name, value] : kwargs) {
      if (!schema.argumentIndexWithName(name)) {
        throw UserError(
            "Unknown keyword argument '" + name + "' for operator '" + schema.name() + "'" +
            similarArgument(schema, name) + ". Schema: " + describe(schema));
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
