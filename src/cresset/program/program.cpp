// Program: the tables of functions and types, name mangling, and taking back what a failed definition added.
//
// Two locks: definition_mutex_ orders everything that adds names, and is held while definers run; mutex_ guards the
// tables for the length of one look-up, so that running code never waits for a compilation. definition_mutex_ is always
// taken first.
#include "cresset/program/program.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "cresset/program/definition_lock.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

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

Program::Program(Tag, std::shared_ptr<ProgramFamily> family)
    : family_(std::move(family)), may_use_others_(family_ != nullptr) {
  checkOptionsOfEnvironment();  // here, as nothing runs without a program
  auto& live = LivePrograms::get();
  std::lock_guard lock(live.mutex);
  live.programs.insert(this);
}

namespace {

bool mentionsObjects(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::ClassType || type.kind() == c10::TypeKind::InterfaceType) return true;
  const auto inner = type.containedTypes();
  return std::any_of(inner.begin(), inner.end(), [](const c10::TypePtr& each) { return mentionsObjects(*each); });
}

/// Types may outlive their program, and must not name functions that are gone. Nor may they keep each other: a class
/// may have attributes of its own type (modules have none), and each method of an interface takes one.
void emptyType(c10::NamedType& type) {
  if (auto* interface = type.castRaw<c10::InterfaceType>()) {
    const_cast<std::vector<c10::FunctionSchema>&>(interface->methods()).clear();
  } else if (auto* cls = type.castRaw<c10::ClassType>()) {
    for (torch::jit::Function* method : std::vector(cls->methods())) cls->unsafeRemoveMethod(method->name());
    if (cls->is_module()) return;
    for (const c10::ClassAttribute& attribute : std::vector(cls->getAttributes())) {
      if (mentionsObjects(*attribute.getType())) cls->unsafeRemoveAttribute(attribute.getName());
    }
  }
}

}  // namespace

void Program::setRules(ProgramRules rules) {
  rules_ = rules.any() ? std::make_shared<const ProgramRules>(std::move(rules)) : nullptr;
}

const ProgramRules& Program::rules() const {
  static const ProgramRules none;
  return rules_ ? *rules_ : none;
}

Program::~Program() {
  {
    auto& live = LivePrograms::get();
    std::lock_guard lock(live.mutex);
    live.programs.erase(this);
  }
  for (const std::vector<c10::NamedTypePtr>* types : {&types_, &removed_types_}) {
    for (const c10::NamedTypePtr& type : *types) emptyType(*type);
  }
  if (family_) {
    std::lock_guard lock(family_->mutex);
    // A name may have been forgotten, and be another's by now.
    const auto release = [this](const c10::QualifiedName& name) {
      if (auto it = family_->names.find(name); it != family_->names.end() && it->second == this)
        family_->names.erase(it);
    };
    for (const auto& [name, function] : function_index_) release(name);
    for (const auto& [name, type] : type_index_) {
      release(name);
      family_->types.erase(type.get());
    }
  }
  releaseUsed();
}

void Program::releaseUsed() {
  // Each may be the last that uses another, in chains of any length: the stack must not grow with them.
  static thread_local std::vector<std::shared_ptr<Program>>* dying = nullptr;  // set while a call further up is at work
  if (dying) {
    dying->insert(dying->end(), used_.begin(), used_.end());
    return;
  }
  std::vector<std::shared_ptr<Program>> rest(used_.begin(), used_.end());
  used_.clear();
  dying = &rest;
  while (!rest.empty()) {
    const std::shared_ptr<Program> last = std::move(rest.back());
    rest.pop_back();
  }
  dying = nullptr;
}

size_t Program::numLive() {
  auto& live = LivePrograms::get();
  std::lock_guard lock(live.mutex);
  return live.programs.size();
}

std::shared_ptr<torch::jit::CompilationUnit> Program::asCompilationUnit() {
  // c10 only compares and keeps this pointer. The alias makes same-named classes of two programs differ, and an object
  // that holds it keeps this program alive.
  return {shared_from_this(), reinterpret_cast<torch::jit::CompilationUnit*>(this)};
}

void Program::takeName(const c10::QualifiedName& name) {
  const char* what = function_index_.contains(name) ? "a function" : type_index_.contains(name) ? "a type" : nullptr;
  if (!what && family_) {
    std::lock_guard lock(family_->mutex);
    if (!family_->names.emplace(name, this).second) what = "a function or a type";
  }
  if (what) {
    throw UserError(
        "method '" + name.qualifiedName() + "' already defined. It is " + what +
        " of this program; choose another name");
  }
}

void Program::releaseName(const c10::QualifiedName& name) {
  if (!family_) return;
  std::lock_guard lock(family_->mutex);
  family_->names.erase(name);
}

Function& Program::declare(c10::QualifiedName name, Function::Definer definer) {
  const auto definition_lock = lockDefinitions(*this);
  std::lock_guard lock(mutex_);
  takeName(name);
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
  const auto definition_lock = lockDefinitions(*this);
  std::lock_guard lock(mutex_);
  takeName(*type->name());
  types_.push_back(type);
  type_index_.emplace(*type->name(), type);
  if (family_) {
    std::lock_guard family_lock(family_->mutex);
    family_->types.emplace(type.get(), weak_from_this());
  }
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
  std::unique_lock<std::mutex> family_lock;
  if (family_) family_lock = std::unique_lock(family_->mutex);
  auto is_free = [&](const c10::QualifiedName& n) {
    return !function_index_.contains(n) && !type_index_.contains(n) && !(family_ && family_->names.contains(n));
  };
  if (is_free(name)) return name;
  size_t& number = family_ ? family_->next_mangle : next_mangle_;

  // A number that is there already is replaced, so that names that go through many programs stay short.
  std::vector<std::string> atoms = name.atoms();
  size_t at = 0;
  while (at < atoms.size() && !atoms[at].starts_with(kManglePrefix)) ++at;
  if (at == atoms.size()) {
    at = atoms.size() - 1;
    atoms.insert(atoms.end() - 1, std::string());
  }
  while (true) {
    atoms[at] = std::string(kManglePrefix) + std::to_string(number++);
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
    releaseName(name);
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
    releaseName(*types_[i]->name());
    if (family_) {
      std::lock_guard family_lock(family_->mutex);
      family_->types.erase(types_[i].get());
    }
    removed_types_.push_back(std::move(types_[i]));
  }
  types_.resize(num_types);
}

DefinitionScope::DefinitionScope(Program& program) : program_(program), lock_(lockDefinitions(program)) {
  std::lock_guard lock(program.mutex_);
  num_functions_ = program.functions_.size();
  num_types_ = program.types_.size();
}

DefinitionScope::~DefinitionScope() {
  if (!committed_) program_.rollBack(num_functions_, num_types_);
}

void DefinitionScope::commit() {
  committed_ = true;
  if (!program_.may_use_others_) return;
  const std::vector<c10::NamedTypePtr> types = program_.types();
  for (size_t i = num_types_; i < types.size(); ++i) program_.usePrograms(*types[i]);
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
