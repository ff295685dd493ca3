#include "cresset/ops/operator_clients.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <mutex>

namespace cresset {

namespace {

constexpr c10::DispatchKey kMode = c10::DispatchKey::TESTING_ONLY_GenericMode;
const c10::DispatchKeySet kBelowMode(c10::DispatchKeySet::FULL_AFTER, kMode);

thread_local const detail::ClientFrame* active = nullptr;

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>* stack) {
  if (active) {
    active->client->call(op, keys, *stack);
  } else {
    op.redispatchBoxed(keys & kBelowMode, stack);
  }
}

void registerFallback() {
  static std::once_flag once;
  std::call_once(once, [] {
    // For the life of the process: a thread with clients must never meet a key without a kernel.
    static auto* registration = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerFallback(
        kMode, c10::KernelFunction::makeFromBoxedFunction<&fallback>(), "Cresset's clients of operator calls"));
    (void)registration;
  });
}

}  // namespace

void handOn(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack) {
  const HandingOn outward;
  if (active) {
    active->client->call(op, keys, stack);
  } else {
    op.redispatchBoxed(keys & kBelowMode, &stack);
  }
}

void letPass(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack) {
  op.redispatchBoxed(keys & kBelowMode, &stack);
}

c10::SymInt sizeForClients(const at::Tensor& tensor, int64_t dim) {
  return active ? active->client->sizeOf(tensor, dim) : tensor.sym_size(dim);
}

at::Tensor tensorFor(const OperatorClient& client, const at::Tensor& tensor) {
  if (!active || active->client == &client) return tensor;
  const at::Tensor known = active->client->knownOutside(tensor);
  const HandingOn outward;
  return tensorFor(client, known);
}

at::Tensor elementsForReading(const at::Tensor& tensor) {
  if (!active) return tensor;
  const at::Tensor elements = active->client->elementsOf(tensor);
  const HandingOn outward;
  return elementsForReading(elements);
}

void tellClientsOfWrites(const at::Tensor& tensor, bool are_seen) {
  for (const detail::ClientFrame* frame = active; frame; frame = frame->outer)
    frame->client->noteWritesAreSeen(tensor, are_seen);
}

namespace detail {

const ClientFrame* activeClients() noexcept {
  return active;
}

// The key is included exactly where clients see calls. A scope may be opened where the key was excluded: in what a
// kernel of Python's calls while a trace runs the kernel's operator.
ActiveClients::ActiveClients(const ClientFrame* innermost)
    : before_(active),
      included_before_(c10::impl::tls_is_dispatch_key_included(kMode)),
      excluded_before_(c10::impl::tls_is_dispatch_key_excluded(kMode)) {
  if (innermost) registerFallback();
  active = innermost;
  c10::impl::tls_set_dispatch_key_included(kMode, innermost != nullptr);
  c10::impl::tls_set_dispatch_key_excluded(kMode, innermost == nullptr);
}

ActiveClients::~ActiveClients() {
  active = before_;
  c10::impl::tls_set_dispatch_key_included(kMode, included_before_);
  c10::impl::tls_set_dispatch_key_excluded(kMode, excluded_before_);
}

}  // namespace detail

}  // namespace cresset
