#include "cresset/program/library.h"

namespace cresset {

Program& libraryOf(Program& program) {
  if (!program.family()) return program;
  struct Libraries {
    std::mutex mutex;
    std::unordered_map<std::shared_ptr<ProgramFamily>, std::shared_ptr<Program>> of;
  };
  static auto* libraries = new Libraries;  // outlives the programs that static objects hold
  const std::lock_guard lock(libraries->mutex);
  std::shared_ptr<Program>& library = libraries->of[program.family()];
  if (!library) library = Program::make(program.family());
  return *library;
}

}  // namespace cresset
