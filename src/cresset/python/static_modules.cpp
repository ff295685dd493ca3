#include "cresset/python/static_modules.h"

#include <pybind11/stl.h>

#include "cresset/executor/out_variants.h"
#include "cresset/ir/graph.h"
#include "cresset/ops/operator.h"
#include "cresset/python/graph_handles.h"
#include "cresset/static_runtime/static_module.h"
#include "cresset/static_runtime/static_program.h"
#include "cresset/support/error.h"

namespace cresset::python {

namespace {

bool takeFlag(const py::handle& value, const std::string& name) {
  if (!PyBool_Check(value.ptr()))
    throw UserError("The option '" + name + "' of a static module is True or False, not " + shortRepr(value.ptr()));
  return value.ptr() == Py_True;
}

MemoryPolicy takePolicy(const py::handle& value) {
  return memoryPolicyOf(py::isinstance<py::str>(value) ? py::cast<std::string>(value) : shortRepr(value.ptr()));
}

StaticModuleOptions optionsFrom(const py::dict& given) {
  StaticModuleOptions options;
  for (auto [key, value] : given) {
    const auto name = py::cast<std::string>(key);
    if (name == "memory_policy") {
      options.memory_policy = takePolicy(value);
      continue;
    }
    bool known = false;
    std::string names;
    for (const auto& [flag, place] : staticModuleFlags()) {
      names += (names.empty() ? "" : ", ") + std::string(flag);
      if (name != flag) continue;
      options.*place = takeFlag(value, name);
      known = true;
    }
    if (!known)
      throw UserError("There is no option '" + name + "' of static modules; there are memory_policy, " + names);
  }
  return options;
}

StaticModule makeStatic(const py::object& source, const py::dict& given) {
  const StaticModuleOptions options = optionsFrom(given);
  if (py::isinstance<GraphHandle>(source)) {
    const std::shared_ptr<Graph> graph = py::cast<GraphHandle&>(source).graph;
    const py::gil_scoped_release no_gil;
    return StaticModule(graph, options);
  }
  if (Function* function = functionOf(source.ptr())) {
    const py::gil_scoped_release no_gil;
    return StaticModule(*function, options);
  }
  const ObjectPtr object = unwrapObject(source.ptr());
  if (!object || !object->type()->is_module())
    throw UserError(
        "A static module is made of a script module, a script function or a graph, not of " + typeName(source.ptr()) +
        ". Script or trace it first: cresset.static_module(cresset.script(module))");
  const py::gil_scoped_release no_gil;
  return StaticModule(Module(object), options);
}

py::object callableOf(const StaticModule& module, std::shared_ptr<const Executable> executable) {
  const std::shared_ptr<StaticProgram>& program = module.program();
  const IValue& self = program->self();
  return makeCallable(self.isNone() ? nullptr : self.toObject(), program->function(), std::move(executable));
}

/// The frozen module, or the function, that runs.
py::object sourceOf(const StaticModule& module) {
  const std::shared_ptr<StaticProgram>& program = module.program();
  if (!program->self().isNone()) return toPyObject(program->self());
  return makeFunction(program->function().program().shared_from_this(), program->function());
}

py::dict figuresOf(const MemoryFigures& memory) {
  py::dict figures;
  figures["slots"] = memory.slots;
  figures["output_slots"] = memory.output_slots;
  figures["arena_bytes"] = memory.arena_bytes;
  figures["held_bytes"] = memory.held_bytes;
  figures["least_bytes"] = memory.least_bytes;
  figures["least_apart"] = memory.least_apart;
  figures["sum_bytes"] = memory.sum_bytes;
  figures["output_bytes"] = memory.output_bytes;
  figures["turning_slots"] = memory.turning_slots;
  figures["turning_bytes"] = memory.turning_bytes;
  figures["slot_allocations"] = memory.slot_allocations;
  return figures;
}

/// An instance of a static module, for one thread at a time.
class Runtime final : public Executable {
 public:
  explicit Runtime(const StaticModule& module) : runtime_(std::make_shared<StaticRuntime>(module)), module_(module) {}
  void run(Stack& stack) const override { module_.program()->run(stack, *runtime_); }
  StaticRuntime& runtime() const { return *runtime_; }
  const StaticModule& module() const { return module_; }

