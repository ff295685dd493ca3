// What the files of the extension share: handles, conversions, error translation.
//
// Rules that hold everywhere here: Python objects are touched with the GIL held; the GIL is released around anything
// that compiles, loads or runs; a C++ exception never leaves through a C entry point (see guarded).
#pragma once

#include <torch/csrc/autograd/python_variable.h>

#include <pybind11/pybind11.h>

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cresset/module/module.h"
#include "cresset/ops/nesting.h"
#include "cresset/support/error.h"

namespace cresset::python {

namespace py = pybind11;
using c10::TypePtr;

/// Thrown by conversions: this Python object can't be a value of the wanted type. what() says why.
class CastError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A reference to a script object, as Python holds it (`_c` of ScriptModule and ScriptObject).
struct ObjectHandle {
  ObjectPtr object;
  ~ObjectHandle() {
    if (object) release(IValue(std::move(object)));
  }
};

// ---- convert_in.cpp
/// `object` as a value of type `type`. Throws CastError.
IValue toIValue(PyObject* object, const TypePtr& type);
/// The type that a Python object has when nothing says which is wanted (Any). Throws UserError.
TypePtr inferType(PyObject* object);
inline IValue toInferredIValue(PyObject* object) {
  return toIValue(object, inferType(object));
}
/// The keys and values of a dict or another mapping, held: what is done with them may run Python code, which may change
/// it. Throws UserError if items() of a mapping returns anything but pairs.
std::vector<std::pair<py::object, py::object>> entriesOf(PyObject* mapping);
/// The name of the object's Python type.
std::string typeName(PyObject* object);
/// repr(object), shortened.
std::string shortRepr(PyObject* object);
/// The int that scripts see of a torch.dtype, layout, memory_format or qscheme; nullopt for anything else.
std::optional<int64_t> enumLikeInt(PyObject* object);

// ---- convert_out.cpp
/// A new reference. `hint` is the static type if it is known; it names the fields of tuples that don't say so
/// themselves.
PyObject* toPython(IValue value, const TypePtr& hint = TypePtr());
inline py::object toPyObject(IValue value, const TypePtr& hint = TypePtr()) {
  return py::reinterpret_steal<py::object>(toPython(std::move(value), hint));
}
/// The type of a Python enum class that toPython made; null for others.
c10::EnumTypePtr enumTypeOf(PyObject* python_class);

// ---- objects.cpp
/// The Python wrapper of a script object: the same one as long as it is alive.
py::object wrapObject(const ObjectPtr& object);
/// The object that a wrapper stands for; null if `object` is none.
ObjectPtr unwrapObject(PyObject* object);
void bindObjects(py::module_& module);

/// A weak reference to `object`; `at_end` runs when the object goes, with the GIL held, unless the reference is gone by
/// then.
py::object weakReference(py::handle object, std::function<void()> at_end);
/// What it refers to; null if that is gone.
py::object strongReference(const py::object& weak);

// ---- foreign.cpp
/// Whether `object` is torch.ScriptObject: an instance of a custom C++ class.
bool isForeignObject(PyObject* object);
ObjectPtr takeForeignObject(PyObject* object);
py::object giveForeignObject(const ObjectPtr& object);
void bindForeign(py::module_& module);

// ---- futures.cpp
using FuturePtr = c10::intrusive_ptr<c10::ivalue::Future>;
py::object wrapFuture(FuturePtr future);
FuturePtr unwrapFuture(PyObject* object);  // null if it is none
/// `future` if its values have type `element`; else one that fails if the value turns out to be another.
FuturePtr futureOf(FuturePtr future, const TypePtr& element);
void bindFutures(py::module_& module);

// ---- containers.cpp
/// Whether `object` is a cresset.ScriptList or ScriptDict: a reference to a list or dict of scripts.
bool isScriptContainer(PyObject* object);
/// What it refers to, and its type.
std::pair<IValue, TypePtr> unwrapContainer(PyObject* object);
void bindContainers(py::module_& module);

// ---- callable.cpp
py::object makeFunction(std::shared_ptr<Program> program, Function& function);
py::object makeMethod(ObjectPtr self, Function& function);
/// The function of a ScriptFunction or ScriptMethod; null if `object` is none.
Function* functionOf(PyObject* object);
/// Runs a script function or method on another thread; null if `object` is none.
FuturePtr forkCallable(PyObject* object, const py::tuple& args, const py::dict& kwargs);
void bindCallables(py::module_& module);

// ---- errors.cpp
/// Sets the Python error for the exception that is being handled. Call in a catch block, with the GIL held.
void translateCurrentException() noexcept;
void bindErrors(py::module_& module);

/// Runs `body` for a C entry point: a C++ exception becomes a Python error and nullptr.
template <typename Body>
PyObject* guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    translateCurrentException();
    return nullptr;
  }
}

// ---- graph.cpp, program.cpp, host.cpp, tracing.cpp
void bindGraph(py::module_& module);
void bindProgram(py::module_& module);
void bindHost(py::module_& module);
void bindTracing(py::module_& module);
void bindExecuting(py::module_& module);
void bindFacts(py::module_& module);
void bindObserving(py::module_& module);
void bindFunctional(py::module_& module);
/// Before scripts run on this thread: makes Ctrl-C reach them, and their operators' warnings reach Python.
void prepareThread();
/// Whether Python can no longer be called.
bool pythonIsGoingAway();
/// Around a run: keeps the exception that a filter makes of an operator's warning.
class WarningErrors {
 public:
  WarningErrors();
  ~WarningErrors();
  WarningErrors(const WarningErrors&) = delete;
  WarningErrors& operator=(const WarningErrors&) = delete;
  /// Throws it, with the GIL held.
  void raisePending();

 private:
  bool outer_;
};
/// What a script passes on as it is: a Python error that an operator threw, of a hook, say. Null if it is none.
std::exception_ptr pythonErrorOf(const std::exception_ptr& exception, std::string& message);
/// Keeps a Python error that an interrupt check met until the script has unwound.
void rememberInterrupt(py::error_already_set error);
py::object schemaToPython(const c10::FunctionSchema& schema);
py::object typeToPython(const TypePtr& type);
/// torch.float32.
py::object dtypeToPython(c10::ScalarType dtype);
/// The type of a cresset.Type or a torch._C.Type. Throws a Python TypeError if it is something else.
TypePtr typeFromPython(py::handle type);
/// Python may edit the graph, so it must be one that nothing else has: a copy, if it is a function's.
py::object graphToPython(const std::shared_ptr<Graph>& graph);

}  // namespace cresset::python
