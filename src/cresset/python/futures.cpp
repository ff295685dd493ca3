// Future: the Python face of ivalue::Future, as fork makes them.
#include "cresset/python/common.h"

#include "cresset/interpreter/futures.h"
#include "cresset/module/values.h"
#include "cresset/ops/operator.h"

namespace cresset::python {

namespace {

struct FutureHandle {
  FuturePtr future;
  ~FutureHandle() {
    if (future) release(IValue(std::move(future)));
  }
};

/// A Python object that C++ callbacks hold: its last reference may go away on a thread without the GIL.
std::shared_ptr<PyObject> holdWithoutGil(py::object object) {
  return {object.release().ptr(), [](PyObject* held) {
            if (pythonIsGoingAway()) return;  // and takes the object along
            py::gil_scoped_acquire gil;
            Py_DECREF(held);
          }};
}

void raiseIfFailed(const c10::ivalue::Future& future) {
  if (future.hasError()) std::rethrow_exception(future.exception_ptr());
}

/// Waits without the GIL, and lets signals through: ivalue::Future's own wait can't be interrupted. A thread of the
/// pool, in a callback, runs other tasks meanwhile.
py::object waitFor(const FutureHandle& self) {
  if (!self.future->completed()) {
    prepareThread();
    py::gil_scoped_release no_gil;
    try {
      blockOn(*self.future);
    } catch (const ScriptRaise& interrupted) {
      throw ScriptError(interrupted.what(), interrupted.pythonClass(), {});
    }
  }
  raiseIfFailed(*self.future);
  return toPyObject(self.future->value(), self.future->elementType());
}

py::object valueOf(const FutureHandle& self) {
  if (!self.future->completed()) throw UserError("value() of a Future that is not done; wait() for it.");
  raiseIfFailed(*self.future);
  return toPyObject(self.future->value(), self.future->elementType());
}

/// An empty future, which Python completes. Its values are of any type that scripts know.
FutureHandle makeFuture() {
  return {c10::make_intrusive<c10::ivalue::Future>(c10::AnyType::get())};
}

void checkIsNotDone(const FutureHandle& self) {
  if (self.future->completed()) throw UserError("The result of this Future is set already.");
}

void setResult(const FutureHandle& self, const py::object& result) {
  checkIsNotDone(self);
  const TypePtr type = self.future->elementType();
  IValue value = type->kind() == c10::TypeKind::AnyType ? toInferredIValue(result.ptr()) : toIValue(result.ptr(), type);
  py::gil_scoped_release no_gil;  // callbacks run now
  self.future->markCompleted(std::move(value));
}

void setException(const FutureHandle& self, const py::object& exception) {
  if (!PyExceptionInstance_Check(exception.ptr())) {
    throw py::type_error("set_exception takes an exception, not " + typeName(exception.ptr()));
  }
  checkIsNotDone(self);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  auto error = std::make_exception_ptr(py::error_already_set());
  py::gil_scoped_release no_gil;
  self.future->setError(std::move(error));
}

/// Null if `callable` is no script.
py::object forkScript(const py::object& callable, const py::tuple& args, const py::dict& kwargs) {
  prepareThread();
  FuturePtr future = forkCallable(callable.ptr(), args, kwargs);
  return future ? wrapFuture(std::move(future)) : py::object(py::none());
}

FuturePtr thenCall(const FutureHandle& self, py::object callback) {
  auto held = holdWithoutGil(std::move(callback));
  return self.future->then(
      [held](c10::ivalue::Future& done) -> IValue {
        py::gil_scoped_acquire gil;
        py::object argument = wrapFuture(FuturePtr::reclaim_copy(&done));
        py::object result = py::reinterpret_borrow<py::object>(held.get())(argument);
        return toInferredIValue(result.ptr());
      },
      c10::AnyType::get());
}

}  // namespace

py::object wrapFuture(FuturePtr future) {
  return py::cast(FutureHandle{std::move(future)});
}

FuturePtr unwrapFuture(PyObject* object) {
  if (!py::isinstance<FutureHandle>(py::handle(object))) return {};
  return py::cast<FutureHandle&>(py::handle(object)).future;
}

FuturePtr futureOf(FuturePtr future, const TypePtr& element) {
  if (future->elementType()->isSubtypeOf(*element)) return future;
  auto checked = c10::make_intrusive<c10::ivalue::Future>(element);
  future->addCallback([checked, element](c10::ivalue::Future& done) {
    if (done.hasError()) return checked->setError(done.exception_ptr());
    if (auto value = convertTo(done.value(), element)) return checked->markCompleted(std::move(*value));
    checked->setError(std::make_exception_ptr(UserError(
        "A script expected a Future of " + element->repr_str() + ", but its value is of type " +
        done.value().type()->repr_str())));
  });
  return checked;
}

void bindFutures(py::module_& module) {
  py::class_<FutureHandle>(
      module, "Future", py::module_local(), "The result of a fork: a value that may not be there yet.")
      .def(py::init([] { return makeFuture(); }), "A Future that is done when set_result or set_exception is called.")
      .def_static(
          "__class_getitem__",
          [](const py::object& element) {
            return py::module_::import("types").attr("GenericAlias")(py::type::of<FutureHandle>(), element);
          })
      .def("wait", waitFor, "The value; waits for it, and raises what the forked code raised.")
      .def("done", [](const FutureHandle& self) { return self.future->completed(); })
      .def("value", valueOf, "The value of a Future that is done; raises what the forked code raised.")
      .def(
          "then",
          [](const FutureHandle& self, py::object callback) { return wrapFuture(thenCall(self, std::move(callback))); },
          py::arg("callback"),
          "A Future of callback(self), called when this one is done, on the thread that completes it.")
      .def("set_result", setResult, py::arg("result"))
      .def("set_exception", setException, py::arg("exception"))
      .def(
          "add_done_callback",
          [](const FutureHandle& self, py::object callback) {
            auto held = holdWithoutGil(std::move(callback));
            self.future->addCallback([held](c10::ivalue::Future& done) {
              py::gil_scoped_acquire gil;
              try {
                py::reinterpret_borrow<py::object>(held.get())(wrapFuture(FuturePtr::reclaim_copy(&done)));
              } catch (py::error_already_set& error) {
                error.discard_as_unraisable("a callback of cresset.Future");
              }
            });
          },
          py::arg("callback"), "Calls callback(self) when this one is done; what it raises is reported and dropped.");
  module.def("_fork", forkScript, py::arg("callable"), py::arg("args"), py::arg("kwargs"));
}

}  // namespace cresset::python
