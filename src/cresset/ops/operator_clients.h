// Who sees the operators that this thread calls, before PyTorch does: a trace, a functionalization, a recorder.
//
// Clients form a stack per thread. The innermost sees a call first and hands on what it makes of it, which the next one
// sees, and so on outward; what the outermost hands on, PyTorch runs. So a trace that was opened outside of a
// functionalization records what that one emits.
//
// They are called by the boxed fallback of TESTING_ONLY_GenericMode, a dispatch key that PyTorch does not use. It
// stands above autograd, autocast and the functorch layers, so clients see each operator whole, composite ones before
// they decompose. Only threads that have clients include the key: others pay nothing. There can be one fallback per key
// and process, which is why clients share it.
//
// What operators do inside is not seen by those that handed them on. A client may also let a call pass and see what it
// becomes (`letPass`): the composite's operators, what autocast or a functorch transform calls.
//
// Thread-safety: each thread has its own stack. Threads that PyTorch starts inherit the key, but have no clients.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/SymInt.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <functional>
#include <string>
#include <vector>

namespace c10 {
class OperatorHandle;
}

namespace cresset {

class OperatorClient {
 public:
  virtual ~OperatorClient() = default;
  /// A call whose arguments are the last on the stack; leaves the results there. `keys` are those that the dispatcher
  /// found for it. Operators that are called meanwhile come to this client too, unless they are handed on
  /// (`handOn`, struct HandingOn).
  virtual void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack) = 0;
  /// A size of a tensor of its, of a number that records what is computed of it, if the client has such numbers.
  virtual c10::SymInt sizeOf(const at::Tensor& tensor, int64_t dim) { return tensor.sym_size(dim); }
  /// A number that was the argument of this name to the operator that made the tensor: of a number that records where
  /// it comes from, if the client has such numbers.
  virtual c10::SymInt argumentOf(const at::Tensor&, const std::string& name, int64_t number) {
    (void)name;
    return number;
  }
  /// The tensor that the clients outside of this one know for one of its program's.
  virtual at::Tensor knownOutside(const at::Tensor& tensor) { return tensor; }
  /// A tensor with memory that has the elements of one of its program's, as they are now.
  virtual at::Tensor elementsOf(const at::Tensor& tensor) { return tensor; }
  /// Runs what an inner client makes of a call: operators that a composite one calls, with sizes that it has computed.
  /// The arguments are the values that this client knows.
  virtual void runDecomposed(
      const c10::OperatorHandle&, const std::vector<c10::IValue>& arguments, const std::function<void()>& run) {
    (void)arguments;
    run();
  }
  /// Runs operators that get the sizes of this tensor as plain numbers.
  virtual void runWithSizesOf(const at::Tensor&, const std::function<void()>& run) { run(); }
  /// Says of what an operator has just made whether all that is written to its memory comes from operators: nothing
  /// fills it past them.
  virtual void noteWritesAreSeen(const at::Tensor&, bool) {}
};

/// Lets the next client outward have a call, or PyTorch run it. For clients, of a call that they see.
void handOn(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack);
/// Lets PyTorch run a call in such a way that the operators that it calls in turn come to the same client.
void letPass(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<c10::IValue>& stack);

namespace detail {
struct ClientFrame {
  OperatorClient* client;
  const ClientFrame* outer;
};

/// Sets which clients see what this thread calls, until it goes out of scope.
class ActiveClients {
 public:
  explicit ActiveClients(const ClientFrame* innermost);
  ~ActiveClients();
  ActiveClients(const ActiveClients&) = delete;
  ActiveClients& operator=(const ActiveClients&) = delete;

 private:
  const ClientFrame* before_;
  bool included_before_, excluded_before_;
};

const ClientFrame* activeClients() noexcept;
}  // namespace detail

/// Makes a client this thread's innermost, until it goes out of scope.
class ClientScope {
 public:
  explicit ClientScope(OperatorClient& client) : frame_{&client, detail::activeClients()}, active_(&frame_) {}

 private:
  detail::ClientFrame frame_;
  detail::ActiveClients active_;
};

/// While it lives, the operators that this thread calls come to the clients outside of the innermost one.
class HandingOn {
 public:
  HandingOn() : active_(detail::activeClients() ? detail::activeClients()->outer : nullptr) {}

 private:
  detail::ActiveClients active_;
};

/// While it lives, no client sees what this thread does.
class ClientPause {
 public:
  ClientPause() : active_(nullptr) {}

 private:
  detail::ActiveClients active_;
};

/// A size as the innermost client that sees what this thread does now has it.
c10::SymInt sizeForClients(const at::Tensor& tensor, int64_t dim);
/// The tensor that the client knows for one of the program that runs within it and within the clients inside of it.
at::Tensor tensorFor(const OperatorClient& client, const at::Tensor& tensor);
/// The tensor for code that reads elements past the operators: what the clients of the thread have in its place. Call
/// operators on it in a ClientPause.
at::Tensor elementsForReading(const at::Tensor& tensor);
/// While it lives, clients and functorch's transforms leave alone what factories make: it is filled past the operators,
/// and then given to `aten::lift_fresh`, as torch.tensor does.
class LiteralScope {
 public:
  /// Whether anything sees what this thread's factories make.
  static bool isNeeded() {
    return detail::activeClients() ||
           c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
  }

 private:
  at::AutoDispatchBelowADInplaceOrView below_;
  c10::impl::ExcludeDispatchKeyGuard seen_{c10::DispatchKeySet(
      {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot, c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
       c10::DispatchKey::FuncTorchDynamicLayerBackMode})};
};
/// Tells all clients of the thread (OperatorClient::noteWritesAreSeen).
void tellClientsOfWrites(const at::Tensor& tensor, bool are_seen = true);

/// The innermost client of this kind that sees what this thread does now; null if there is none.
template <class Client>
Client* findClient() noexcept {
  for (const detail::ClientFrame* frame = detail::activeClients(); frame; frame = frame->outer) {
    if (auto* client = dynamic_cast<Client*>(frame->client)) return client;
  }
  return nullptr;
}

}  // namespace cresset
