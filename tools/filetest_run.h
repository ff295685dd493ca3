// The command `run`: calls run unoptimized, by plans, by plans that assert their facts, by plans whose guards fail,
// and, without gradients, by static modules and functionalized; all must do the same.
#pragma once

#include <functional>
#include <string>

#include "filetest_file.h"

namespace cresset::tools {

/// What the calls of the test do when they run unoptimized, as text: what is printed, the result or the exception,
/// which tensors of the result are arguments or share their memory, what becomes of arguments, and the gradients of
/// those that require them. Throws std::runtime_error, which no blessing hides, if a plan does anything else.
///
/// `capture` runs a function and returns what the script prints meanwhile.
std::string runCalls(const TestFile& test, const std::function<std::string(const std::function<void()>&)>& capture);

}  // namespace cresset::tools
