// Commands about modules and programs: `save`, `freeze`, `module`, `static`, `program`.
//
// A module is written as its attributes and the methods of its source:
//
//   # parameter: weight = torch.ones([2])
//   # buffer: mean = torch.zeros([2])
//   # attribute: scale: float = 2.0
//   def forward(self, x):
//     return self.layer(x) * self.weight
//   # module: layer
//   # attribute: times: int = 3
//   def forward(self, x):
//     return x * self.times
//   # call: torch.ones([2])
//
// What stands after `# module: layer` belongs to that submodule, of class Layer, up to the next such line. Calls are
// those of the outermost forward.
#pragma once

#include <string>

#include "filetest_file.h"

namespace cresset::tools {

/// The module in text, with its attributes and the source of its methods.
std::string printModule(const TestFile& test);
/// Saves and loads it: its code in the archive, the names of the other records, the loaded module, its results. Throws
/// std::runtime_error if those, or the module saved again, differ.
std::string printSaved(const TestFile& test);
/// Freezes it, bits kept: the attributes and graphs that are left, and the results. A line `# preserve: NAME` keeps an
/// attribute or method. Throws std::runtime_error if results differ.
std::string printFrozen(const TestFile& test);
/// What the static modules of the functions that are called do once their calls have run: how each node runs, and where
/// results lie. Throws std::runtime_error if a result is not that of the function.
std::string printStatic(const TestFile& test);
/// What the source defines: functions with their schemas, classes with attributes and methods.
std::string printProgram(const TestFile& test);

}  // namespace cresset::tools
