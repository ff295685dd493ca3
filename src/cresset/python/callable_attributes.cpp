// What ScriptFunction and ScriptMethod have besides being called: names, graphs, code, saving.
#include "cresset/archive/code_printer.h"
#include "cresset/executor/executor.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/passes/pipelines.h"
#include "cresset/python/callable.h"
#include "cresset/python/graph_handles.h"
#include "cresset/python/static_modules.h"

namespace cresset::python {

namespace {

Function& functionRef(PyObject* self) {
  return *asCallable(self)->target->function;
}

PyObject* toUnicode(const std::string& text) {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* getName(PyObject* self, void*) {
  return guarded([&] { return toUnicode(functionRef(self).name()); });
}
PyObject* getQualifiedName(PyObject* self, void*) {
  return guarded([&] { return toUnicode(functionRef(self).qualname().qualifiedName()); });
}
PyObject* getDoc(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    auto doc = functionRef(self).doc_string();
    if (doc.empty()) Py_RETURN_NONE;
    return toUnicode(std::string(doc));
  });
}
PyObject* getSchema(PyObject* self, void*) {
  return guarded([&] { return schemaToPython(schemaOf(functionRef(self))).release().ptr(); });
}
PyObject* getGraph(PyObject* self, void*) {
  return guarded([&] {
    std::shared_ptr<Graph> graph;
    {
      py::gil_scoped_release no_gil;
      // Those from text and archives are not tidy yet.
      auto editable = functionRef(self).editableGraph([](Graph& copy) { tidyDefinition(copy); });
      graph = keptWith(std::move(editable), functionRef(self).program().shared_from_this());
    }
    return graphToPython(graph).release().ptr();
  });
}
PyObject* getInlinedGraph(PyObject* self, void*) {
  return guarded([&] {
    std::shared_ptr<Graph> graph;
    {
      py::gil_scoped_release no_gil;
      graph = keptWith(inlinedForPeople(functionRef(self)), functionRef(self).program().shared_from_this());
    }
    return graphToPython(graph).release().ptr();
  });
}

/// A method's code is shown as people write it, without the class of `self`.
CodeOptions codeOptions(PyObject* callable) {
  return CodeOptions{.type_of_first = asCallable(callable)->target->self == nullptr};
}

PyObject* getCode(PyObject* self, void*) {
  return guarded([&] {
    std::string text;
    {
      py::gil_scoped_release no_gil;
      text = printCode(functionRef(self), codeOptions(self));
    }
    return toUnicode(text);
  });
}

/// A pair of the code and the constants that it refers to as CONSTANTS.c0, ….
PyObject* getCodeWithConstants(PyObject* self, void*) {
  return guarded([&] {
    std::string text;
    CodeConstants constants;
    {
      py::gil_scoped_release no_gil;
      CodeOptions options = codeOptions(self);
      options.constants = &constants;
      text = printCode(functionRef(self), options);
    }
    py::dict named;
    for (size_t i = 0; i < constants.values.size(); ++i)
      named[py::str("c" + std::to_string(i))] = toPyObject(constants.values[i]);
    py::object by_name = py::module_::import("cresset._objects").attr("Constants")(named);
    return py::make_tuple(text, by_name).release().ptr();
  });
}

PyObject* getOwner(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const ObjectPtr& object = asCallable(self)->target->self;
    if (!object) Py_RETURN_NONE;
    return wrapObject(object).release().ptr();
  });
}

PyObject* disassembleMethod(PyObject* self, PyObject*) {
  return guarded([&] {
    std::string text;
    {
      py::gil_scoped_release no_gil;
      Function& function = functionRef(self);
      text = disassemble(*emitCode(function.graph(), function.qualname().qualifiedName()));
    }
    return toUnicode(text);
  });
}

/// The optimized graph that a call with these arguments would run.
PyObject* graphForArguments(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    Function& function = functionRef(self);
    Stack stack = bindCall(
        self, py::reinterpret_borrow<py::args>(args),
        kwargs ? py::reinterpret_borrow<py::kwargs>(kwargs) : py::kwargs());
    std::shared_ptr<Graph> graph;
    {
      py::gil_scoped_release no_gil;
      graph = graphFor(function, std::move(stack))->copy();
    }
    return graphToPython(graph).release().ptr();
  });
}

