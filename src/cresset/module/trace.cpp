// Tracing of C++ code. See trace.h.
#include "cresset/module/trace.h"

#include "cresset/tracer/recorder.h"
#include "cresset/tracer/tracer.h"

namespace cresset {

CompilationUnit trace(
    const std::function<IValue(std::vector<IValue>)>& function, std::vector<IValue> inputs,
    const TraceOptions& options) {
  tracer::Recorder recorder({}, options.force_outplace);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name =
        i < options.argument_names.size() ? options.argument_names[i] : "argument_" + std::to_string(i + 1);
    recorder.addInput(name, inputs[i], inputs[i].isTensor() ? c10::TensorType::get() : inputs[i].type());
  }
  IValue result;
  {
    tracer::Recording recording(recorder);
    result = function(std::move(inputs));
  }
  CompilationUnit unit;
  tracer::declareTraced(*unit.program(), nullptr, options.name, recorder.finish(result));
  return unit;
}

c10::SymInt symbolicSize(const at::Tensor& tensor, int64_t dim) {
  tracer::Recorder* recorder = tracer::Recorder::current();
  if (!recorder) return c10::SymInt(tensor.size(dim));
  return c10::SymInt(recorder->size(tensor, dim));
}

}  // namespace cresset
