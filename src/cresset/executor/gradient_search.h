// Whether gradients could flow through a call, or be switched on in it.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <unordered_set>

#include "cresset/ir/graph.h"

namespace cresset {

/// Whether a tensor that requires a gradient, or of which `is_wanted`, is among the arguments of a call: itself, in a
/// container, or in an attribute of an object. Values that occur in many places are searched once. Asks the time limit.
class GradientSearch {
 public:
  using Question = bool (*)(const at::Tensor& tensor);
  explicit GradientSearch(Question is_wanted = [](const at::Tensor& tensor) { return tensor.requires_grad(); })
      : is_wanted_(is_wanted) {}
  bool find(const c10::IValue& value, int depth = kMaxDepth);

 private:
  static constexpr int kMaxDepth = 64;

  bool findInAttributes(const c10::ivalue::Object& object, int depth);
  bool isSeen(const c10::IValue& container);

  const Question is_wanted_;
  size_t num_containers_ = 0;
  std::unordered_set<const void*> seen_;  // objects, and shared containers but for the first few
};

/// Whether gradients may be on somewhere in the block, though they are off when it is entered.
bool maySwitchGradientsOn(const Block* block);

}  // namespace cresset
