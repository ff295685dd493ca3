// Exceptions as sugared values. See exceptions.h.
#include "cresset/frontend/exceptions.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cresset/support/error.h"

namespace cresset {

SugaredValuePtr ExceptionClass::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args, const std::vector<NamedValue>&,
    size_t) {
  // Keyword arguments are state of the exception's own class, which no script sees.
  cx.graph.setLocation(range);
  Value* message = nullptr;
  if (args.empty()) {
    message = cx.graph.insertConstant(std::string());
  } else if (args.size() == 1) {
    message = args[0].get(cx.graph);
    if (message->type()->kind() != c10::TypeKind::StringType) {
      message = insertOp(cx.graph, aten::str, {NamedValue(message, range)}, {}, range);
    }
  } else {
    std::vector<Value*> values;
    std::vector<TypePtr> types;
    for (const NamedValue& arg : args) {
      values.push_back(arg.get(cx.graph));
      types.push_back(values.back()->type());
    }
    cx.graph.setLocation(range);
    Node* tuple = cx.graph.insertNode(cx.graph.create(prim::TupleConstruct, values, 1));
    tuple->output()->setType(c10::TupleType::create(std::move(types)));
    message = insertOp(cx.graph, aten::str, {NamedValue(tuple->output(), range)}, {}, range);
  }
  if (qualified_class_ == "builtins.AssertionError") {
    // As torch.jit has it: the message names the class, and no class is reported.
    Value* prefix = cx.graph.insertConstant(std::string("AssertionError: "));
    message = insertOp(cx.graph, aten::add, {NamedValue(prefix, range), NamedValue(message, range)}, {}, range);
    return std::make_shared<ExceptionInstance>("", message);
  }
  return std::make_shared<ExceptionInstance>(qualified_class_, message);
}

SugaredValuePtr builtinException(const std::string& name) {
  static constexpr std::array<std::string_view, 33> kNames = {
      "ArithmeticError", "AssertionError", "AttributeError",      "BaseException",      "BufferError",
      "EOFError",        "Exception",      "FileNotFoundError",   "FloatingPointError", "IOError",
      "ImportError",     "IndexError",     "InterruptedError",    "KeyError",           "KeyboardInterrupt",
      "LookupError",     "MemoryError",    "ModuleNotFoundError", "NameError",          "NotImplementedError",
      "OSError",         "OverflowError",  "PermissionError",     "RecursionError",     "RuntimeError",
      "StopIteration",   "SyntaxError",    "SystemError",         "TimeoutError",       "TypeError",
      "UnicodeError",    "ValueError",     "ZeroDivisionError"};
  if (!std::binary_search(kNames.begin(), kNames.end(), name)) return nullptr;
  return std::make_shared<ExceptionClass>("builtins." + name);
}

}  // namespace cresset
