// What cresset/_trace.py needs of the tracer: a recorder to run Python code under, and the events that only Python sees
// (sizes, calls of modules, numbers).
#include <torch/csrc/Dtype.h>

#include <ATen/core/jit_type.h>
#include <c10/core/SymInt.h>

#include <unordered_set>
#include <utility>

#include "cresset/ops/basic.h"
#include "cresset/program/definition_lock.h"
#include "cresset/python/common.h"
#include "cresset/python/frames.h"
#include "cresset/python/graph_handles.h"
#include "cresset/python/python_programs.h"
#include "cresset/support/dict_entries.h"
#include "cresset/tracer/recorder.h"
#include "cresset/tracer/tracer.h"

namespace cresset::python {

using tracer::Recorder;

namespace {

py::object tracingModule() {
  return py::module_::import("cresset._tracing_hooks");
}

/// A number of Python's, traced or not.
c10::SymNode toNode(py::handle object) {
  if (py::hasattr(object, "_cresset_node")) return py::cast<c10::SymNode>(object.attr("_cresset_node"));
  if (PyBool_Check(object.ptr())) return c10::make_intrusive<tracer::TracedNumber>(py::cast<bool>(object), nullptr, 0);
  if (PyFloat_Check(object.ptr())) {
    return c10::make_intrusive<tracer::TracedNumber>(py::cast<double>(object), nullptr, 0);
  }
  return c10::make_intrusive<tracer::TracedNumber>(py::cast<int64_t>(object), nullptr, 0);
}

py::object toPythonNode(const c10::SymNode& node) {
  return py::cast(node);
}

/// A node if the number belongs to the trace that runs here, else None.
py::object tracedOrNone(const c10::SymNode& node) {
  const tracer::TracedNumber* traced = tracer::asTraced(node);
  const Recorder* recorder = Recorder::current();
  if (!traced || !recorder || !traced->valueIn(recorder->serial())) return py::none();
  return toPythonNode(node);
}

tracer::Number toNumber(py::handle object) {
  if (PyFloat_Check(object.ptr())) return py::cast<double>(object);
  return py::cast<int64_t>(object);
}

/// What a traced program returned: as convert_in makes it, with traced numbers kept. Recursion is over the nesting of
/// containers.
IValue toOutput(py::handle object, bool strict, const Recorder& recorder, bool in_dict = false) {
  constexpr const char* kStrict =
      " at the output of the tracer might cause the trace to be incorrect, this is only valid if the container "
      "structure "
      "does not change based on the module's inputs. Consider using a constant container instead (e.g. for `list`, use "
      "a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely need this and know the side "
      "effects, pass strict=False to trace() to allow this behavior.";
  PyObject* raw = object.ptr();
  if (THPVariable_Check(raw)) return IValue(THPVariable_Unpack(raw));
  if (py::hasattr(object, "_cresset_node")) {
    auto node = py::cast<c10::SymNode>(object.attr("_cresset_node"));
    if (node->is_float()) return IValue(c10::SymFloat(node));
    return IValue(c10::SymInt(node));
  }
  const auto convertAll = [&] {
    std::vector<IValue> elements;
    for (py::handle item : object) elements.push_back(toOutput(item, strict, recorder, in_dict));
    return elements;
  };
  if (PyTuple_Check(raw)) return IValue(c10::ivalue::Tuple::create(convertAll()));
  if (PyList_Check(raw)) {
    if (strict) recorder.warn(std::string("Encountering a list") + kStrict);
    std::vector<IValue> elements = convertAll();
    // Tensors of any sizes are of one type.
    const bool of_tensors = elements.empty() || elements[0].isTensor();
    const TypePtr type = of_tensors ? TypePtr(c10::TensorType::get()) : elements[0].type();
    c10::impl::GenericList list(type);
    for (IValue& element : elements) {
      if (of_tensors ? !element.isTensor() : *element.type() != *type) {
        throw UserError("The traced function returned a list of elements of different types. Return a tuple instead.");
      }
      list.push_back(std::move(element));
    }
    return IValue(list);
  }
  if (PyDict_Check(raw)) {
    if (strict) throw UserError(std::string("Encountering a dict") + kStrict);
    std::vector<std::pair<IValue, IValue>> items;
    for (const auto& [key, value] : entriesOf(raw)) {
      items.emplace_back(toInferredIValue(key.ptr()), toOutput(value, strict, recorder, true));
    }
    if (items.empty()) throw UserError("The traced function returned an empty dict, whose type is unknown.");
    const auto typeOf = [](const IValue& value) {
      return value.isTensor() ? TypePtr(c10::TensorType::get()) : value.type();
    };
    c10::impl::GenericDict dict(items[0].first.type(), typeOf(items[0].second));
    for (auto& [key, value] : items) {
      if (*typeOf(value) != *dict.valueType() || *key.type() != *dict.keyType()) {
        throw UserError(
            "The traced function returned a dict whose keys or values have different types. Return a NamedTuple "
            "instead.");
      }
      assignEntry(dict, std::move(key), std::move(value));
    }
    return IValue(dict);
  }
  if (object.is_none()) return IValue();
  throw UserError(in_dict ? tracer::kWrongDict : tracer::kWrongResult);
}

bool isForgotten(const at::Tensor& tensor) {
  py::gil_scoped_acquire gil;
  const size_t count = tensor.use_count();
  const py::object object = py::cast(tensor);
  // A new object has taken a reference to the tensor. Of an old one the tensor has a reference, and `object`.
  return tensor.use_count() == count && Py_REFCNT(object.ptr()) == 2;
}

/// One trace, from Python.
class PythonTrace {
 public:
  PythonTrace(py::object outermost, bool force_outplace)
      : frames_(std::make_shared<Frames>(std::move(outermost))),
        recorder_(
            {[frames = frames_] {
               py::gil_scoped_acquire gil;
               return frames->location();
             },
             [frames = frames_](const at::Tensor& tensor) {
               py::gil_scoped_acquire gil;
               return frames->nameOf(tensor);
             },
             [](const std::string& message, bool in_backward) {
               py::gil_scoped_acquire gil;
               tracingModule().attr("warn")(message, in_backward);
             },
             isForgotten},
            force_outplace) {}

