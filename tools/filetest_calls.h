// Calls in text tests: comments that name a function of the input and the arguments that it is called with.
//
//   # let: x = torch.arange(6.).view(2, 3)
//   # call: f(x, x[0], 3)
//
// Arguments are expressions of the language; a `# let:` is a statement before the calls that follow it. They are
// evaluated anew for each run of a call, after the same seed: a run sees nothing of what an earlier one wrote. Random
// ones are the same each time, too.
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/program/program.h"
#include "filetest_file.h"

namespace cresset::tools {

/// The graph of a .ir file, verified. Lines `# constant: EXPR` define what it calls CONSTANTS.c0, .c1, …
std::shared_ptr<Graph> graphOfTest(const TestFile& test);
/// What a test's input is: a source, or the graph of a .ir file, which is the function `f`.
std::shared_ptr<Program> programOfTest(const TestFile& test);

/// One evaluation of a call's arguments.
struct CallValues {
  std::vector<c10::IValue> arguments;
  std::vector<std::pair<std::string, c10::IValue>> defined;  // what the names of `# let:` mean
};

struct Call {
  std::string text;  // "f(x, x[0], 3)"
  Function* function = nullptr;
  Function* arguments = nullptr;   // returns those that are given as a tuple, in the order of the function's
  std::vector<bool> uses_default;  // the others, by parameter
  std::vector<std::string> names;  // that were defined before it

  CallValues evaluate() const;
};

/// The calls of the test, of functions of `program`, in order. Throws UserError if there are none, or if one can't be.
std::vector<Call> callsOf(const TestFile& test, Program& program);

/// The name of a function's parameter.
std::string parameterName(const Function& function, size_t index);

/// "ValueError: no such thing", of what a script raised.
std::string describeError(const std::exception& error);

}  // namespace cresset::tools
