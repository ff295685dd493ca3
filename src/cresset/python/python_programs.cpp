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

void forgetPythonNames() {
  ProgramFamily& family = *pythonFamily();
  std::lock_guard lock(family.mutex);
  family.names.clear();
  family.next_mangle = 0;
}

}  // namespace cresset::python
