#include "cresset/python/python_programs.h"

namespace cresset::python {

const std::shared_ptr<ProgramFamily>& pythonFamily() {
  // Never destroyed: Python objects that refer to programs may outlive static destruction.
  static const auto* family = new std::shared_ptr<ProgramFamily>(std::make_shared<ProgramFamily>());
  return *family;
}

std::shared_ptr<Program> makePythonProgram() {
  return Program::make(pythonFamily());
}

}  // namespace cresset::python
