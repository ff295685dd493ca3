#include "cresset/python/shared_program.h"

namespace cresset::python {

const std::shared_ptr<Program>& sharedProgram() {
  // Never destroyed: Python objects that refer into it may outlive static destruction.
  static const auto* program = new std::shared_ptr<Program>(Program::make());
  return *program;
}

}  // namespace cresset::python