/// cresset.save(self, …): the function becomes the forward of a module.
PyObject* save(PyObject* self, PyObject* args, PyObject* kwargs, const char* function) {
  return guarded([&] {
    py::object save = py::module_::import("cresset._serialization").attr(function);
    py::dict keywords = kwargs ? py::reinterpret_borrow<py::dict>(kwargs) : py::dict();
    return save(py::handle(self), *py::reinterpret_borrow<py::tuple>(args), **keywords).release().ptr();
  });
}
PyObject* saveFile(PyObject* self, PyObject* args, PyObject* kwargs) {
  return save(self, args, kwargs, "save");
}
PyObject* saveToBuffer(PyObject* self, PyObject* args, PyObject* kwargs) {
  return save(self, args, kwargs, "save_to_buffer");
}

PyObject* getDebugState(PyObject* self, PyObject*) {
  return guarded([&] {
    const py::object state = py::module_::import("cresset._optimization").attr("get_debug_state");
    return state(py::reinterpret_borrow<py::object>(self)).release().ptr();
  });
}

PyObject* flushPlans(PyObject* self, PyObject*) {
  return guarded([&] {
    Function& function = *functionOf(self);
    {
      py::gil_scoped_release no_gil;
      forgetPlans(function);
    }
    return py::none().release().ptr();
  });
}

PyObject* reduce(PyObject*, PyObject*) {
  const py::object error = py::module_::import("pickle").attr("PickleError");
  PyErr_SetString(error.ptr(), "ScriptFunction cannot be pickled: save it with cresset.save");
  return nullptr;
}

PyObject* copySelf(PyObject* self, PyObject*) {
  Py_INCREF(self);  // immutable, so a copy is itself
  return self;
}

PyGetSetDef getters[] = {
    {"name", getName, nullptr, "Name of the function.", nullptr},
    {"__name__", getName, nullptr, nullptr, nullptr},
    {"qualified_name", getQualifiedName, nullptr, "Name with its prefix.", nullptr},
    {"__qualname__", getQualifiedName, nullptr, nullptr, nullptr},
    {"__doc__", getDoc, nullptr, nullptr, nullptr},
    {"schema", getSchema, nullptr, "The FunctionSchema.", nullptr},
    {"graph", getGraph, nullptr,
     "The Graph as the front end made it, or as it was edited. The function runs what it was edited to before its "
     "first "
     "run; later edits show in what is printed, saved and frozen.",
     nullptr},
    {"inlined_graph", getInlinedGraph, nullptr, "The Graph with all calls whose target is known inlined.", nullptr},
    {"code", getCode, nullptr, "The graph as TorchScript source.", nullptr},
    {"code_with_constants", getCodeWithConstants, nullptr,
     "The code, and a dict of the constants that it names (`constants.c0`).", nullptr},
    {"owner", getOwner, nullptr, "The object that a method is bound to; None for functions.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

/// For functions that the caller alone has: plans that there are already are kept.
PyObject* keepExact(PyObject* self, PyObject*) {
  asCallable(self)->target->is_exact = true;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"_keep_exact", keepExact, METH_NOARGS, nullptr},
    {"disassemble", disassembleMethod, METH_NOARGS, "The bytecode, one instruction per line."},
    {"graph_for", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(graphForArguments)),
     METH_VARARGS | METH_KEYWORDS,
     "The optimized graph that a call with these arguments runs once plans are used; see cresset.explain."},
    {"get_debug_state", getDebugState, METH_NOARGS,
     "The graph and its plans, under torch.jit's names; see cresset.explain."},
    {"_debug_flush_compilation_cache", flushPlans, METH_NOARGS,
     "Forgets its plans: the next call makes one, by the options of then."},
    {"save", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(saveFile)), METH_VARARGS | METH_KEYWORDS,
     "Saves a module whose forward is this function; see cresset.save."},
    {"save_to_buffer", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(saveToBuffer)),
     METH_VARARGS | METH_KEYWORDS, "As save, but returns the bytes."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__copy__", copySelf, METH_NOARGS, nullptr},
    {"__deepcopy__", copySelf, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyGetSetDef* callableGetters() {
  return getters;
}

PyMethodDef* callableMethods() {
  return methods;
}

PyObject* representCallable(PyObject* self) {
  return guarded([&] {
    const char* kind = asCallable(self)->target->self ? "ScriptMethod " : "ScriptFunction ";
    return toUnicode(std::string("<cresset.") + kind + functionRef(self).qualname().qualifiedName() + ">");
  });
}

}  // namespace cresset::python
