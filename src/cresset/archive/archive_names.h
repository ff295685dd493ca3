// What the types and functions of a module are called in its archive, and which ones it needs.
//
// Archives know names under `__torch__` only, and two programs may use one name for two classes (a module may hold
// modules of several programs). So each type and function that the code mentions is given a name of its own, the
// first time that it is asked for, and is noted as something that the archive has to define.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "cresset/archive/code_names.h"
#include "cresset/program/program.h"

namespace cresset {

class ArchiveNames final : public CodeNames {
 public:
  std::string ofType(const c10::NamedTypePtr& type) override;
  std::string ofFunction(torch::jit::Function& function) override;

  /// What is to be defined, in the order in which it was first mentioned; more may be added while the first are.
  struct Definition {
    c10::QualifiedName name;
    std::variant<c10::NamedTypePtr, Function*> what;
  };
  const std::vector<Definition>& definitions() const { return definitions_; }

 private:
  c10::QualifiedName claim(const c10::QualifiedName& wanted);
  bool isFree(const c10::QualifiedName& name) const;

  std::unordered_map<const void*, std::string> known_;
  // By their own names: named tuples are equal by what they are, and may exist more than once.
  std::unordered_map<std::string, std::vector<c10::NamedTypePtr>> types_;
  std::unordered_set<std::string> names_, prefixes_;
  std::vector<Definition> definitions_;
  size_t next_mangle_ = 0;
};

}  // namespace cresset
