// Where what scripts tell people goes, unless a host (the Python extension, a test) takes it: printed text to
// std::cout, warnings to std::cerr.
//
// Thread-safety: handlers may be called from many threads at once; they may be set at any time.
#pragma once

#include <cstddef>
#include <string>

namespace cresset {

struct SourceRange;  // support/source.h

/// Called with each text that a script prints, its line break included.
using PrintHandler = void (*)(const std::string& text);

/// Null restores std::cout. Returns the handler that was set before.
PrintHandler setPrintHandler(PrintHandler handler);

/// What prim::Print calls.
void printText(const std::string& text);

/// A script's `warnings.warn`: the message, and the place of the call in the file that the script's author wrote
/// (file "" and line 0 if that is not known).
struct ScriptWarning {
  std::string message;
  std::string file;
  size_t line = 0;
};
/// With the file and line where the range begins, if there is one.
ScriptWarning warningAt(std::string message, const SourceRange& range);
/// What a handler throws, the script raises.
using WarningHandler = void (*)(const ScriptWarning& warning);

/// Null restores std::cerr ("model.py:7: UserWarning: …"). Returns the handler that was set before.
WarningHandler setWarningHandler(WarningHandler handler);

/// What aten::warn calls.
void warn(const ScriptWarning& warning);

}  // namespace cresset
