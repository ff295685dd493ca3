// Functions and classes of the language's own library that are written in the language, and so defined in a program.
#pragma once

#include "cresset/program/program.h"

namespace cresset {

/// The program in which `program` finds them: one for the whole family, which stays, so that their names and classes
/// are the same for all; itself, if it has no family. Thread-safe.
Program& libraryOf(Program& program);

}  // namespace cresset
