// What a run's lists, dicts, strings, tuples, objects and tensors (beside their data, with the nodes of autograd's
// graph that they hold) weigh, for runs with a memory limit.
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

class Operator;

class ContainerMeter {
 public:
  // Estimates from the layouts of c10's containers, rounded up.
  static constexpr size_t kHeader = 96;  // of a heap object with its allocation
  static constexpr size_t kFuture = 256;
  static constexpr size_t kTensor = 512;     // a tensor beside its data, with what autograd keeps of a view
  static constexpr size_t kTapeNode = 1024;  // of autograd's graph, with what it keeps of tensors beside their data

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
  /// What a list, dict, string or tensor holds itself, but for autograd's graph.
  static size_t ownWeight(const c10::IValue& value);

  /// Refuses calls whose result is known to be larger than the limit: an operator that cuts a tensor into a million
  /// pieces makes a million tensors at once.
  void requireResult(const Operator& op, const std::vector<c10::IValue>& arguments) const;

  /// Refuses tensors of more dimensions than any program needs: one operation on them takes time by the square of that.
  static void requireFewDimensions(const std::vector<c10::IValue>& values);

  const std::shared_ptr<RunBudget>& budget() const { return budget_; }

 private:
  std::shared_ptr<RunBudget> budget_;
  int64_t counted_ = 0;
};

}  // namespace cresset
