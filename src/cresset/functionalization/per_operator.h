// What the live form of functionalization remembers of operators.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <mutex>
#include <unordered_map>

#include "cresset/ops/operator.h"

namespace cresset::live {

/// What is found once per operator, for calls. May be asked by any thread.
template <class T>
class PerOperator {
 public:
  using Make = T (*)(const Operator&);
  explicit PerOperator(Make make) : make_(make) {}

  /// Empty if the table does not know the operator.
  const T& of(const c10::OperatorHandle& op) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = known_.try_emplace(op.operator_name());
    const Operator* row = is_new ? OperatorTable::get().find(toString(op.operator_name())) : nullptr;
    if (row) place->second = make_(*row);
    return place->second;
  }

 private:
  const Make make_;
  std::mutex mutex_;
  std::unordered_map<c10::OperatorName, T> known_;
};

}  // namespace cresset::live