  void setSelf(const py::object& module) {
    self_ = unwrapObject(module.ptr());
    if (!self_) throw UserError("a traced module is a script module's object");
    recorder_.setSelf(self_);
  }

  /// Whether the tensor, or another that reads the same memory in the same way, is part of the traced module.
  bool holds(const py::object& tensor) const { return recorder_.hasMemoryOf(THPVariable_Unpack(tensor.ptr())); }

  /// Refuses what can't be traced by the type of all inputs, as torch.jit does.
  static void checkInputs(const py::tuple& values) { tracer::checkTraceable(inferType(values.ptr())); }

  void addInput(const std::string& name, const py::object& value) {
    TypePtr type = inferType(value.ptr());
    recorder_.addInput(name, toIValue(value.ptr(), type), type);
  }

  py::object run(const py::object& call) {
    tracer::Recording recording(recorder_);
    return call();
  }

  void finish(const py::object& result, bool strict) {
    IValue value = toOutput(result, strict, recorder_);
    py::gil_scoped_release no_gil;
    graph_ = recorder_.finish(value);
  }

  /// The graph, which keeps the functions alive that it calls.
  py::object graph() const {
    return graphToPython(
        keptWith(graph_, std::make_shared<std::unordered_set<std::shared_ptr<Program>>>(recorder_.called())));
  }

  py::object declare(const std::string& name) {
    Function* function = nullptr;
    const std::shared_ptr<Program> program = self_ ? programOf(*self_->type()) : makePythonProgram();
    {
      py::gil_scoped_release no_gil;
      const auto lock = lockDefinitions(*program);
      function = self_ ? &tracer::declareTraced(*program, self_->type(), name, graph_)
                       : &tracer::declareTraced(*program, nullptr, "__torch__." + name, graph_);
    }
    return self_ ? makeMethod(self_, *function) : makeFunction(program, *function);
  }