 private:
  std::shared_ptr<StaticRuntime> runtime_;
  StaticModule module_;
};

template <class T>  // a module, or an instance
py::dict reportOf(const T& of) {
  StaticReport report;
  {
    const py::gil_scoped_release no_gil;
    report = of.report();
  }
  py::list plans;
  for (const StaticReport::PlanReport& plan : report.plans) {
    py::list nodes;
    for (const StaticReport::Node& node : plan.nodes)
      nodes.append(py::make_tuple(std::string(toString(node.kind)), node.what, node.where, node.is_planned, node.step));
    py::list values;
    for (const StaticReport::Value& value : plan.values)
      values.append(py::make_tuple(
          value.name, value.first, value.last, value.is_output, value.turns, value.size, value.offset, value.bytes));
    py::dict entry;
    entry["inputs"] = plan.inputs;
    entry["nodes"] = nodes;
    entry["values"] = values;
    entry["memory"] = figuresOf(plan.memory);
    entry["graph"] = graphToPython(plan.graph->copy());
    plans.append(entry);
  }
  py::dict result;
  result["name"] = report.name;
  result["plans"] = plans;
  result["errors"] = report.errors;
  result["unbound_variants"] = report.unbound_variants;
  result["text"] = report.toString();
  return result;
}

py::dict benchmarkOps(
    const Runtime& runtime, const py::object& callable, const py::tuple& args, const py::dict& kwargs, int warmup_runs,
    int main_runs) {
  const std::vector<Stack> bound = {bindCall(callable.ptr(), py::args(args), py::kwargs(kwargs))};
  prepareThread();
  IndividualOps measured;
  {
    const py::gil_scoped_release no_gil;
    measured = runtime.module().program()->benchmarkOps(runtime.runtime(), bound, warmup_runs, main_runs);
  }
  py::list ops;
  for (const IndividualOps::Op& op : measured.ops)
    ops.append(py::make_tuple(
        std::string(toString(op.kind)), op.what, op.where, op.time, op.calls, op.allocations, op.allocated_bytes));
  py::dict result;
  result["ops"] = ops;
  result["first_iter_time"] = measured.first_iter_time;
  result["total_time"] = measured.total_time;
  result["allocations"] = measured.allocations;
  result["allocated_bytes"] = measured.allocated_bytes;
  result["own_allocations"] = measured.own_allocations;
  result["time_per_node_type"] = measured.time_per_node_type;
  result["percent_per_node_type"] = measured.percent_per_node_type;
  result["instances_per_node_type"] = measured.instances_per_node_type;
  result["total_nodes_count"] = measured.total_nodes_count;
  result["total_out_nodes_count"] = measured.total_out_nodes_count;
  result["text"] = measured.toString();
  return result;
}

void prepare(const Runtime& runtime, const py::object& callable, const py::tuple& args, const py::dict& kwargs) {
  Stack stack = bindCall(callable.ptr(), py::args(args), py::kwargs(kwargs));
  prepareThread();
  const py::gil_scoped_release no_gil;
  runtime.module().program()->prepare(stack, runtime.runtime());
}

/// A Python function that computes results into tensors: function(out, *arguments), of several results with a tuple.
/// It gets tensors of its own that share the memory of the outputs, so that it may keep nothing of a run.
class PythonOutFunction {
 public:
  PythonOutFunction(std::string name, py::object function) : name_(std::move(name)), function_(std::move(function)) {}

