// Kernels of PyTorch's own that a backward pass calls with what a trace froze.
//
// What autograd saved inside of an operator, and numbers that it computed there, are constants of a trace. That warns;
// but kernels that only PyTorch's operators call believe that their arguments fit each other, and with tensors of other
// sizes they would read and write elsewhere. So a trace that froze an argument of such a kernel asks first whether the
// others have the sizes that they had.
#include <torch/csrc/autograd/function.h>

#include <algorithm>

#include "cresset/ir/constants.h"
#include "cresset/tracer/computed_sizes.h"
#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

bool Recorder::believesArguments(const Operator& op) {
  return op.restriction() == Restriction::Internal || op.restriction() == Restriction::RawMemory;
}

/// Lists of ints that are no sizes: what the formula has them from is an argument of the forward pass, or was frozen.
void Recorder::noteListsOfFormula(const Operator& op, std::span<const IValue> arguments) {
  const Gradient* gradient = currentGradient();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].isIntList() || op.schema().arguments()[i].real_type()->str() != "int[]") continue;
    const std::vector<int64_t> numbers = arguments[i].toIntVector();
    const auto isKnown = [&](int64_t number) {
      if (!gradient) return false;
      const auto& constants = gradient->constants;
      return std::find(constants.begin(), constants.end(), static_cast<double>(number)) != constants.end();
    };
    if (!std::all_of(numbers.begin(), numbers.end(), isKnown)) return warn(kFrozenNumber, /*in_backward=*/true);
  }
}

void Recorder::requireTracedSizes(
    const Operator& op, std::span<const IValue> arguments, std::span<Value* const> inputs) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].isTensor() || !arguments[i].toTensor().defined() || isConstant(inputs[i])) continue;
    const at::Tensor& tensor = arguments[i].toTensor();
    if (tensor.is_nested()) continue;
    Value* sizes = compute(Basic::Sizes, {inputs[i]});
    Value* traced = graph_->insertConstant(IValue(tensor.sizes()));
    std::ostringstream message;
    message << "The trace calls " << op.schema().name() << " with '" << op.schema().arguments()[i].name()
            << "' beside constants that autograd kept inside of an operator while tracing: they fit the sizes "
            << tensor.sizes() << " only. Trace the function for the sizes that it is called with.";
    raiseIfDifferent(sizes, traced, message.str());
  }
}

void Recorder::raiseIfDifferent(Value* value, Value* traced, std::string message) {
  Value* differs = compute(Basic::Unequal, {value, traced});
  Node* branch = graph_->insertNode(graph_->create(prim::If, {differs}, 0));
  Block* then = branch->addBlock();
  branch->addBlock();
  InsertPointGuard guard(*graph_, then);
  Value* text = graph_->insertConstant(IValue(std::move(message)));
  insertBasic(*graph_, Basic::Raise, {text, graph_->insertConstant(IValue("builtins.RuntimeError"))});
}

void Recorder::requireTracedParts() {
  Gradient* gradient = currentGradient();
  if (!gradient || gradient->counts_parts) return;
  Value* list = nullptr;
  for (const at::Tensor& part : gradient->outputs) {
    const Value* value = part.defined() ? findTensor(part) : nullptr;
    const Node* node = value ? value->node() : nullptr;
    if (!node || (node->kind() != prim::ListUnpack && !isBasic(node, Basic::Element))) continue;
    Value* found = node->input(0);
    const auto* type = found->type()->cast<c10::ListType>().get();
    if (type && type->getElementType()->kind() == c10::TypeKind::TensorType) list = found;
  }
  if (!list) return;
  gradient->counts_parts = true;
  Value* length = compute(Basic::Length, {list});
  std::ostringstream message;
  message << "Expected " << gradient->outputs.size()
          << " elements in a list but found another number: the trace has the gradients of as many as there were while "
             "tracing. Trace the function for the sizes that it is called with.";
  Value* traced = graph_->insertConstant(IValue(static_cast<int64_t>(gradient->outputs.size())));
  raiseIfDifferent(length, traced, message.str());
}

}  // namespace cresset::tracer
