// The errors that Cresset throws. Everything derives from cresset::Error.
//
// That is a c10::Error, because programs that load and call models catch c10::Error around what they do, and should not
// end because another engine is behind the same calls. So a handler of c10::Error here, meant for what libtorch itself
// throws, has a handler of Error before it.
//
//   UserError      a program, a schema, an IR text or an argument is wrong; says what, where and how to mend it
//   ArchiveError   an archive is damaged, hostile or too new; names file, entry, byte offset and reason
//   ScriptError    a running script raised; carries the script's own stack and the Python class that it named
//   LimitError     a running script took more time or memory than it was allowed; a ScriptError
//   InternalError  a bug in Cresset; user input can never cause it
#pragma once

#include <c10/util/Exception.h>

#include <string>
#include <utility>
#include <vector>

#include "cresset/support/source.h"

namespace cresset {

class Error : public c10::Error {
 public:
  /// No backtrace: what() is the message and nothing else.
  explicit Error(std::string message) : c10::Error(std::move(message), /*backtrace=*/nullptr) {}
};

/// what(): the message and, from the next line on, the highlighted range if there is one.
class UserError : public Error {
 public:
  explicit UserError(std::string message, SourceRange range = {});
  /// The message without the picture.
  const std::string& message() const { return message_; }
  const SourceRange& range() const { return range_; }
  /// The functions that were being compiled when the error was found, innermost first; part of what().
  const std::vector<std::pair<std::string, SourceRange>>& compilationStack() const { return stack_; }
  /// A copy of this error with one more caller on its compilation stack.
  UserError withCaller(std::string function, SourceRange call) const;

 private:
  UserError(std::string message, SourceRange range, std::vector<std::pair<std::string, SourceRange>> stack);
  std::string message_;
  SourceRange range_;
  std::vector<std::pair<std::string, SourceRange>> stack_;
};

/// what(): "FILE: ENTRY at byte OFFSET: REASON" (the parts that are known).
class ArchiveError : public Error {
 public:
  static constexpr size_t kNoOffset = static_cast<size_t>(-1);
  ArchiveError(std::string file, std::string entry, size_t offset, std::string reason);
  const std::string& file() const { return file_; }
  const std::string& entry() const { return entry_; }
  size_t offset() const { return offset_; }
  const std::string& reason() const { return reason_; }

 private:
  std::string file_, entry_, reason_;
  size_t offset_;
};

/// A frame of a script's stack, outermost first in ScriptError::frames().
struct ScriptFrame {
  std::string function;
  SourceRange range;
};

/// A script raised, or an operator that it called threw.
class ScriptError : public Error {
 public:
  /// `python_class` is the qualified Python name, such as "builtins.ValueError"; "" if an operator threw.
  ScriptError(std::string message, std::string python_class, std::vector<ScriptFrame> frames);
  /// The script's or operator's own message.
  const std::string& message() const { return message_; }
  const std::string& pythonClass() const { return python_class_; }
  const std::vector<ScriptFrame>& frames() const { return frames_; }

 private:
  std::string message_, python_class_;
  std::vector<ScriptFrame> frames_;
};

/// A run passed a limit that it was given (ops/limits.h).
class LimitError : public ScriptError {
 public:
  using ScriptError::ScriptError;
};

class InternalError : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void throwInternalError(const char* file, int line, const char* condition, const std::string& detail);

}  // namespace cresset

/// Checks an invariant of Cresset's own. `detail` is an expression convertible to std::string, evaluated on failure.
#define CRESSET_CHECK(condition, detail)                                     \
  do {                                                                       \
    if (!(condition)) [[unlikely]]                                           \
      ::cresset::throwInternalError(__FILE__, __LINE__, #condition, detail); \
  } while (false)
