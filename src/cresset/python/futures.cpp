// Future and Await: the Python faces of ivalue::Future, as fork makes them, and of ivalue::Await.
#include "cresset/python/awaitables.h"
#include "cresset/python/common.h"
#include "cresset/python/script_names.h"

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

// ---- awaitables

struct AwaitHandle {
  AwaitPtr script;  // null for one that Python made
  py::object function;
  py::tuple arguments;
  py::dict keywords;
  py::object result;  // null until it is asked for
  bool is_nowait = false;

  ~AwaitHandle() {
    if (script) release(IValue(std::move(script)));
  }
};

py::object waitForAwait(AwaitHandle& self) {
  if (self.result) return self.result;
  py::object result;
  if (self.script) {
    prepareThread();
    IValue value;
    {
      py::gil_scoped_release no_gil;
      value = resultOf(*self.script);
    }
    result = toPyObject(std::move(value), self.script->elementType());
  } else {
    result = self.function(*self.arguments, **self.keywords);
  }
  self.result = result;
  return result;
}

py::object functionOfAwait(const AwaitHandle& self) {
  if (self.script) throw UserError("The Await of a script has no Python function; fn() is that of _awaitable(fn, …).");
  if (self.is_nowait) throw UserError("An Await that was made with its result, by _awaitable_nowait, has no fn().");
  return self.function;
}

py::tuple argumentsOfAwait(AwaitHandle& self) {
  if (self.script && self.is_nowait) return py::make_tuple(waitForAwait(self));
  if (self.script)
    throw UserError("The Await of a script does not show its arguments; args() are those of _awaitable.");
  return self.arguments;
}

/// The attributes of an Await are those of its result.
py::object attributeOfResult(AwaitHandle& self, const py::str& name) {
  const auto text = name.cast<std::string>();
  if (text.starts_with("__")) throw py::attribute_error("'Await' object has no attribute '" + text + "'");
  return waitForAwait(self).attr(name);
}

/// One that Python made: its call returns the result of `wait`.
class PythonAwait final : public AwaitedCall {
 public:
  PythonAwait(py::object object, TypePtr type)
      : AwaitedCall(std::move(type)), object_(holdWithoutGil(std::move(object))) {}
  IValue run(std::vector<IValue>) const override {
    if (pythonIsGoingAway()) throw std::runtime_error("An Await of Python's can't be waited for any more");
    py::gil_scoped_acquire gil;
    const py::object result = py::handle(object_.get()).attr("wait")();
    return toIValue(result.ptr(), resultType());
  }

 private:
  std::shared_ptr<PyObject> object_;
};

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

py::object wrapAwait(AwaitPtr awaitable) {
  AwaitHandle handle;
  handle.is_nowait = hasResult(*awaitable);
  handle.script = std::move(awaitable);
  return py::cast(std::move(handle));
}

AwaitPtr unwrapAwait(PyObject* object, const TypePtr& element) {
  if (py::isinstance<AwaitHandle>(py::handle(object))) {
    const auto& handle = py::cast<AwaitHandle&>(py::handle(object));
    if (handle.script && handle.script->elementType()->isSubtypeOf(*element)) return handle.script;
  } else if (!py::isinstance(py::handle(object), known("torch._C", "_Await"))) {
    return {};
  }
  auto call = c10::make_intrusive<PythonAwait>(py::reinterpret_borrow<py::object>(object), element);
  return makeAwaitable(std::move(call), std::vector<IValue>());
}

TypePtr typeOfAwait(PyObject* object) {
  if (!py::isinstance<AwaitHandle>(py::handle(object))) return {};
  const auto& handle = py::cast<AwaitHandle&>(py::handle(object));
  return handle.script ? c10::AwaitType::create(handle.script->elementType()) : TypePtr();
}

void bindAwaitables(py::module_& module) {
  py::class_<AwaitHandle>(
      module, "Await", py::module_local(),
      "A call that runs when its result is first asked for. Its attributes are those of its result.")
      .def_static(
          "__class_getitem__",
          [](const py::object& element) {
            return py::module_::import("types").attr("GenericAlias")(py::type::of<AwaitHandle>(), element);
          })
      .def("wait", waitForAwait, "The result: of the call, which is made now unless it was made before.")
      .def("fn", functionOfAwait, "The Python function that is called.")
      .def("args", argumentsOfAwait, "The arguments that it is called with; the result, if is_nowait().")
      .def(
          "is_nowait", [](const AwaitHandle& self) { return self.is_nowait; },
          "Whether there was nothing left to call when Python got it.")
      .def("__getattr__", attributeOfResult);
  module.def(
      "_awaitable",
      [](py::object function, py::args arguments, const py::kwargs& keywords) {
        AwaitHandle handle;
        handle.function = std::move(function);
        handle.arguments = std::move(arguments);
        handle.keywords = keywords;
        return py::cast(std::move(handle));
      },
      "An Await of function(*arguments, **keywords).");
  module.def(
      "_awaitable_nowait",
      [](const py::object& result) {
        AwaitHandle handle;
        handle.arguments = py::make_tuple(result);
        handle.result = result;
        handle.is_nowait = true;
        return py::cast(std::move(handle));
      },
      py::arg("result"), "An Await that has its result.");
}

}  // namespace cresset::python