  /// `are_dtypes`: by argument; scripts have numbers for dtypes.
  void call(const OutArguments& arguments, const std::vector<bool>& are_dtypes) const {
    if (pythonIsGoingAway()) throw UserError("Python is going away, and with it the out variant of " + name_);
    const py::gil_scoped_acquire gil;
    std::vector<at::Tensor> outputs;
    py::list places;
    for (size_t i = 0; i < arguments.numOutputs(); ++i) {
      outputs.push_back(arguments.output(i).detach());
      places.append(toPyObject(IValue(outputs.back())));
    }
    py::list values;
    if (outputs.size() == 1) {
      values.append(places[0]);
    } else {
      values.append(py::tuple(places));
    }
    for (size_t i = 0; i < arguments.numInputs(); ++i) {
      const IValue& input = arguments.input(i);
      const bool is_dtype = are_dtypes[i] && input.isInt();
      values.append(is_dtype ? dtypeToPython(static_cast<at::ScalarType>(input.toInt())) : toPyObject(input));
    }
    function_(*values);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const at::Tensor& given = arguments.output(i);
      const at::Tensor& filled = outputs[i];
      if (!filled.storage().is_alias_of(given.storage()) || filled.storage_offset() != 0 ||
          filled.scalar_type() != given.scalar_type())
        throw UserError(
            "The out variant of " + name_ +
            " must compute into the tensor that it is given (as `out=` does), and has "
            "given it other memory or another dtype");
      given.unsafeGetTensorImpl()->set_sizes_and_strides(filled.sizes(), filled.strides());
    }
  }

 private:
  const std::string name_;
  const py::object function_;
};

/// In Python, libraries are loaded before their operators are named.
void requireOperator(const std::string& name) {
  if (name.find("::") == std::string::npos || OperatorTable::get().find(name)) return;  // or registering says more
  const Symbol kind = Symbol::fromQualString(name);
  if (!OperatorTable::get().overloads(kind).empty()) return;
  std::string message = "An out variant is for an operator, and there is no \"" + name + "\".";
  const std::vector<std::string> similar = OperatorTable::get().similarNames(kind);
  for (size_t i = 0; i < similar.size(); ++i) message += (i ? ", " : " Similar names: ") + similar[i];
  throw UserError(message);
}

void registerPythonOutVariant(const std::string& name, py::object function, py::object matches) {
  requireOperator(name);
  // Registered for the life of the process, which ends after Python.
  const auto* out = new PythonOutFunction(name, std::move(function));
  const auto* accepts = new py::object(std::move(matches));
  registerOutVariant(name, [out, accepts](const c10::FunctionSchema& schema) -> OutFunction {
    if (pythonIsGoingAway()) return {};
    {
      const py::gil_scoped_acquire gil;
      if (!accepts->is_none() && !py::cast<bool>((*accepts)(schemaToPython(schema)))) return {};
    }
    std::vector<bool> are_dtypes;
    for (const c10::Argument& argument : schema.arguments()) {
      c10::TypePtr type = argument.real_type();
      if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
      are_dtypes.push_back(type->kind() == c10::TypeKind::ScalarTypeType);
    }
    return [out, are_dtypes](const OutArguments& arguments) { out->call(arguments, are_dtypes); };
  });
}

}  // namespace

void bindStatic(py::module_& module) {
  module.def("_register_out_variant", registerPythonOutVariant);
  py::class_<StaticModule>(module, "_StaticModule")
      .def(py::init(&makeStatic))
      .def("callable", [](const StaticModule& self) { return callableOf(self, self.program()); })
      .def("source", sourceOf)
      .def("report", reportOf<StaticModule>)
      .def(
          "run_async",
          [](const StaticModule& self, const py::object& callable, const py::tuple& args, const py::dict& kwargs) {
            Stack stack = bindCall(callable.ptr(), py::args(args), py::kwargs(kwargs));
            prepareThread();
            FuturePtr future;
            {
              const py::gil_scoped_release no_gil;
              future = self.program()->runAsync(std::move(stack), nullptr);
            }
            return wrapFuture(std::move(future));
          });
  py::class_<Runtime, std::shared_ptr<Runtime>>(module, "_StaticRuntime")
      .def(py::init<const StaticModule&>())
      .def("callable", [](const std::shared_ptr<Runtime>& self) { return callableOf(self->module(), self); })
      .def("report", [](const Runtime& self) { return reportOf(self.runtime()); })
      .def("prepare", prepare)
      .def("benchmark_ops", benchmarkOps)
      .def("memory", [](const Runtime& self) { return figuresOf(self.runtime().memory()); })
      .def("deallocate_output_tensors", [](const Runtime& self) { self.runtime().deallocateOutputTensors(); })
      .def("deallocate_memory", [](const Runtime& self) { self.runtime().deallocateMemory(); })
      .def("check_for_memory_leak", [](const Runtime& self) { self.runtime().check_for_memory_leak(); });
}

}  // namespace cresset::python
