// Program: the tables of functions and types, name mangling, and taking back what a failed definition added.
//
// Two locks: definition_mutex_ orders everything that adds names, and is held while definers run; mutex_ guards the
// tables for the length of one look-up, so that running code never waits for a compilation. definition_mutex_ is always
// taken first.
#include "cresset/program/program.h"

#include <ATen/core/class_type.h>

#include <unordered_set>
#include <utility>

#include "cresset/support/error.h"

namespace cresset {

namespace {

/// All live programs. A class type names its owner by a pointer that c10 can't tell from torch.jit's own compilation
/// unit, and both may live in one process; the pointer is followed only if it is found here.
struct LivePrograms {
  std::mutex mutex;
  std::unordered_set<const void*> programs;
  static LivePrograms& get() {
    static auto* instance = new LivePrograms;  // outlives the programs that static objects hold
    return *instance;
  }
};

constexpr std::string_view kManglePrefix = "___torch_mangle_";

}  // namespace

Program::Program(Tag) {
  auto& live = LivePrograms::get();
  std::lock_guard lock(live.mutex);
  live.programs.insert(this);
}

Program::~Program() {
  auto& live = LivePrograms::get();
  std::lock_guard lock(live.mutex);
  live.programs.erase(this);
}

std::shared_ptr<torch::jit::CompilationUnit> Program::asCompilationUnit() {
  // c10 only compares and keeps this pointer. The alias makes same-named classes of two programs differ, and an object
  // that holds it keeps this program alive.
  return {shared_from_this(), reinterpret_cast<torch::jit::CompilationUnit*>(this)};
}

void Program::checkNameIsFree(const c10::QualifiedName& name) const {
  const char* what = function_index_.contains(name) ? "a function" : type_index_.contains(name) ? "a type" : nullptr;
  if (what) {
    throw UserError(
        "method '" + name.qualifiedName() + "' already defined. It is " + what +
        " of this program; choose another name");
  }
}

Function& Program::declare(c10::QualifiedName name, Function::Definer definer) {
  std::lock_guard definition_lock(definition_mutex_);
  std::lock_guard lock(mutex_);
  checkNameIsFree(name);
  auto& function = functions_.emplace_back(std::make_unique<Function>(*this, name, std::move(definer)));
  function_index_.emplace(std::move(name), function.get());
  return *function;
}

Function* Program::findFunction(const c10::QualifiedName& name) const {
  std::lock_guard lock(mutex_);
  auto it = function_index_.find(name);
  return it == function_index_.end() ? nullptr : it->second;
}

std::vector<Function*> Program::functions() const {
  std::lock_guard lock(mutex_);
  std::vector<Function*> result;
  result.reserve(functions_.size());
  for (const auto& function : functions_) result.push_back(function.get());
  return result;
}

void Program::registerType(const c10::NamedTypePtr& type) {
  if (!type || !type->name()) throw UserError("a type without a name can't be registered with a program");
  std::lock_guard definition_lock(definition_mutex_);
  std::lock_guard lock(mutex_);
  checkNameIsFree(*type->name());
  types_.push_back(type);
  type_index_.emplace(*type->name(), type);
}

c10::NamedTypePtr Program::findType(const c10::QualifiedName& name) const {
  std::lock_guard lock(mutex_);
  auto it = type_index_.find(name);
  return it == type_index_.end() ? nullptr : it->second;
}

c10::ClassTypePtr Program::findClass(const c10::QualifiedName& name) const {
  auto type = findType(name);
  return type ? type->cast<c10::ClassType>() : nullptr;
}

std::vector<c10::NamedTypePtr> Program::types() const {
  std::lock_guard lock(mutex_);
  return types_;
}

c10::QualifiedName Program::mangle(const c10::QualifiedName& name) {
  std::lock_guard lock(mutex_);
  auto is_free = [&](const c10::QualifiedName& n) { return !function_index_.contains(n) && !type_index_.contains(n); };
  if (is_free(name)) return name;

  // A number that is there already is replaced, so that names that go through many programs stay short.
  std::vector<std::string> atoms = name.atoms();
  size_t at = 0;
  while (at < atoms.size() && !atoms[at].starts_with(kManglePrefix)) ++at;
  if (at == atoms.size()) {
    at = atoms.size() - 1;
    atoms.insert(atoms.end() - 1, std::string());
  }
  while (true) {
    atoms[at] = std::string(kManglePrefix) + std::to_string(next_mangle_++);
    c10::QualifiedName mangled(atoms);
    if (is_free(mangled)) return mangled;
  }
}

void Program::rollBack(size_t num_functions, size_t num_types) {
  std::lock_guard lock(mutex_);
  for (size_t i = functions_.size(); i-- > num_functions;) {
    Function* function = functions_[i].get();
    const c10::QualifiedName name = function->qualname();
    function_index_.erase(name);
    const auto owner = name.prefix().empty() ? type_index_.end() : type_index_.find(c10::QualifiedName(name.prefix()));
    if (owner != type_index_.end()) {
      auto cls = owner->second->cast<c10::ClassType>();
      if (cls && cls->findMethod(name.name()) == function) cls->unsafeRemoveMethod(name.name());
    }
    removed_functions_.push_back(std::move(functions_[i]));
  }
  functions_.resize(num_functions);
  for (size_t i = types_.size(); i-- > num_types;) {
    type_index_.erase(*types_[i]->name());
    removed_types_.push_back(std::move(types_[i]));
  }
  types_.resize(num_types);
}

DefinitionScope::DefinitionScope(Program& program) : program_(program), lock_(program.definition_mutex_) {
  std::lock_guard lock(program.mutex_);
  num_functions_ = program.functions_.size();
  num_types_ = program.types_.size();
}

DefinitionScope::~DefinitionScope() {
  if (!committed_) program_.rollBack(num_functions_, num_types_);
}

std::shared_ptr<Program> programOf(const c10::ClassType& type) {
  auto unit = const_cast<c10::ClassType&>(type).compilation_unit();
  if (!unit) return nullptr;
  auto& live = LivePrograms::get();
  std::lock_guard lock(live.mutex);
  if (!live.programs.contains(unit.get())) return nullptr;
  return {unit, reinterpret_cast<Program*>(unit.get())};
}

}  // namespace cresset
