// The module cresset._C.
#include "cresset/ops/operator.h"
#include "cresset/python/common.h"
#include "cresset/python/freezing.h"
#include "cresset/python/modules.h"
#include "cresset/python/saving.h"
#include "cresset/python/script.h"
#include "cresset/python/static_modules.h"
#include "cresset/python/watching.h"

PYBIND11_MODULE(_C, module) {
  using namespace cresset::python;
  // torch's own extension registers the classes of tensors, devices and generators; it has to be there first.
  pybind11::module_::import("torch");
  // Like torch's own operators, Cresset's are registered when the library is loaded, not in a program's first call.
  cresset::OperatorTable::get();
  bindErrors(module);
  bindCallables(module);
  bindFutures(module);
  bindObjects(module);
  bindForeign(module);
  bindContainers(module);
  bindGraph(module);
  bindProgram(module);
  bindHost(module);
  bindSaving(module);
  bindFreezing(module);
  bindScript(module);
  bindModules(module);
  bindModuleCall(module);
  bindTracing(module);
  bindWatching(module);
  bindUndo(module);
  bindExecuting(module);
  bindStatic(module);
  bindFunctional(module);
  bindFacts(module);
  bindObserving(module);
  module.attr("__version__") = CRESSET_VERSION;
}
