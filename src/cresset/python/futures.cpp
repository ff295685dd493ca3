// Future: the Python face of ivalue::Future, as fork makes them.
#include "cresset/python/common.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cresset::python {

namespace {

struct FutureHandle {
  FuturePtr future;
};

/// A Python object that C++ callbacks hold: its last reference may go away on a thread without the GIL.
std::shared_ptr<PyObject> holdWithoutGil(py::object object) {
  return {object.release().ptr(), [](PyObject* held) {
            py::gil_scoped_acquire gil;
            Py_DECREF(held);
          }};
}

/// Waits without the GIL, and lets signals through: ivalue::Future's own wait can't be interrupted.
void waitInterruptibly(c10::ivalue::Future& future) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;
  };
  auto gate = std::make_shared<Gate>();  // outlives this call if a signal ends it
  future.addCallback([gate](c10::ivalue::Future&) {
    std::lock_guard lock(gate->mutex);
    gate->open = true;
    gate->opened.notify_all();
  });
  while (true) {
    {
      py::gil_scoped_release no_gil;
      std::unique_lock lock(gate->mutex);
      if (gate->opened.wait_for(lock, std::chrono::milliseconds(50), [&] { return gate->open; })) return;
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

py::object waitFor(const FutureHandle& self) {
  if (!self.future->completed()) waitInterruptibly(*self.future);
  if (self.future->hasError()) std::rethrow_exception(self.future->exception_ptr());
  return toPyObject(self.future->value(), self.future->elementType());
}

py::object valueOf(const FutureHandle& self) {
  if (!self.future->completed()) throw UserError("value() of a Future that is not done; wait() for it.");
  if (self.future->hasError()) std::rethrow_exception(self.future->exception_ptr());
  return toPyObject(self.future->value(), self.future->elementType());
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

void bindFutures(py::module_& module) {
  py::class_<FutureHandle>(
      module, "Future", py::module_local(), "The result of a fork: a value that may not be there yet.")
      .def(
          py::init([](const py::object& value) {
            // What cresset.fork of a Python callable gives: the callable has run already, as under torch.jit.
            TypePtr type = inferType(value.ptr());
            auto future = c10::make_intrusive<c10::ivalue::Future>(type);
            future->markCompleted(toIValue(value.ptr(), type));
            return FutureHandle{std::move(future)};
          }),
          py::arg("value"))
      .def("wait", waitFor, "The value; waits for it, and raises what the forked code raised.")
      .def("done", [](const FutureHandle& self) { return self.future->completed(); })
      .def("value", valueOf, "The value of a Future that is done.")
      .def(
          "then",
          [](const FutureHandle& self, py::object callback) { return wrapFuture(thenCall(self, std::move(callback))); },
          py::arg("callback"), "A Future of callback(self), called when this one is done.")
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
          py::arg("callback"));
}

}  // namespace cresset::python