 private:
  std::shared_ptr<Frames> frames_;
  Recorder recorder_;
  ObjectPtr self_;
  std::shared_ptr<Graph> graph_;
};

Recorder& current() {
  Recorder* recorder = Recorder::current();
  if (!recorder) throw UserError("No trace runs on this thread.");
  return *recorder;
}

const at::Tensor& tensorOf(py::handle object) {
  if (!THPVariable_Check(object.ptr())) throw py::type_error("only Tensors are traced, not " + typeName(object.ptr()));
  return THPVariable_Unpack(object.ptr());
}

/// A list in the graph of the trace that runs.
struct TracedList {
  Value* value;
  uint64_t trace;
};

Value* valueOf(const TracedList& list) {
  if (list.trace != current().serial()) throw UserError("The list belongs to another trace.");
  return list.value;
}

std::vector<at::Tensor> tensorsOf(const py::tuple& elements) {
  std::vector<at::Tensor> tensors;
  for (py::handle element : elements) tensors.push_back(tensorOf(element));
  return tensors;
}

/// The call around the one that runs.
struct OuterCall {
  tracer::LibraryCall call;
};

// functools.lru_cache answers by equality, and a traced size equals the plain number of an earlier call, whose answer
// would be a constant of the trace. So a call that hands a traced number to a cached function runs the function itself.
// The type of such functions has no hook for that but its slot.

ternaryfunc cachedCall = nullptr;  // the slot's own value
PyTypeObject* traced_number = nullptr;

/// Recursion is over the nesting of containers.
bool holdsTracedNumber(PyObject* object, int depth = 0) {
  constexpr int kMaxDepth = 8;  // as deep as arguments that a cache can hash are in practice
  if (PyObject_TypeCheck(object, traced_number)) return true;
  if (!PyTuple_Check(object) || depth == kMaxDepth) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    if (holdsTracedNumber(PyTuple_GET_ITEM(object, i), depth + 1)) return true;
  }
  return false;
}

PyObject* callCached(PyObject* function, PyObject* args, PyObject* kwargs) {
  if (tracing()) {
    bool traced = holdsTracedNumber(args);
    PyObject *key, *value;
    for (Py_ssize_t at = 0; !traced && kwargs && PyDict_Next(kwargs, &at, &key, &value);) {
      traced = holdsTracedNumber(value);
    }
    if (traced) {
      PyObject* wrapped = PyObject_GetAttrString(function, "__wrapped__");
      if (!wrapped) return nullptr;
      PyObject* result = PyObject_Call(wrapped, args, kwargs);
      Py_DECREF(wrapped);
      return result;
    }
  }
  return cachedCall(function, args, kwargs);
}

/// Whether cached functions look for traced numbers. `number` is the class of those.
void lookThroughCaches(py::handle number, bool on) {
  const py::object cached = py::module_::import("functools").attr("_lru_cache_wrapper");
  if (!PyType_Check(cached.ptr())) return;  // Python's own implementation in Python
  auto* type = reinterpret_cast<PyTypeObject*>(cached.ptr());
  traced_number = reinterpret_cast<PyTypeObject*>(number.ptr());
  if (on && type->tp_call != callCached) {
    cachedCall = std::exchange(type->tp_call, callCached);
  } else if (!on && type->tp_call == callCached) {
    type->tp_call = cachedCall;
  }
}

/// Lists of which another call may have more or fewer elements. `elements` are the tensors that they held here; those
/// that are known as other elements are replaced.
void bindLists(py::module_& module) {
  py::class_<TracedList>(module, "_TracedList", py::module_local()).def("is_of_this_trace", [](const TracedList& list) {
    const Recorder* recorder = Recorder::current();
    return recorder && recorder->serial() == list.trace;
  });
  module.def("_trace_list", [](const py::object& elements) -> py::object {
    for (py::handle element : elements) {
      if (!THPVariable_Check(element.ptr())) return py::none();
    }
    Value* list = current().listOfElements(tensorsOf(py::tuple(elements)));
    return list ? py::cast(TracedList{list, current().serial()}) : py::none();
  });
  module.def(
      "_trace_list_element", [](const TracedList& list, py::handle index, py::handle tensor, bool is_known_otherwise) {
        return toPyObject(current().elementOfList(valueOf(list), toNode(index), tensorOf(tensor), is_known_otherwise));
      });
  module.def("_trace_list_slice", [](const TracedList& list, const py::tuple& bounds) {
    std::vector<c10::SymNode> nodes;
    for (py::handle bound : bounds) nodes.push_back(bound.is_none() ? c10::SymNode() : toNode(bound));
    return TracedList{current().sliceOfList(valueOf(list), nodes), list.trace};
  });
  module.def("_trace_list_length", [](const TracedList& list, int64_t length) {
    return toPythonNode(current().lengthOfList(valueOf(list), length));
  });
  module.def(
      "_trace_list_unpack",
      [](const TracedList& list, const py::tuple& elements, const std::vector<bool>& are_known_otherwise) {
        py::list result;
        for (const at::Tensor& tensor : current().unpackList(valueOf(list), tensorsOf(elements), are_known_otherwise))
          result.append(toPyObject(tensor));
        return py::tuple(result);
      });
}

}  // namespace

