// Python objects as parts of programs: what `cresset.script` is made of.
//
// A Python function is compiled from the file that it was written in: our parser reads its `def` in place, and names
// that the text does not define are looked up in the live function (closure cells, globals, builtins). Whatever Python
// object a name leads to becomes a SugaredValue: functions are compiled too, classes become types, torch's
// functions operators, numbers constants.
//
// Locks: the definition lock of Python's Programs comes before the GIL. It must not be waited for with the GIL held;
// whoever compiles holds the lock first, and takes the GIL whenever it touches Python objects. ScriptSession does both
// for entries from Python. Everything declared here must be called with the lock and the GIL held, inside a session or
// inside the definer of a function that was declared in one; `locked…` functions are the exceptions and say so.
// While the lock is held no module is imported: another thread may hold that module's import lock and wait for ours.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cresset/frontend/compiler.h"
#include "cresset/python/common.h"
#include "cresset/python/python_programs.h"

namespace cresset::python {

/// One step of definition: a call of cresset.script, a conversion of a module. What it declares is a Program of its
/// own. Waits for the definition lock with the GIL released. Unless finish() is reached, everything declared,
/// registered and cached since is taken back. Nested sessions (of the same thread) belong to the outermost one: their
/// finish() compiles, and what they made stays only if the outermost finishes.
class ScriptSession {
 public:
  ScriptSession();
  ~ScriptSession();
  ScriptSession(const ScriptSession&) = delete;
  ScriptSession& operator=(const ScriptSession&) = delete;
  /// Compiles every body that was declared since (those that they declare included), then keeps all.
  void finish();
  /// Runs if the definitions are taken back; for caches.
  static void onRollback(std::function<void()> undo);
  /// Keeps a Program alive until the session of this thread ends, when those that refer to it do so themselves; nothing
  /// if there is none.
  static void hold(std::shared_ptr<Program> program);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The Program to which belongs what is declared now: that of the function that is being compiled, so that what only it
/// uses is freed with it; else the session's.
Program& currentProgram();

/// While it lives, what is declared belongs to the given Program, which an earlier session may have made.
class InProgram {
 public:
  explicit InProgram(Program& program);
  ~InProgram();
  InProgram(const InProgram&) = delete;
  InProgram& operator=(const InProgram&) = delete;
};

// ---- script_source.cpp: text

/// The `def` of a Python function, as its file has it now; decorators are left out. Throws UserError if the source
/// can't be found, is no `def` (a lambda), or is outside the language.
Def readFunction(py::handle function);
/// Where a function's `def` line or a class stands, for messages; an empty range if that is not known.
SourceRange placeOf(py::handle function_or_class);
/// The function itself, without what functools.wraps put around it.
py::object unwrapFunction(py::handle function);

// ---- script_resolver.cpp: names

/// Names as code at a place of a Python program sees them: closure cells, globals, builtins; and, for annotations, what
/// they mean as types. Defaults of parameters are the function's live ones. `owner`: the class that it is a method of,
/// which it can name even if Python has not bound the name yet, since decorators of the class still run.
ResolverPtr resolverOf(py::handle function, py::handle owner = py::handle());
/// As seen by the body of a class: the globals of its module, and the class itself by its name.
ResolverPtr resolverOfClass(py::handle cls);
/// The Python object that the dotted name means there; null if there is none.
py::object lookUp(const ResolverPtr& resolver, const std::string& dotted_name);

// ---- script_types.cpp: types

/// The type that a Python object means as an annotation (`int`, `List[int]`, `Optional[C]`, a class, a string, a
/// forward reference, …). `names` resolves what strings in it name; may be null. Null if it is none.
TypePtr typeOfAnnotationObject(py::handle annotation, const SourceRange& range, const ResolverPtr& names);
/// As that, but throws UserError that says what the annotation is.
TypePtr requireTypeOfAnnotation(py::handle annotation, const SourceRange& range, const ResolverPtr& names);
/// The type of a Python class: script classes, enums, named tuples, interfaces, exceptions, dataclasses; declared on
/// first use. Throws UserError if it can't be one.
TypePtr typeOfClass(py::handle cls, const SourceRange& range);
/// The type of a class that is known already; null otherwise.
TypePtr knownTypeOfClass(py::handle cls);
/// Makes `type`, of the current Program, the type of `cls`, until the session is taken back, or the Program or the
/// class dies.
void publishClass(py::handle cls, TypePtr type);
/// From now on, the class keeps its type, which is known, and the Program of it.
void keepType(py::handle cls);
/// The Python class that a type was made from; null if there is none, or if it is gone.
py::object pythonClassOf(const c10::Type& type);

// ---- script_values.cpp: values

/// What a Python object means in a program. Never null: throws UserError, naming `name`, if the object can't be used.
SugaredValuePtr sugarOf(py::handle object, EmitContext& cx, const SourceRange& range, const std::string& name);
/// As sugarOf, but null for objects that mean nothing by themselves.
SugaredValuePtr trySugarOf(py::handle object, EmitContext& cx, const SourceRange& range, const std::string& name);
/// A Python value (number, str, bool, None, dtype, device, …, tuples, lists and dicts of them) as a constant; nullopt
/// for other objects.
std::optional<IValue> constantOf(py::handle object);
/// The meaning of objects of one kind; null if the object is of another. Asked before everything else, in order of
/// registration. This is how nn.Module instances, containers of them and their bound methods get theirs: while nothing
/// is registered for them they are an error that says so.
using ObjectHandler = std::function<SugaredValuePtr(
    py::handle object, EmitContext& cx, const SourceRange& range, const std::string& name)>;
void addObjectHandler(ObjectHandler handler);

// ---- script_functions.cpp: functions and methods

/// What decorators left on a function (torch.jit's or ours: they leave the same marks).
enum class Mark { None, Export, Unused, Ignore, IgnoreDrop, ScriptIfTracing, Overload };
Mark markOf(py::handle function);

/// The function that a Python function is in programs: declared on first use, under its qualified name (mangled if that
/// is taken), and compiled before the session ends. It is known as long as its Program lives. `range` is where it is
/// used, for the stack of compilation; empty if from Python.
Function& declareFunction(py::handle function, const SourceRange& range);
/// A copy, its calls inlined, of a function whose program is not of Python's family (an archive's, a
/// CompilationUnit's), in the program to which belongs what is declared now: one in each session. It keeps the rules of
/// its program.
Function& declareCopy(Function& original, const SourceRange& range);
/// From now on, the Python function keeps what declareFunction made of it.
void keepCompiled(py::handle function);

/// A function whose body is a Python function's, under a given name.
struct MethodOptions {
  c10::QualifiedName name;
  /// The receiver's type; null for static methods and functions.
  TypePtr self_type;
  /// What the first parameter means in the body; null: a value of `self_type`.
  std::function<SugaredValuePtr(Value* self)> self;
  /// Where it is used, for the stack of compilation.
  SourceRange range;
  /// Null: that of the function itself.
  ResolverPtr resolver;
  /// A function whose parameters and result are those of the method; empty: its own. For one of several overloads.
  py::object overload;
  /// For classmethods: the first parameter is left out, and means this type in the body.
  TypePtr class_method_of;
};
/// Declares it and queues its body. The caller adds it to the class. @unused ones get a body that raises, @ignore ones
/// a body that calls back into Python.
Function& declareMethod(py::handle function, const MethodOptions& options);
/// As that, for a text that was made; `options.resolver` must be given.
Function& declareText(const Def& def, const MethodOptions& options);
/// "__torch__.package.name" of a function or class, as torch.jit names it.
c10::QualifiedName qualifiedNameOf(py::handle object);
/// The signatures that were declared for `function` by @torch.jit._overload (or of a method, by _overload_method):
/// Python functions, empty if there are none.
std::vector<py::object> overloadsOf(py::handle function);
std::vector<py::object> overloadsOfMethod(py::handle method, py::handle cls);
/// Chooses among several signatures by the arguments, compiling the one that fits.
SugaredValuePtr overloadedFunction(py::handle function);

/// The function that is being compiled on this thread, innermost; null outside.
Function* functionBeingCompiled();
/// A warning that is given once, when the session that compiles now has ended well.
void warnAfterCompilation(const std::string& warning);

// ---- script_ignored.cpp: calls back into Python

/// What calls `callable` from a program: ^name(…) in graphs. The annotations of the Python function `signature_of`
/// (usually the same object) say the types; `bound`: its first parameter is not passed, `callable` being bound to it.
/// `self_type`: the type of the first parameter, for methods that are called with their receiver.
SugaredValuePtr pythonCallable(
    py::handle callable, py::handle signature_of, bool bound, const SourceRange& range,
    const TypePtr& self_type = TypePtr());

// ---- script_bind.cpp
void bindScript(py::module_& module);

}  // namespace cresset::python
