// Doors to the executor: modes, and what plans there are.
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/specialized_rules.h"
#include "cresset/codegen/ahead_of_time.h"
#include "cresset/codegen/operator_kernels.h"
#include "cresset/executor/differentiable.h"
#include "cresset/executor/executor.h"
#include "cresset/executor/fact_checks.h"
#include "cresset/executor/kernels.h"
#include "cresset/executor/mode.h"
#include "cresset/interpreter/bailout.h"
#include "cresset/ops/messages.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/python/common.h"
#include "cresset/python/graph_handles.h"
#include "cresset/support/error.h"

namespace cresset::python {

namespace {

Function& functionToExplain(const py::handle& callable) {
  Function* function = functionOf(callable.ptr());
  if (!function) throw UserError("Only script functions and methods have plans");
  return *function;
}

py::object graphOrNone(const std::shared_ptr<Graph>& graph) {
  return graph ? py::object(graphToPython(graph->copy())) : py::none();
}

py::dict explainCallable(const py::object& callable) {
  Function& function = functionToExplain(callable);
  ExecutionReport report;
  {
    py::gil_scoped_release no_gil;
    report = explain(function);
  }
  py::list plans;
  for (const auto& plan : report.plans) {
    py::dict entry;
    entry["where"] = plan.where;
    entry["ambient"] = plan.ambient;
    entry["inputs"] = plan.inputs;
    entry["attributes"] = plan.attributes;
    entry["gradients"] = plan.gradients;
    entry["kernels"] = plan.kernels;
    entry["guards"] = plan.guards;
    entry["notes"] = plan.notes;
    entry["nodes"] = plan.num_nodes;
    entry["graph"] = graphOrNone(plan.graph);
    plans.append(entry);
  }
  py::dict result;
  result["function"] = report.function;
  result["state"] = report.state;
  result["nodes"] = report.num_nodes;
  result["plans"] = plans;
  py::dict without_plan;
  for (size_t i = 0; i < report.without_plan.size(); ++i) {
    if (report.without_plan[i]) without_plan[py::str(std::string(toString(WithoutPlan(i))))] = report.without_plan[i];
  }
  result["without_plan"] = without_plan;
  result["errors"] = report.errors;
  result["entered_from_loops"] = report.entered_from_loops;
  return result;
}

}  // namespace

void bindExecuting(py::module_& module) {
  module.def("_explain", explainCallable);
  module.def("_set_thread_optimizes", setGraphExecutorOptimize);
  module.def("_get_thread_optimizes", getGraphExecutorOptimize);
  module.def("_may_share_arguments", [](const std::string& full_name) {
    const Operator* op = OperatorTable::get().find(full_name);
    if (!op) throw UserError(messages::noOperator(full_name));
    return op->mayShareArguments();
  });
  module.def("_set_plans_always", setPlansAlways);
  module.def("_scalar_rows", [](const std::string& kind) {
    std::vector<std::string> names;
    for (const OperatorRow& row : operatorRows()) {
      const char* const is = !row.reads.empty()        ? "read"
                             : !row.adds.empty()       ? "added"
                             : !row.contracts.empty()  ? (row.convolution ? "convolution" : "product")
                             : !row.reduces.empty()    ? "reduction"
                             : !row.broadcasts.empty() ? "normalization"
                                                       : "pointwise";
      if ((!row.scalar.empty() || !row.reads.empty() || !row.adds.empty()) && kind == is) names.emplace_back(row.name);
    }
    return names;
  });
  module.def("_rows_with_own_bits", [] {
    std::vector<std::string> names;
    for (const OperatorRow& row : operatorRows()) {
      const Operator* op = row.scalar.empty() ? nullptr : OperatorTable::get().find(row.name);
      if (op && codegen::OperatorKernels::of(*op)) names.emplace_back(row.name);
    }
    return names;
  });
  module.def("_why_no_kernels_ahead_of_time", codegen::whyNoneAheadOfTime);
  module.def("_kernel_counts", [] {
    const KernelCounts counts = kernelCounts();
    return std::make_tuple(counts.compiled, counts.launches, counts.unfused, counts.alone);
  });
  module.def("_wait_for_compilation", waitForCompilation, py::call_guard<py::gil_scoped_release>());
  module.def("_set_fact_checks", [](const std::string& checks) { setOption(Option::check_facts, checks); });
  module.def("_set_failing_guard", [](int index, int every) { setFailingGuard({index, every}); });
  module.def("_num_recorded_regions", numRecordedRegions);
  module.def("_num_gradient_functions", numGradientFunctions);
  module.def("_num_specialized_rules", numSpecializedRules);
  module.def("_differentiable_operators", differentiableOperators);
  module.def("_derivatives_that_do_not_compile", derivativesThatDoNotCompile);
  module.def("_last_executed_optimized_graph", [] { return graphOrNone(lastExecutedOptimizedGraph()); });
}

}  // namespace cresset::python
