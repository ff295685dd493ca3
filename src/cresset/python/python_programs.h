// The Programs of code that comes from Python's functions, classes and modules, and of traces.
//
// What one step of definition declares (a call of cresset.script, a conversion of a module, a trace) is one Program,
// and is freed as one. A script class that one compilation meets must be the same type for the next, or values could
// not pass between them; so these Programs are a family, and use each other.
#pragma once

#include <memory>

#include "cresset/program/program.h"

namespace cresset::python {

/// The family. Thread-safe.
const std::shared_ptr<ProgramFamily>& pythonFamily();
/// A new one of it. Thread-safe.
std::shared_ptr<Program> makePythonProgram();

/// Names of Python's programs are free again, those of what lives included: what is defined from now on may be called
/// as something else is.
void forgetPythonNames();

}  // namespace cresset::python
