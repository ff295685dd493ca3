#include "filetest_calls.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <regex>

#include "cresset/executor/mode.h"
#include "cresset/frontend/compiler.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/verifier.h"
#include "cresset/support/error.h"

namespace cresset::tools {

namespace {

constexpr std::string_view kCall = "# call:", kLet = "# let:", kConstant = "# constant:";

std::string stripped(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

/// Splits at commas outside of brackets and strings.
std::vector<std::string> splitArguments(std::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(stripped(part));
      part.clear();
      continue;
    }
    part += c;
  }
  if (!stripped(part).empty()) parts.push_back(stripped(part));
  return parts;
}

/// "alpha" of "alpha=2"; empty if the argument has no name.
std::string keywordOf(const std::string& argument) {
  const size_t end = argument.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  if (end == std::string::npos || end == 0 || argument[end] != '=') return "";
  return end + 1 < argument.size() && argument[end + 1] == '=' ? "" : argument.substr(0, end);
}

/// The expressions of all arguments of the function, by position; empty where the default is meant.
std::vector<std::string> expressionsOf(const Function& function, const std::string& call, std::string_view text) {
  const auto& parameters = function.getSchema().arguments();
  std::vector<std::string> expressions(parameters.size());
  size_t position = 0;
  for (const std::string& argument : splitArguments(text)) {
    const std::string keyword = keywordOf(argument);
    size_t index = position;
    if (keyword.empty()) {
      ++position;
    } else {
      index = static_cast<size_t>(
          std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name() == keyword; }) -
          parameters.begin());
    }
    if (index >= parameters.size() || !expressions[index].empty())
      throw UserError("# call: " + call + ": '" + argument + "' is an argument too many");
    expressions[index] = keyword.empty() ? argument : argument.substr(keyword.size() + 1);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (expressions[i].empty() && !parameters[i].default_value())
      throw UserError("# call: " + call + ": argument '" + parameters[i].name() + "' is missing");
  }
  return expressions;
}

/// The names that the statements define, each once.
std::vector<std::string> definedNames(const std::vector<std::string>& lets) {
  std::vector<std::string> names;
  for (const std::string& let : lets) {
    std::string name = keywordOf(let.substr(0, let.find(' ')) + "=");
    if (!name.empty() && let.find(" = ") == name.size() && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  return names;
}

/// A function that evaluates the arguments, and then what the names mean. Each argument goes through a variable of its
/// parameter's type, which makes floats of ints, and lists of int of empty ones, as calls do.
Function* defineArguments(
    Program& program, const Function& function, const std::vector<std::string>& lets,
    const std::vector<std::string>& expressions, size_t number) {
  const std::string name = "__arguments" + std::to_string(number) + "__";
  std::string source = "def " + name + "():\n", result;
  for (const std::string& let : lets) source += "  " + let + "\n";
  const auto& parameters = function.getSchema().arguments();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (expressions[i].empty()) continue;
    const std::string variable = "__argument" + std::to_string(i);
    source += "  " + variable + ": " + parameters[i].type()->annotation_str() + " = " + expressions[i] + "\n";
    result += variable + ", ";
  }
  for (const std::string& name : definedNames(lets)) result += name + ", ";
  source += result.empty() ? "  return 0\n" : "  return (" + result + ")\n";
  return defineSource(program, std::make_shared<const Source>(source, "arguments"), {}).at(0);
}

}  // namespace

std::shared_ptr<Graph> graphOfTest(const TestFile& test) {
  ConstantTable constants;
  const auto program = Program::make();
  for (const std::string& line : splitLines(test.input)) {
    if (!line.starts_with(kConstant)) continue;
    const std::string name = "__constant" + std::to_string(constants.size()) + "__";
    const std::string source = "def " + name + "():\n  return " + line.substr(kConstant.size()) + "\n";
    Function* function = defineSource(*program, std::make_shared<const Source>(source, "constant"), {}).at(0);
    at::manual_seed(constants.size());
    const GraphOptimizerEnabledGuard unoptimized(false);
    Stack stack;
    function->run(stack);
    constants.push_back(stack.back());
  }
  auto graph = parseGraph(test.input, {.constants = &constants, .file = test.path.filename().string()});
  verify(*graph);
  return graph;
}

std::shared_ptr<Program> programOfTest(const TestFile& test) {
  auto program = Program::make();
  if (test.path.extension() == ".ir") {
    const auto graph = graphOfTest(test);
    program->declare(c10::QualifiedName("f"), [graph](Function& function) { function.setGraph(graph); })
        .ensure_defined();
  } else {
    defineSource(
        *program, std::make_shared<const Source>(test.input, test.path.filename().string(), test.first_line), {});
  }
  return program;
}

CallValues Call::evaluate() const {
  at::manual_seed(0);
  Stack stack;
  {
    const GraphOptimizerEnabledGuard unoptimized(false);
    const c10::AutoGradMode grad_mode(true);  // leaves may require gradients whatever the state that they are used in
    arguments->run(stack);
  }
  const auto& parameters = function->getSchema().arguments();
  CallValues values;
  size_t next = 0;
  const c10::IValue given = stack.back();
  for (const c10::Argument& parameter : parameters) {
    const bool is_default = uses_default[values.arguments.size()];
    values.arguments.push_back(is_default ? *parameter.default_value() : given.toTupleRef().elements()[next++]);
  }
  for (const std::string& name : names) values.defined.emplace_back(name, given.toTupleRef().elements()[next++]);
  at::manual_seed(1);
  return values;
}

std::vector<Call> callsOf(const TestFile& test, Program& program) {
  std::vector<Call> calls;
  std::vector<std::string> lets;
  for (const std::string& line : splitLines(test.input)) {
    if (line.starts_with(kLet)) lets.push_back(stripped(std::string_view(line).substr(kLet.size())));
    if (!line.starts_with(kCall)) continue;
    Call call;
    call.text = stripped(std::string_view(line).substr(kCall.size()));
    const size_t open = call.text.find('('), close = call.text.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open)
      throw UserError("# call: " + call.text + ": a call is FUNCTION(ARGUMENTS)");
    const std::string name = call.text.substr(0, open);
    call.function = program.findFunction(c10::QualifiedName(name));
    if (!call.function) throw UserError("# call: " + call.text + ": there is no function '" + name + "'");
    call.function->ensure_defined();
    const auto expressions =
        expressionsOf(*call.function, call.text, std::string_view(call.text).substr(open + 1, close - open - 1));
    for (const std::string& expression : expressions) call.uses_default.push_back(expression.empty());
    call.names = definedNames(lets);
    call.arguments = defineArguments(program, *call.function, lets, expressions, calls.size());
    calls.push_back(std::move(call));
  }
  if (calls.empty()) throw UserError("the test needs a line '# call: FUNCTION(ARGUMENTS)'");
  return calls;
}

std::string parameterName(const Function& function, size_t index) {
  return function.getSchema().arguments().at(index).name();
}

std::string describeError(const std::exception& error) {
  const auto firstLine = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  if (const auto* script = dynamic_cast<const ScriptError*>(&error)) {
    std::string name = script->pythonClass().empty() ? "RuntimeError" : script->pythonClass();
    if (name.starts_with("builtins.")) name = name.substr(9);
    return name + ": " + firstLine(script->message());
  }
  if (const auto* user = dynamic_cast<const UserError*>(&error)) return "UserError: " + firstLine(user->message());
  // Autograd names its node, which is another one where the gradient is compiled.
  static const std::regex node(", which is output [0-9]+ of \\w+,");
  return "error: " + std::regex_replace(firstLine(error.what()), node, "");
}

}  // namespace cresset::tools
