// What a run's lists, dicts, strings, tuples and objects weigh, for runs with a memory limit.
//
// Counting every release would cost all runs; so growth is added up, which is cheap and never too little, and only when
// the sum passes the limit (by a sixteenth, so that this stays rare) are the run's live values weighed. That weight
// takes the place of the sum.
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <vector>

#include "cresset/ops/limits.h"

namespace cresset {

class ContainerMeter {
 public:
  explicit ContainerMeter(std::shared_ptr<RunBudget> budget) : budget_(std::move(budget)) {}
  ~ContainerMeter() { budget_->addContainers(-counted_); }
  ContainerMeter(const ContainerMeter&) = delete;
  ContainerMeter& operator=(const ContainerMeter&) = delete;

  void add(size_t bytes) {
    counted_ += static_cast<int64_t>(bytes);
    budget_->addContainers(static_cast<int64_t>(bytes));
  }
  bool isDue() const { return budget_->isOver(/*by_a_sixteenth=*/true); }
  /// `roots` are all values that the run holds, `other` what it holds beside values. Throws if that is too much.
  void audit(const std::vector<const c10::IValue*>& roots, size_t other);

  /// What a value holds itself, and its elements one level down: what an operator that made it has built.
  static size_t weightOfResult(const c10::IValue& value);
  /// What a list, dict or string holds itself.
  static size_t ownWeight(const c10::IValue& value);

  const std::shared_ptr<RunBudget>& budget() const { return budget_; }

 private:
  std::shared_ptr<RunBudget> budget_;
  int64_t counted_ = 0;
};

}  // namespace cresset
