// Where a trace sees PyTorch's operators: a boxed fallback of a dispatch key above all others.
//
// TESTING_ONLY_GenericMode is a key that PyTorch gives to nobody; it stands above autograd, autocast and the functorch
// layers, so the fallback sees every operator whole, composite ones before they decompose. Only threads that record
// include the key, so that others pay nothing. There can be one fallback per key and process.
//
// While the operator itself runs, the key is excluded: what happens inside it is not the program's.
//
// Two kinds of context change which operators a call becomes, and end before the traced program runs again: autocast
// and functorch's transforms (vmap, grad). There the fallback lets the call through and records what they make of it.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <mutex>

#include "cresset/support/error.h"
#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

namespace {

constexpr c10::DispatchKey kMode = c10::DispatchKey::TESTING_ONLY_GenericMode;
const c10::DispatchKeySet kBelowMode(c10::DispatchKeySet::FULL_AFTER, kMode);

thread_local Recorder* current_recorder = nullptr;

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

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  Recorder* recorder = current_recorder;
  // Threads that PyTorch starts inherit the key, but belong to no trace.
  if (!recorder || isAutocast(op, keys)) return op.redispatchBoxed(keys & kBelowMode, stack);
  if (isTransformed(keys)) {
    const auto count = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
    const torch::jit::Stack arguments(stack->end() - count, stack->end());
    const Recorder::Transform transform(*recorder, c10::Symbol::fromQualString(op.schema().name()), arguments);
    op.redispatchBoxed(keys & kBelowMode, stack);
    const auto num_results = static_cast<std::ptrdiff_t>(op.schema().returns().size());
    return recorder->rememberTransformed(arguments, std::span(stack->end() - num_results, stack->end()));
  }
  recorder->runOperator(op, keys & kBelowMode, *stack);
}

void registerFallback() {
  static std::once_flag once;
  std::call_once(once, [] {
    // For the life of the process: a recording thread must never meet a key without a kernel.
    static auto* registration = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerFallback(
        kMode, c10::KernelFunction::makeFromBoxedFunction<&fallback>(), "Cresset's tracer"));
    (void)registration;
  });
}

}  // namespace

Recorder* Recorder::current() {
  return current_recorder;
}

struct Recording::Guards {
  c10::impl::IncludeDispatchKeyGuard include{kMode};
};

Recording::Recording(Recorder& recorder) : outer_(current_recorder) {
  registerFallback();
  if (outer_) throw UserError("A trace is running on this thread already; traces can't nest.");
  guards_ = std::make_unique<Guards>();
  current_recorder = &recorder;
}

Recording::~Recording() {
  current_recorder = outer_;
}

struct Pause::Guards {
  c10::impl::ExcludeDispatchKeyGuard exclude{kMode};
};

Pause::Pause() : outer_(current_recorder), guards_(std::make_unique<Guards>()) {
  current_recorder = nullptr;
}

Pause::~Pause() {
  current_recorder = outer_;
}

}  // namespace cresset::tracer
