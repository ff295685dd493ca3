// Where a trace sees PyTorch's operators: as a client of this thread's calls (ops/operator_clients.h).
//
// While the operator itself runs, what happens inside it is not the program's.
//
// Two kinds of context change which operators a call becomes, and end before the traced program runs again: autocast
// and functorch's transforms (vmap, grad). There the recorder lets the call through and records what they make of it.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <utility>

#include "cresset/support/error.h"
#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

namespace {

/// Whether autocast changes this call.
bool isAutocast(const c10::OperatorHandle& op, c10::DispatchKeySet keys) {
  const c10::DispatchKeySet active = keys & c10::autocast_dispatch_keyset;
  if (active.empty()) return false;
  for (c10::DispatchKey key : active) {
    if (op.hasKernelForDispatchKey(key)) return true;
  }
  return false;
}

/// Whether a functorch transform is yet to see this call, or sees it now. The last thing that one does is to call the
/// operator that remains, on ordinary tensors and as if from outside.
bool isTransformed(c10::DispatchKeySet keys) {
  static const c10::DispatchKeySet transforms(
      {c10::DispatchKey::FuncTorchDynamicLayerFrontMode, c10::DispatchKey::FuncTorchDynamicLayerBackMode,
       c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::FuncTorchVmapMode,
       c10::DispatchKey::FuncTorchGradWrapper});
  return keys.has_any(transforms);
}

}  // namespace

void Recorder::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) {
  if (isAutocast(op, keys)) return letPass(op, keys, stack);
  if (isTransformed(keys)) {
    const auto count = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
    const Stack arguments(stack.end() - count, stack.end());
    const Transform transform(*this, c10::Symbol::fromQualString(op.schema().name()), arguments);
    letPass(op, keys, stack);
    const auto num_results = static_cast<std::ptrdiff_t>(op.schema().returns().size());
    return rememberTransformed(arguments, std::span(stack.end() - num_results, stack.end()));
  }
  runOperator(op, keys, stack);
}

void Recorder::runDecomposed(const c10::OperatorHandle& op, const Stack& arguments, const std::function<void()>& run) {
  const Transform transform(*this, c10::Symbol::fromQualString(op.schema().name()), arguments);
  run();
}

void Recorder::runWithSizesOf(const at::Tensor& tensor, const std::function<void()>& run) {
  struct Restore {
    at::Tensor& place;
    at::Tensor before;
    ~Restore() { place = std::move(before); }
  } restore{sizes_of_, std::exchange(sizes_of_, tensor)};
  run();
}

Recorder* Recorder::current() {
  return findClient<Recorder>();
}

Recorder& Recording::onlyOne(Recorder& recorder) {
  if (Recorder::current()) throw UserError("A trace is running on this thread already; traces can't nest.");
  return recorder;
}

}  // namespace cresset::tracer
