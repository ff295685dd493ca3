// C++ exceptions to Python's.
//
//   UserError      cresset.UserError, or cresset.CompileError if it points into a program
//   ArchiveError   cresset.ArchiveError
//   ScriptError    cresset.ScriptError if the script named a Python class (and then an instance of that class too, if
//   it
//                  is a builtin one); RuntimeError if an operator threw
//   HostException  the Python exception that it was
//   anything else  what torch makes of it
// Cresset's own are cresset.Errors, which are RuntimeErrors.
// The classes are Python's (cresset/_errors.py), so that this file only fetches and fills them.
#include "cresset/python/common.h"

#include <torch/csrc/Exceptions.h>

#include "cresset/ops/host_callable.h"
#include "cresset/ops/operator.h"

namespace cresset::python {

namespace {

/// The Python error that an interrupt check met (KeyboardInterrupt); it outlives the unwinding of the script's frames.
thread_local std::optional<py::error_already_set> pending_interrupt;

py::object errorModule() {
  return py::module_::import("cresset._errors");
}

void raise(const py::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

/// A message as Python text. What a script cut inside of a character is shown as escapes: a message must always print.
py::str textOf(const std::string& message) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
}

void raiseScriptError(const ScriptError& error) {
  if (error.pythonClass() == "builtins.KeyboardInterrupt" && pending_interrupt) {
    pending_interrupt->restore();
    pending_interrupt.reset();
    return;
  }
  py::list frames;
  for (const ScriptFrame& frame : error.frames()) {
    std::string file = frame.range ? frame.range.source->name() : "";
    size_t line = frame.range ? frame.range.source->lineNumber(frame.range.begin) : 0;
    frames.append(py::make_tuple(frame.function, file, line));
  }
  // Names of tensor types as Python has them ("torch.FloatTensor"), as for every error that torch itself raises; what
  // the script says stays as it says it.
  const bool raised = !error.pythonClass().empty();
  const auto shown = [&](const char* text) {
    return textOf(raised ? std::string(text) : torch::processErrorMsg(text));
  };
  raise(errorModule().attr("make_script_error")(
      shown(error.what()), shown(error.message().c_str()), error.pythonClass(), frames));
}

void translate() {
  try {
    throw;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (python_error& error) {
    error.restore();
  } catch (const HostException& error) {
    try {
      std::rethrow_exception(error.error());
    } catch (const py::error_already_set& own) {  // others may hold it, too: a future has many readers
      PyErr_Restore(own.type().inc_ref().ptr(), own.value().inc_ref().ptr(), own.trace().inc_ref().ptr());
    }
  } catch (const ScriptError& error) {
    raiseScriptError(error);
  } catch (const ScriptRaise& error) {
    raiseScriptError(ScriptError(error.what(), error.pythonClass(), {}));
  } catch (const ArchiveError& error) {
    py::object offset =
        error.offset() == ArchiveError::kNoOffset ? py::object(py::none()) : py::object(py::int_(error.offset()));
    raise(errorModule().attr("make_archive_error")(
        textOf(error.what()), textOf(error.file()), textOf(error.entry()), offset, textOf(error.reason())));
  } catch (const UserError& error) {
    py::object line = error.range() ? py::object(py::int_(error.range().source->lineNumber(error.range().begin)))
                                    : py::object(py::none());
    raise(errorModule().attr("make_user_error")(
        textOf(error.what()), textOf(error.message()), textOf(error.range() ? error.range().source->name() : ""),
        line));
  } catch (const CastError& error) {
    PyErr_SetObject(PyExc_RuntimeError, textOf(error.what()).ptr());
  } catch (const InternalError& error) {
    raise(errorModule().attr("InternalError")(textOf(error.what())));
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const c10::Error&) {
    torch::translate_exception_to_python(std::current_exception());
  } catch (const std::exception& error) {
    PyErr_SetObject(PyExc_RuntimeError, textOf(error.what()).ptr());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
  }
}

}  // namespace

void translateCurrentException() noexcept {
  try {
    translate();
  } catch (py::error_already_set& error) {
    error.restore();  // making the Python exception failed; that failure is the news
  } catch (...) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "an error could not be translated");
  }
}

std::exception_ptr pythonErrorOf(const std::exception_ptr& exception, std::string& message) {
  try {
    std::rethrow_exception(exception);
  } catch (python_error& error) {
    if (pythonIsGoingAway()) return nullptr;
    py::gil_scoped_acquire gil;
    error.persist();  // it may still be Python's current error
    if (!error.type) {
      message = "a Python exception, which was lost with the state that Python had of this thread of a fork";
      return nullptr;
    }
    // Without `error.restore()`, which empties it: others may hold it, too.
    Py_XINCREF(error.type);
    Py_XINCREF(error.value);
    Py_XINCREF(error.traceback);
    PyErr_Restore(error.type, error.value, error.traceback);
    return std::make_exception_ptr(py::error_already_set());
  } catch (...) {
    return nullptr;
  }
}

void rememberInterrupt(py::error_already_set error) {
  pending_interrupt.emplace(std::move(error));
}

void bindErrors(py::module_& module) {
  py::register_local_exception_translator([](std::exception_ptr exception) {
    if (!exception) return;
    try {
      std::rethrow_exception(std::move(exception));
    } catch (const Error&) {
      translateCurrentException();
    } catch (const CastError&) {
      translateCurrentException();
    } catch (const HostException&) {
      translateCurrentException();
    } catch (const c10::Error&) {
      translateCurrentException();
    }
  });
}

}  // namespace cresset::python
