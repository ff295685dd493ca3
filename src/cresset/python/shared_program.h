// The one Program that all code of this process' Python belongs to.
//
// A script class that one compilation meets must be the same type for the next, or values could not pass between
// them. So functions, classes and modules that come from Python objects, and traces, are declared in one Program,
// which lives as long as the process. Archives have Programs of their own.
#pragma once

#include <memory>

#include "cresset/program/program.h"

namespace cresset::python {

/// Thread-safe. Never null.
const std::shared_ptr<Program>& sharedProgram();

}  // namespace cresset::python
