// See archive_names.h.
#include "cresset/archive/archive_names.h"

#include <ATen/core/class_type.h>

#include <algorithm>

#include "cresset/archive/code_printer.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr const char* kRoot = "__torch__";

/// The name below `__torch__`, with nothing in it that a path or an expression could not say.
c10::QualifiedName underRoot(const c10::QualifiedName& name) {
  std::vector<std::string> atoms = name.atoms();
  for (std::string& atom : atoms) {
    if (isCodeIdentifier(atom)) continue;
    std::replace_if(
        atom.begin(), atom.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
    if (!isCodeIdentifier(atom)) atom = "_" + atom;
  }
  if (atoms.front() != kRoot) atoms.insert(atoms.begin(), kRoot);
  if (atoms.size() == 1) atoms.emplace_back(kRoot);
  return c10::QualifiedName(atoms);
}

/// A registered C++ class: archives name it as it is.
bool isForeign(const c10::NamedType& type) {
  auto* cls = type.castRaw<c10::ClassType>();
  return cls && !programOf(*cls);
}

}  // namespace

bool ArchiveNames::isFree(const c10::QualifiedName& name) const {
  // A name that others have for their prefix would hide them, and one below a type's could not be found.
  if (names_.contains(name.qualifiedName()) || prefixes_.contains(name.qualifiedName())) return false;
  for (c10::QualifiedName prefix(name.prefix()); prefix.atoms().size() > 1;
       prefix = c10::QualifiedName(prefix.prefix()))
    if (names_.contains(prefix.qualifiedName())) return false;
  return true;
}

c10::QualifiedName ArchiveNames::claim(const c10::QualifiedName& wanted) {
  c10::QualifiedName name = wanted;
  for (bool beside = true; !isFree(name); beside = !beside) {
    const c10::QualifiedName home(beside ? wanted.prefix() : std::string(kRoot));
    name = c10::QualifiedName(
        c10::QualifiedName(home, "___torch_mangle_" + std::to_string(next_mangle_++)), wanted.name());
  }
  names_.insert(name.qualifiedName());
  for (c10::QualifiedName prefix(name.prefix());; prefix = c10::QualifiedName(prefix.prefix())) {
    prefixes_.insert(prefix.qualifiedName());
    if (prefix.atoms().size() <= 1) break;
  }
  return name;
}

std::string ArchiveNames::ofType(const c10::NamedTypePtr& type) {
  if (isForeign(*type)) return type->name()->qualifiedName();
  auto it = known_.find(type.get());
  if (it != known_.end()) return it->second;
  auto& namesakes = types_[type->name()->qualifiedName()];
  for (const c10::NamedTypePtr& other : namesakes) {
    if (*other == *type) return known_.emplace(type.get(), known_.at(other.get())).first->second;
  }
  namesakes.push_back(type);
  const c10::QualifiedName name = claim(underRoot(*type->name()));
  definitions_.push_back({name, type});
  return known_.emplace(type.get(), name.qualifiedName()).first->second;
}

std::string ArchiveNames::ofFunction(torch::jit::Function& function) {
  auto it = known_.find(&function);
  if (it != known_.end()) return it->second;
  auto* ours = dynamic_cast<Function*>(&function);
  if (!ours) {
    throw UserError(
        "The function '" + function.qualname().qualifiedName() + "' can't be saved: it is not a script function.");
  }
  c10::QualifiedName wanted = function.qualname();
  // A class's static method becomes a function beside the class: classes in archives have methods only.
  if (!wanted.prefix().empty()) {
    const c10::QualifiedName owner(wanted.prefix());
    if (ours->program().findType(owner)) {
      wanted = owner.prefix().empty() ? c10::QualifiedName(wanted.name())
                                      : c10::QualifiedName(c10::QualifiedName(owner.prefix()), wanted.name());
    }
  }
  const c10::QualifiedName name = claim(underRoot(wanted));
  definitions_.push_back({name, ours});
  return known_.emplace(&function, name.qualifiedName()).first->second;
}

}  // namespace cresset
