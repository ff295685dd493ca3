// Where the text that scripts print goes: std::cout, unless a host (the Python extension, a test) takes it.
//
// Thread-safety: the handler may be called from many threads at once; setPrintHandler may be called at any time.
#pragma once

#include <string>

namespace cresset {

/// Called with each text that a script prints, its line break included.
using PrintHandler = void (*)(const std::string& text);

/// Null restores std::cout. Returns the handler that was set before.
PrintHandler setPrintHandler(PrintHandler handler);

/// What prim::Print calls.
void printText(const std::string& text);

}  // namespace cresset
