// Objects of custom C++ classes (TORCH_LIBRARY's class_): Python holds them as torch.ScriptObject, whose C++ side this
// project does not touch. They cross through the dispatcher instead: an operator of ours that takes Any (or returns it)
// is called from Python like any other, and torch's own bindings convert its argument or result.
#include "cresset/python/common.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace cresset::python {

namespace {

thread_local IValue in_transit;

void take(const c10::OperatorHandle&, c10::DispatchKeySet, std::vector<IValue>* stack) {
  in_transit = std::move(stack->back());
  stack->pop_back();
}

void returnValue(const c10::OperatorHandle&, c10::DispatchKeySet, std::vector<IValue>* stack) {
  stack->push_back(std::exchange(in_transit, IValue()));
}

PyObject* foreign_class = nullptr;  // torch.ScriptObject
PyObject* take_operator = nullptr;
PyObject* give_operator = nullptr;

void registerOperators() {
  // Schemas are built, not parsed: torch's parser belongs to torch.jit.
  static torch::Library library(torch::Library::FRAGMENT, "cresset", std::nullopt, __FILE__, __LINE__);
  library.def(c10::FunctionSchema("cresset::_take", "", {c10::Argument("value", c10::AnyType::get())}, {}));
  library.def(c10::FunctionSchema("cresset::_give", "", {}, {c10::Argument("", c10::AnyType::get())}));
  library.impl("_take", torch::CppFunction::makeFromBoxedFunction<&take>());
  library.impl("_give", torch::CppFunction::makeFromBoxedFunction<&returnValue>());
}

}  // namespace

bool isForeignObject(PyObject* object) {
  return foreign_class && reinterpret_cast<PyObject*>(Py_TYPE(object)) == foreign_class;
}

ObjectPtr takeForeignObject(PyObject* object) {
  py::reinterpret_borrow<py::object>(take_operator)(py::reinterpret_borrow<py::object>(object));
  return std::exchange(in_transit, IValue()).toObject();
}

py::object giveForeignObject(const ObjectPtr& object) {
  in_transit = IValue(object);
  return py::reinterpret_borrow<py::object>(give_operator)();
}

void bindForeign(py::module_&) {
  registerOperators();
  py::object torch = py::module_::import("torch");
  foreign_class = py::object(torch.attr("_C").attr("ScriptObject")).release().ptr();
  py::object operators = torch.attr("ops").attr("cresset");
  take_operator = py::object(operators.attr("_take").attr("default")).release().ptr();
  give_operator = py::object(operators.attr("_give").attr("default")).release().ptr();
}

}  // namespace cresset::python
