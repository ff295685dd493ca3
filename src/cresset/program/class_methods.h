// The methods of classes for who reads them while another thread may define more: c10 keeps them in a vector without a
// lock. Methods are added under the lock of definitions.
#pragma once

#include <string>
#include <vector>

#include "cresset/program/definition_lock.h"
#include "cresset/program/program.h"

namespace cresset {

/// Calls `read` while nothing defines methods of the class.
template <typename F>
auto whileMethodsStay(const c10::ClassType& type, F&& read) {
  const std::shared_ptr<Program> program = programOf(type);
  std::unique_lock<std::recursive_mutex> lock;
  if (program) lock = lockDefinitions(*program);
  return read();
}

inline std::vector<torch::jit::Function*> methodsOf(const c10::ClassType& type) {
  return whileMethodsStay(type, [&] { return type.methods(); });
}

/// Null if the class has none of this name.
inline torch::jit::Function* findMethodOf(const c10::ClassType& type, const std::string& name) {
  return whileMethodsStay(type, [&] { return type.findMethod(name); });
}

}  // namespace cresset
