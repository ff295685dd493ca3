// Awaitables: calls that run when their result is first asked for, on the thread that asks.
//
// A script's awaitable holds code and its inputs; one that a host makes holds a function. What a call raises leaves the
// awaitable as it was, so the next one that asks calls again, as in torch.jit. Several threads may ask at once: each
// that finds no result makes the call, and all get the result that came first. (Defined in rows_misc.cpp.)
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <utility>
#include <vector>

namespace cresset {

using AwaitPtr = c10::intrusive_ptr<c10::ivalue::Await>;

/// What an awaitable runs.
class AwaitedCall : public torch::CustomClassHolder {
 public:
  explicit AwaitedCall(c10::TypePtr result_type) : result_type_(std::move(result_type)) {}
  virtual c10::IValue run(std::vector<c10::IValue> inputs) const = 0;
  /// What must live as long as the call may run, and may itself hold the call: awaitables keep that, it does not.
  virtual std::shared_ptr<void> owner() const { return nullptr; }
  const c10::TypePtr& resultType() const { return result_type_; }

 private:
  c10::TypePtr result_type_;
};

AwaitPtr makeAwaitable(c10::intrusive_ptr<AwaitedCall> call, std::vector<c10::IValue> inputs);
/// One that has its result.
AwaitPtr makeAwaitable(c10::IValue result, c10::TypePtr result_type);
/// The result: of its call, which is made now unless it was made before.
c10::IValue resultOf(c10::ivalue::Await& awaitable);
/// Whether resultOf would call nothing.
bool hasResult(c10::ivalue::Await& awaitable);
/// The inputs of its call, or the result.
std::vector<c10::IValue> heldBy(c10::ivalue::Await& awaitable);

}  // namespace cresset
