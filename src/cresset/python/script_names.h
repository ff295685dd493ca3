// The names of Python code, and the tables that tell what well-known Python objects are. Internal to script_*.cpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cresset/python/script.h"

namespace cresset::python {

/// The local variables of whoever called cresset.script, for names that nothing else knows; while it lives.
class CallingScope {
 public:
  explicit CallingScope(py::object locals);
  ~CallingScope();
  CallingScope(const CallingScope&) = delete;
  CallingScope& operator=(const CallingScope&) = delete;

 private:
  std::vector<py::object> scopes_;
  std::vector<py::object>* outer_;
};

class PythonNames final : public Resolver, public std::enable_shared_from_this<PythonNames> {
 public:
  /// `function` may be null (code of a class's body). `extra`: more names, or null. `owner`: the class whose body holds
  /// the function, or null; the function can name it before Python has bound the name, as decorators of it must.
  PythonNames(py::object function, py::object globals, py::object extra, py::object owner = py::object());
  ~PythonNames() override;

  SugaredValuePtr resolveValue(const std::string& name, EmitContext& cx, const SourceRange& range) override;
  TypePtr resolveType(const std::string& name, const SourceRange& range) override;
  std::vector<std::string> names() override;
  bool shadowsTypes() const override { return true; }
  std::string resolveConstructor(const std::string& name) override;
  std::optional<IValue> resolveDefault(const std::string& name, const TypePtr& type, const SourceRange& range) override;

  /// What the dotted name means in an annotation; null if nothing.
  py::object findForType(const std::string& dotted) const;

 private:
  py::object findCaptured(const py::str& name) const;
  /// The owner, if that is its name.
  py::object findOwner(const py::str& name) const;
  /// The object, and whether it is one of Python's builtins.
  std::pair<py::object, bool> findValue(const std::string& name) const;
  py::object findAnnotated(const std::string& wanted) const;
  /// A copy of the globals, with what the function captures; there is one.
  py::dict namesInScope() const;
  py::object defaultOf(const std::string& parameter) const;

  py::object function_, globals_, extra_, owner_;
};

/// A list or dict of a module's globals whose name is annotated there (`CACHE: Dict[str, int] = {}`), as a constant of
/// that type; null for other values, or if that is no type of scripts.
SugaredValuePtr annotatedContainer(
    py::handle object, py::handle globals, EmitContext& cx, const SourceRange& range, const std::string& name);

/// "List" for typing.List and list, …: what constructs types from types. "" for other objects.
std::string constructorName(py::handle object);
/// The type that an object which is no class of the user's stands for: int, torch.Tensor, torch.device, typing.Any.
TypePtr plainType(py::handle object);

/// What torch's and Python's own functions mean in programs, by identity. Filled from Python (cresset/_builtins.py).
SugaredValuePtr wellKnown(py::handle object, EmitContext& cx, const SourceRange& range);
void bindWellKnown(py::module_& module);

/// `super`, as a method that was written in the body of `cls` sees it.
SugaredValuePtr superOf(py::handle cls);

/// A subclass of torch.autograd.Function, whose `apply` Python runs; and that method by itself.
SugaredValuePtr autogradFunction(py::handle cls);
SugaredValuePtr autogradApply(py::handle cls);

/// What stands for a block that `with torch.jit._IgnoreContextManager(…)` leaves to Python (frontend/parser.h);
/// `scope`: the names that it sees.
SugaredValuePtr ignoredBlock(py::dict scope);

/// Throws UserError if the function changes a container that is a constant of it. What it calls must be compiled.
void checkOnlyReadsContainers(Function& function);

/// Whether a class was written in Python.
bool isPythonClass(py::handle cls);
/// Whether nn.Module is among the bases.
bool isModuleClass(py::handle cls);
bool isSubclass(py::handle cls, py::handle base);
py::object attributeOrNull(py::handle object, const char* name);
/// An attribute of an imported module of Python's or torch's: "enum.Enum", "torch.nn.Module". For ever alive.
py::handle known(const char* module, const char* name);

}  // namespace cresset::python
