// Exceptions as sugared values: `ValueError` by name and `ValueError("message")`, which exist only to be raised.
#pragma once

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// An exception that was constructed, by its message.
class ExceptionInstance : public SugaredValue {
 public:
  ExceptionInstance(std::string qualified_class, Value* message)
      : qualified_class_(std::move(qualified_class)), message_(message) {}
  std::string kind() const override { return "exception"; }
  /// "": none is reported.
  const std::string& qualifiedClass() const { return qualified_class_; }
  Value* message() const { return message_; }

 private:
  std::string qualified_class_;
  Value* message_;
};

/// An exception class: a call makes an ExceptionInstance. `qualified_class` is what the running program reports
/// ("builtins.ValueError").
class ExceptionClass : public SugaredValue {
 public:
  explicit ExceptionClass(std::string qualified_class) : qualified_class_(std::move(qualified_class)) {}
  std::string kind() const override { return "exception class"; }
  bool formatsArguments(size_t num_args) const override { return num_args == 1; }
  const std::string& qualifiedClass() const { return qualified_class_; }
  /// The message is that of Python: the argument if it is a str, str() of it or of the tuple of all arguments. Keyword
  /// arguments are evaluated and no part of it.
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;

 private:
  std::string qualified_class_;
};

/// The class of Python's own exceptions of this name; null if there is none.
SugaredValuePtr builtinException(const std::string& name);

}  // namespace cresset
