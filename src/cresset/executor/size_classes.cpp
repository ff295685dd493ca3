#include "cresset/executor/size_classes.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>

namespace cresset {

namespace {

using SizeVariable = Size::Variable;

std::optional<int64_t> valueOfVariable(
    const SizeVariable& variable, const std::vector<std::optional<uint32_t>>& input_of,
    std::span<const c10::IValue> inputs) {
  const auto operand = [&](size_t i) { return evaluateSize(variable.operands[i], input_of, inputs); };
  switch (variable.kind) {
    case SizeVariable::Kind::Quotient: {
      const auto a = operand(0), b = operand(1);
      if (!a || !b || *b <= 0 || *a < 0) return std::nullopt;
      return *a / *b;
    }
    case SizeVariable::Kind::Broadcast: {
      const auto a = operand(0), b = operand(1);
      if (!a || !b) return std::nullopt;
      return *a == 1 ? b : a;
    }
    default:
      break;
  }
  if (variable.value >= input_of.size() || !input_of[variable.value]) return std::nullopt;
  const c10::IValue& input = inputs[*input_of[variable.value]];
  if (variable.kind == SizeVariable::Kind::Int) return input.isInt() ? std::optional(input.toInt()) : std::nullopt;
  if (!input.isTensor() || !input.toTensor().defined()) return std::nullopt;
  const at::Tensor& tensor = input.toTensor();
  if (static_cast<int64_t>(variable.dim) >= tensor.dim()) return std::nullopt;
  return variable.kind == SizeVariable::Kind::Dimension ? tensor.sizes()[variable.dim] : tensor.strides()[variable.dim];
}

}  // namespace

std::optional<int64_t> evaluateSize(
    const Size& size, const std::vector<std::optional<uint32_t>>& input_of, std::span<const c10::IValue> inputs) {
  if (!size.isKnown()) return std::nullopt;
  int64_t sum = 0;
  for (const Size::Term& term : size.terms()) {
    int64_t product = term.coefficient;
    for (const Size::VariablePtr& factor : term.factors) {
      const auto value = valueOfVariable(*factor, input_of, inputs);
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

SizeClasses::SizeClasses(std::shared_ptr<const MemoryLayout> layout) : layout_(std::move(layout)) {
  for (const MemoryLayout::Slot& slot : layout_->slots) {
    slot.bytes.visitVariables([&](const SizeVariable& variable) {
      const Size one = variable.kind == SizeVariable::Kind::Dimension ? Size::ofDimension(variable.value, variable.dim)
                       : variable.kind == SizeVariable::Kind::Stride  ? Size::ofStride(variable.value, variable.dim)
                                                                      : Size::ofInt(variable.value);
      if (std::find(variables_.begin(), variables_.end(), one) == variables_.end()) variables_.push_back(one);
    });
  }
}

bool SizeClasses::sizesFor(std::span<const c10::IValue> inputs, std::vector<size_t>& bytes) {
  Key key;
  for (const Size& variable : variables_) key.push_back(evaluateSize(variable, layout_->input_of, inputs).value_or(-1));
  current_ = std::move(key);
  const auto found = classes_.find(current_);
  if (found != classes_.end()) {
    if (found->second == bytes) return false;
    bytes = found->second;
    return true;
  }
  std::vector<size_t> sizes;
  for (const MemoryLayout::Slot& slot : layout_->slots) {
    const auto size = evaluateSize(slot.bytes, layout_->input_of, inputs);
    sizes.push_back(size && *size > 0 ? static_cast<size_t>(*size) : 0);
  }
  if (classes_.size() >= kMaxClasses) classes_.erase(classes_.begin());
  classes_.emplace(current_, sizes);
  if (sizes == bytes) return false;
  bytes = std::move(sizes);
  return true;
}

void SizeClasses::learn(std::span<const size_t> bytes) {
  std::vector<size_t>& known = classes_[current_];
  known.resize(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) known[i] = std::max(known[i], bytes[i]);
}

}  // namespace cresset