void bindTracing(py::module_& module) {
  py::class_<PythonTrace>(module, "_Trace", py::module_local())
      .def(py::init<py::object, bool>(), py::arg("outermost"), py::arg("force_outplace"))
      .def("set_self", &PythonTrace::setSelf)
      .def_static("check_inputs", &PythonTrace::checkInputs)
      .def("add_input", &PythonTrace::addInput)
      .def("holds", &PythonTrace::holds)
      .def("run", &PythonTrace::run)
      .def("finish", &PythonTrace::finish)
      .def("graph", &PythonTrace::graph)
      .def("declare", &PythonTrace::declare);
  module.def("_tracing", [] { return tracing(); });
  module.def("_trace_push_scope", [](std::string name) { current().pushUserScope(std::move(name)); });
  module.def("_trace_pop_scope", [] { current().popUserScope(); });
  bindLists(module);
  // What follows returns None for tensors that are no part of the trace: their sizes are constants.
  module.def("_trace_sizes", [](py::handle tensor) -> py::object {
    const at::Tensor& value = tensorOf(tensor);
    if (!current().hasSizesOf(value)) return py::none();
    py::list nodes;
    for (int64_t dim = 0; dim < value.dim(); ++dim) nodes.append(toPythonNode(current().size(value, dim)));
    return nodes;
  });
  module.def("_trace_size", [](py::handle tensor, py::handle dim) -> py::object {
    const at::Tensor& value = tensorOf(tensor);
    return current().hasSizesOf(value) ? toPythonNode(current().size(value, toNode(dim))) : py::none();
  });
  module.def("_trace_int_of", [](const std::string& kind, py::handle tensor, int64_t number) -> py::object {
    if (!current().hasSizesOf(tensorOf(tensor))) return py::none();
    return toPythonNode(current().intOf(c10::Symbol::fromQualString(kind), tensorOf(tensor), number));
  });
  module.def(
      "_trace_layout_of",
      [](const std::string& kind, py::handle tensor, std::optional<int64_t> dim, int64_t number) -> py::object {
        if (!current().hasSizesOf(tensorOf(tensor))) return py::none();
        c10::SymNode node = current().layoutOf(c10::Symbol::fromQualString(kind), tensorOf(tensor), dim, number);
        return node ? toPythonNode(std::move(node)) : py::bool_(false);
      },
      "None if the tensor is no part of the trace, False if it is one of a transform's.");
  // The number in a tensor of one element: of its own kind, or converted to `kind`, int or float. Returns number and
  // node; None if there is no such number.
  module.def("_trace_item", [](py::handle tensor, py::handle kind) -> py::object {
    const at::Tensor& value = tensorOf(tensor);
    const at::ScalarType type = value.scalar_type();
    const bool is_float = at::isFloatingType(type);
    if (value.layout() != at::kStrided || value.is_nested() || value.sym_numel() != 1) return py::none();
    if (!is_float && !at::isIntegralType(type, /*includeBool=*/!kind.is_none())) return py::none();
    if (!current().findTensor(value)) return py::none();
    const bool as_float = kind.is_none() ? is_float : kind.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type);
    c10::SymNode node = current().item(value, as_float);
    py::object number = std::visit([](auto plain) { return py::cast(plain); }, tracer::numberOf(node));
    return py::make_tuple(std::move(number), toPythonNode(node));
  });
  module.def("_trace_arithmetic", [](const std::string& kind, const py::args& operands_and_result) {
    std::vector<c10::SymNode> operands;
    for (size_t i = 0; i + 1 < operands_and_result.size(); ++i) operands.push_back(toNode(operands_and_result[i]));
    return tracedOrNone(tracer::recordArithmetic(
        c10::Symbol::fromQualString(kind), operands, toNumber(operands_and_result[operands_and_result.size() - 1])));
  });
  module.def("_trace_owns", [](py::handle number) { return !tracedOrNone(toNode(number)).is_none(); });
  module.def("_trace_constant", [](int64_t number) {
    return toPythonNode(c10::make_intrusive<tracer::TracedNumber>(number, nullptr, 0));
  });
  py::class_<OuterCall>(module, "_OuterCall", py::module_local());
  // A function of PyTorch's is called with what may become plain numbers (number or tensor, position, keyword,
  // element), and with tuples that are all of a list: (list, tuple).
  module.def("_trace_begin_call", [](const py::list& numbers, const py::list& lists, py::handle target) {
    tracer::LibraryCall call{{}, target.is_none() ? at::Tensor() : tensorOf(target), {}};
    for (py::handle item : lists) {
      const auto entry = py::cast<py::tuple>(item);
      call.lists.push_back({valueOf(py::cast<const TracedList&>(entry[0])), tensorsOf(entry[1])});
    }
    for (py::handle item : numbers) {
      const auto entry = py::cast<py::tuple>(item);
      const bool is_tensor = THPVariable_Check(entry[0].ptr());
      call.numbers.push_back(
          {is_tensor ? c10::SymNode() : toNode(entry[0]), is_tensor ? tensorOf(entry[0]) : at::Tensor(),
           py::cast<int>(entry[1]), py::cast<std::string>(entry[2]), py::cast<int>(entry[3]), IValue()});
    }
    return OuterCall{current().beginCall(std::move(call))};
  });
  // False if one became a constant.
  module.def("_trace_end_call", [](OuterCall& outer) { return current().endCall(std::move(outer.call)); });
  // `tensor` was made of numbers: torch.tensor(n) or torch.tensor([n, …]).
  module.def("_trace_tensor_of", [](const py::object& numbers, py::handle tensor) {
    Recorder& recorder = current();
    const at::Tensor& result = tensorOf(tensor);
    Graph& graph = recorder.graph();
    graph.setLocation(recorder.location());
    Value* data = nullptr;
    if (PyList_Check(numbers.ptr()) || PyTuple_Check(numbers.ptr())) {
      Node* list = graph.create(prim::ListConstruct);
      for (py::handle number : numbers) list->addInput(recorder.numberValue(toNode(number)));
      graph.insertNode(list);
      data = list->output()->setType(c10::ListType::create(list->input(0)->type()));
    } else {
      data = recorder.numberValue(toNode(numbers));
    }
    Value* dtype = graph.insertConstant(IValue(static_cast<int64_t>(result.scalar_type())));
    Value* device = graph.insertConstant(IValue(result.device()));
    Value* requires_grad = graph.insertConstant(IValue(result.requires_grad()));
    recorder.recordResult(kindOf(Basic::MakeTensor), std::array{data, dtype, device, requires_grad}, IValue(result));
  });
  // From now on `tensor` is what `other` is, detached.
  module.def("_trace_set_data", [](py::handle tensor, py::handle other) {
    Recorder& recorder = current();
    Value* value = recorder.tensorValue(tensorOf(other));
    recorder.recordResult(kindOf(Basic::Detach), std::array{value}, IValue(tensorOf(tensor)));
  });
  module.def("_trace_through_caches", lookThroughCaches);
  module.def("_trace_push", [](const std::vector<std::string>& path) { return current().pushScope(path); });
  module.def("_trace_fork", [] { current().pushFork(); });
  module.def("_trace_pop", [] { current().popScope(); });
}

}  // namespace cresset::python
